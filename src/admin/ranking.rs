//! `GET /ranking`: what `offerd ranking` calls.

use super::App;
use super::command::{blocking, unavailable};
use crate::ranking::Rankings;
use crate::ranking::report::{RankingReport, Wanted};
use crate::web::{Context, Failure, Reply};

/// Of `company`, `partner` and `leads=test`, as far as they are given.
pub(super) async fn ranking(context: Context<App>) -> Result<Reply, Failure> {
    let wanted = wanted(&context.request.query)?;
    Reply::json(&report(&context.app, wanted).await?)
}

/// What is wanted, as a query says it.
///
/// # Errors
/// What is none of it.
pub(super) fn wanted(query: &[(String, String)]) -> Result<Wanted, Failure> {
    let mut wanted = Wanted::default();
    for (name, value) in query.iter().filter(|(_, value)| !value.is_empty()) {
        match (name.as_str(), value.as_str()) {
            ("company", value) => wanted.company = Some(value.to_owned()),
            ("partner", value) => wanted.partner = Some(value.to_owned()),
            ("leads", "test") => wanted.test = true,
            ("leads", "live") => wanted.test = false,
            ("leads", other) => {
                return Err(Failure::bad_attribute("leads", format!("must be live or test, got `{other}`")));
            }
            (other, _) => {
                let known = "must be one of company, partner, leads".to_owned();
                return Err(Failure::bad_attribute(other, known));
            }
        }
    }
    Ok(wanted)
}

/// What was learnt.
///
/// # Errors
/// That it cannot be read.
pub(super) async fn report(app: &App, wanted: Wanted) -> Result<RankingReport, Failure> {
    let none = || unavailable("What was learnt of clicks cannot be read; the log tells why".to_owned());
    let rankings: Rankings = app.engine.rankings.clone().ok_or_else(none)?;
    blocking("what was learnt could not be summed up", move || rankings.report(&wanted)).await
}
