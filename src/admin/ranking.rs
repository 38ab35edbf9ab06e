//! `GET /ranking` for `offerd ranking`.

use super::command::blocking;
use super::experiments::is_test;
use super::prelude::*;
use offerd_base::declaration::{did_you_mean, nearest};
use offerd_engine::ranking::Rankings;
use offerd_engine::ranking::report::{RankingFilter, RankingReport};
use offerd_store::tokens::Tokens;

/// Filters by `company`, `partner` and `leads=test`, if given.
pub(super) async fn ranking(context: Context) -> Result<Reply> {
    Reply::json(&report(&context.app, wanted(&context.request.query)?).await?)
}

pub(super) fn wanted(query: &[(String, String)]) -> Result<RankingFilter> {
    let mut wanted = RankingFilter::default();
    for (name, value) in query.iter().filter(|(_, value)| !value.is_empty()) {
        match (name.as_str(), value.as_str()) {
            ("company", value) => wanted.company = Some(value.to_owned()),
            ("partner", value) => wanted.partner = Some(value.to_owned()),
            ("leads", value) => wanted.test = is_test(Some(value))?,
            (other, _) => {
                let known = "must be one of company, partner, leads".to_owned();
                return Err(Failure::bad_attribute(other, known));
            }
        }
    }
    Ok(wanted)
}

pub(super) async fn report(app: &AdminState, wanted: RankingFilter) -> Result<RankingReport> {
    let none = || unavailable("The ranking data cannot be read; see the log");
    let rankings: Rankings = app.engine.rankings.clone().ok_or_else(none)?;
    let (company, partner) = (wanted.company.clone(), wanted.partner.clone());
    let report = blocking("ranking data could not be summed up", move || rankings.report(&wanted)).await?;
    // A removed company or partner may still have rows.
    if report.rows.is_empty() {
        let companies = Tokens::of(app.store.clone()).companies().into_iter().map(|one| one.name);
        known("company", company.as_deref(), companies.collect())?;
        let book = app.engine.book();
        let partners = book.partners().into_iter().map(|one| one.key.clone());
        known("partner", partner.as_deref(), partners.collect())?;
    }
    Ok(report)
}

fn known(attribute: &str, name: Option<&str>, all: Vec<String>) -> Result<()> {
    let Some(name) = name.filter(|name| !all.iter().any(|known| known == name)) else { return Ok(()) };
    Err(unknown(attribute, name, all.iter().map(String::as_str)))
}

/// The failure of a name that none of `all` has.
pub(super) fn unknown<'n>(attribute: &str, name: &str, all: impl Iterator<Item = &'n str>) -> Failure {
    let near = did_you_mean(nearest(name, all));
    Failure::bad_attribute(attribute, format!("there is no {attribute} `{name}`{near}"))
}
