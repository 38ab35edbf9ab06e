//! `GET /consents`: what `offerd person consents` calls, page by page.

use std::ops::Range;

use uuid::Uuid;

use super::App;
use super::audit::{Actor, Note};
use super::command::{blocking, unavailable};
use crate::persons::consents::{Place, Wanted, page};
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
            context.app.note(&Actor::of_command(&context), Note::of("consents.read")).await?;
            None
        }
    };
    let store = context.app.store.clone();
    let read = blocking("the consents could not be read", move || page(&store, &wanted, from)).await?;
    let page = read.map_err(|_| unavailable("the store cannot be read; the log tells why".to_owned()))?;
    Reply::json(&page)
}

fn came(context: &Context<App>) -> Result<Range<u64>, Failure> {
    Ok(number(context, "from")?.unwrap_or(0)..number(context, "until")?.unwrap_or(u64::MAX))
}

fn number(context: &Context<App>, name: &str) -> Result<Option<u64>, Failure> {
    let wrong = |_| Failure::bad_attribute(name, "must be a whole number that is not negative");
    context.request.query_value(name).map(|text| text.parse().map_err(wrong)).transpose()
}

fn uuid(context: &Context<App>, name: &str) -> Result<Option<Uuid>, Failure> {
    let wrong = |_| Failure::bad_attribute(name, "must be a uuid");
    context.request.query_value(name).map(|text| text.parse().map_err(wrong)).transpose()
}
