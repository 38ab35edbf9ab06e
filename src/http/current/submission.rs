//! What the endpoints that take a lead have in common: reading it, and why it is refused.

use crate::http::{App, v1};
use crate::matching::{Refused, Submission};
use crate::model::{Lead, Unreadable};
use crate::web::{Context, Failure};

/// Seconds after which a client may try again when the service is at its limit.
pub(super) const RETRY_AFTER_OVERLOAD_S: u32 = 1;

/// The lead in the request's body.
pub(super) async fn read_lead(context: &mut Context<App>) -> Result<Lead, Failure> {
    let body = context.request.read_body(context.app.max_body_bytes, context.app.body_timeout).await?;
    lead_of(&body)
}

/// Like [`read_lead`], but no body is an empty lead.
pub(super) async fn read_lead_or_nothing(context: &mut Context<App>) -> Result<Lead, Failure> {
    let body = context.request.read_body(context.app.max_body_bytes, context.app.body_timeout).await?;
    if body.is_empty() { Ok(Lead::default()) } else { lead_of(&body) }
}

fn lead_of(body: &[u8]) -> Result<Lead, Failure> {
    Lead::read(body).map_err(|unreadable| match unreadable {
        Unreadable::NotJson(error) => Failure::not_json(error),
        Unreadable::Faults(faults) => Failure::malformed(faults),
    })
}

/// A lead with whose it is.
pub(super) fn submission(context: &Context<App>, lead: Lead) -> Result<Submission, Failure> {
    let caller = context.caller()?;
    let company = context.app.tokens.company(caller.company);
    Ok(Submission {
        company: caller.company,
        test: caller.test,
        look_back_minutes: company.and_then(|company| company.duplicate_look_back_minutes),
        bands: v1::bands(context.edition),
        lead,
    })
}

/// What a client is told when its lead is not taken in.
pub(super) fn refused(refused: Refused) -> Failure {
    match refused {
        Refused::Duplicate(lead) => Failure::conflict(lead),
        Refused::Full | Refused::StoreFailed => Failure::overloaded(RETRY_AFTER_OVERLOAD_S),
    }
}
