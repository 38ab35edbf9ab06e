//! `GET /consents`: what `offerd person consents` calls, page by page. The console has a page of its own.

use std::ops::Range;

use uuid::Uuid;

use super::App;
use super::audit::{Actor, Note};
use super::command::{blocking, unavailable};
use crate::persons::consents::{Place, Wanted, page};
use crate::records::Unavailable;
use crate::web::{Context, Failure, Reply};

pub(super) async fn list(context: Context<App>) -> Result<Reply, Failure> {
    let wanted = Wanted {
        company: uuid(&context, "company")?,
        came: came(&context)?,
        test: context.request.query_value("leads") == Some("test"),
    };
    let from = match uuid(&context, "nextCompany")? {
        Some(company) => Some(Place { company, from_us: number(&context, "nextUs")?.unwrap_or(0) }),
        None => {
            // Once for all pages.
            noted(&context.app, &Actor::of_command(&context)).await?;
            None
        }
    };
    let store = context.app.store.clone();
    let read = blocking("the consents could not be read", move || page(&store, &wanted, from)).await?;
    Reply::json(&read.map_err(unread)?)
}

/// Records that somebody looks at consents, of the console too.
///
/// # Errors
/// That it could not be recorded.
pub(super) async fn noted(app: &App, actor: &Actor) -> Result<(), Failure> {
    app.note(actor, Note::of("consents.read")).await
}

/// 503: the log tells why.
pub(super) fn unread(_: Unavailable) -> Failure {
    unavailable("the store cannot be read; the log tells why".to_owned())
}

fn came(context: &Context<App>) -> Result<Range<u64>, Failure> {
    let (from, until) =
        (number(context, "from")?.unwrap_or(0), number(context, "until")?.unwrap_or(u64::MAX));
    if until < from {
        let wanted = format!("must not be before `from`, which is {from}, got {until}");
        return Err(Failure::bad_attribute("until", wanted));
    }
    Ok(from..until)
}

fn number(context: &Context<App>, name: &str) -> Result<Option<u64>, Failure> {
    let wrong = |_| Failure::bad_attribute(name, "must be a whole number that is not negative");
    context.request.query_value(name).map(|text| text.parse().map_err(wrong)).transpose()
}

fn uuid(context: &Context<App>, name: &str) -> Result<Option<Uuid>, Failure> {
    let wrong = |_| Failure::bad_attribute(name, "must be a uuid");
    context.request.query_value(name).map(|text| text.parse().map_err(wrong)).transpose()
}
