//! `GET /consents` for `offerd person consents`, page by page. The console has its own page.

use std::ops::Range;

use super::command::{WHOLE, parameter, store_unread};
use super::prelude::*;
use super::ranking::unknown;
use offerd_insight::persons::consents::{ConsentFilter, Place, page};
use offerd_store::tokens::Tokens;

const UUID: &str = "must be a uuid";

pub(super) async fn list(context: Context) -> Result<Reply> {
    let came = came(&context)?;
    let company = match context.request.query_value("company").map(str::to_owned) {
        Some(given) => {
            let find = move |app: &AdminState| company(app, &given);
            Some(context.app.reading("a company could not be looked up", find).await??)
        }
        None => None,
    };
    let wanted = ConsentFilter { company, came, test: context.request.query_value("leads") == Some("test") };
    let from = match parameter(&context, "nextCompany", UUID)? {
        Some(company) => Some(Place { company, from_us: parameter(&context, "nextUs", WHOLE)?.unwrap_or(0) }),
        None => {
            // Recorded once for all pages.
            note_access(&context.app, &by(&context), &wanted).await?;
            None
        }
    };
    let read = move |app: &AdminState| page(&app.store, &wanted, from);
    Reply::json(&context.app.reading("the consents could not be read", read).await?.map_err(store_unread)?)
}

/// By name or, as for one whose record is lost, by uuid.
fn company(app: &AdminState, given: &str) -> Result<Uuid> {
    if let Ok(uuid) = given.parse() {
        return Ok(uuid);
    }
    let tokens = Tokens::of(app.store.clone());
    match tokens.company_named(given).map_err(unread)? {
        Some(company) => Ok(company.uuid),
        None => Err(unknown("company", given, tokens.companies().iter().map(|one| one.name.as_str()))),
    }
}

/// Records a look at consents; the console uses it too. Fails when the audit cannot be written.
pub(super) async fn note_access(app: &AdminState, actor: &AuditActor, seen: &ConsentFilter) -> Result<()> {
    app.note(actor, note!("consents.read").about(seen)).await
}

fn came(context: &Context) -> Result<Range<u64>> {
    let from = parameter(context, "from", WHOLE)?.unwrap_or(0);
    let until = parameter(context, "until", WHOLE)?.unwrap_or(u64::MAX);
    if until < from {
        let wanted = format!("must not be before `from`, which is {from}, got {until}");
        return Err(Failure::bad_attribute("until", wanted));
    }
    Ok(from..until)
}
