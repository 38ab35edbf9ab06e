//! Common parts of the endpoints that accept a lead: reading it, and refusals.

use std::cell::LazyCell;
use std::collections::HashSet;

use serde::Serialize;

use super::api_version;
use super::bodies::{self, LazyKnownKeys};
use super::prefer::is_strict;
use crate::prelude::*;
use crate::v1;
use offerd_base::load_shedder::Permit;
use offerd_base::telemetry::traces::TraceContext;
use offerd_engine::matching::idempotency::{Answered, IdempotencyKey};
use offerd_engine::matching::{LeadRefusal, Merge, Submission, trigger};
use offerd_model::{Arrival, KnownKeys, Lead, UnreadableBody};

pub(super) const RETRY_AFTER_OVERLOAD_S: u32 = 1;

const RETRY_AFTER_DISK_FULL_S: u32 = 60;

static KNOWN: LazyKnownKeys = LazyKnownKeys::new(KnownKeys::of::<Lead>);

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Longest `Idempotency-Key`, bytes.
pub const KEY_BYTES: usize = 255;

pub(super) async fn read_lead(context: &mut Context<ApiState>) -> Result<Lead, Failure> {
    let body = bodies::body(context).await?;
    lead_of(context, &body)
}

pub(super) async fn read_submission(context: &mut Context<ApiState>) -> Result<Submission, Failure> {
    let lead = read_lead(context).await?;
    // One key for both submits, so that either answers a repeat of the other.
    let idempotency_key = idempotency_key(context, "submit", &lead)?;
    let permit = std::mem::take(&mut context.request.permit);
    Ok(Submission { idempotency_key, permit, ..submission(context, lead)? })
}

/// The idempotency key of a request to `call`, with what its body says.
pub(super) fn idempotency_key(
    context: &Context<ApiState>,
    call: &str,
    content: &impl Serialize,
) -> Result<Option<IdempotencyKey>, Failure> {
    let Some(key) = given_key(&context.request.headers)? else { return Ok(None) };
    Ok(Some(IdempotencyKey::new(context.caller()?.viewer(), key, call, content)))
}

/// 400 on a path that has no use for an idempotency key.
pub(super) fn without_idempotency_key(headers: &HeaderMap) -> Result<(), Failure> {
    let message = "Idempotency-Key must be left out on this path: a repeat changes nothing";
    given_key(headers)?.map_or(Ok(()), |_| Err(Failure::bad_attribute("Idempotency-Key", message)))
}

/// The reply to a call, marked where it repeats an earlier one.
pub(super) fn answered<T>(answered: Answered<T>, reply: impl FnOnce(T) -> Answer) -> Answer {
    let made = reply(answered.answer)?;
    Ok(match answered.replayed {
        true => made.header(REPLAYED, HeaderValue::from_static("true")),
        false => made,
    })
}

fn given_key(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let keys: Vec<_> = headers.get_all("idempotency-key").iter().map(HeaderValue::to_str).collect();
    match keys[..] {
        [] => Ok(None),
        [Ok(key)] if (1..=KEY_BYTES).contains(&key.len()) && !key.contains('\t') => Ok(Some(key)),
        _ => {
            let wanted =
                format!("Idempotency-Key must be given once, with 1 to {KEY_BYTES} visible characters");
            Err(Failure::bad_attribute("Idempotency-Key", wanted))
        }
    }
}

pub(super) async fn read_lead_or_nothing(context: &mut Context<ApiState>) -> Result<Lead, Failure> {
    let body = bodies::body(context).await?;
    if body.is_empty() { Ok(Lead::default()) } else { lead_of(context, &body) }
}

/// The arrival of a lead, which is a test if its caller's token is.
pub fn arrival(context: &Context<ApiState>) -> Result<Arrival, Failure> {
    Ok(Arrival { today: Utc::now().date_naive(), test: context.caller()?.test })
}

fn lead_of(context: &Context<ApiState>, body: &[u8]) -> Result<Lead, Failure> {
    let arrival = arrival(context)?;
    bodies::read(&context.request, &KNOWN, body, |body| {
        let leniency = context.request.leniency;
        let (lead, changed) = Lead::read_leniently(arrival, leniency, body)?;
        let faults = if arrival.test { trigger_faults(context, &lead) } else { Vec::new() };
        if faults.is_empty() { Ok((lead, changed)) } else { Err(UnreadableBody::Faults(faults)) }
    })
}

/// Unknown triggers of a test lead: faults under strict handling, else counted with the unknown keys.
fn trigger_faults(context: &Context<ApiState>, lead: &Lead) -> Vec<ApiError> {
    let configuration = context.app.engine().configuration();
    let seats = configuration.book.seats();
    let partners = LazyCell::new(|| seats.iter().map(|seat| &*seat.identity.key).collect::<HashSet<_>>());
    let is_partner = |key: &str| partners.contains(key);
    if is_strict(&context.request.headers) {
        return trigger::faults(lead, is_partner);
    }
    context.request.note_unknown(trigger::count_faults(lead, is_partner));
    Vec::new()
}

pub(super) fn submission(context: &Context<ApiState>, lead: Lead) -> Result<Submission, Failure> {
    let caller = context.caller()?;
    Ok(Submission {
        company: caller.company,
        test: caller.test,
        look_back_minutes: caller.duplicate_look_back_minutes,
        bands: v1::bands(context.edition),
        newer_values: knows_newer_values(context)?,
        idempotency_key: None,
        trace: TraceContext::of_request(&context.request.headers),
        permit: Permit::default(),
        lead,
    })
}

/// A merge of the caller's body into a lead.
pub fn to_merge<'l>(
    context: &Context<ApiState>,
    lead: Uuid,
    attributes: &'l Lead,
) -> Result<Merge<'l>, Failure> {
    let caller = context.caller()?;
    let newer_values = knows_newer_values(context)?;
    let made_since = context.app.mergeable_since(caller);
    Ok(Merge { viewer: caller.viewer(), lead, attributes, newer_values, made_since })
}

/// Whether the caller accepts values beyond the specification: it names a version of the interface.
pub(super) fn knows_newer_values(context: &Context<ApiState>) -> Result<bool, Failure> {
    Ok(api_version::named(&context.request.headers)?.is_some())
}

pub(super) fn other_content() -> Failure {
    Failure::fault("Idempotency-Key", ErrorType::Duplicate, "was used with another body or path before")
}

pub(super) fn refused(refused: LeadRefusal) -> Failure {
    match refused {
        LeadRefusal::Duplicate(lead) | LeadRefusal::Erased(lead) => Failure::conflict(lead),
        LeadRefusal::OtherContent => other_content(),
        LeadRefusal::TooLarge(limit_bytes) => Failure::lead_too_large(limit_bytes),
        LeadRefusal::UnderWay => Failure::under_way(),
        LeadRefusal::StoreStalled => unwritable(()),
        LeadRefusal::DiskFull => Failure::unwritable(RETRY_AFTER_DISK_FULL_S),
        LeadRefusal::StoreFailed => Failure::unwritable(RETRY_AFTER_OVERLOAD_S),
        LeadRefusal::Full => Failure::overloaded(RETRY_AFTER_OVERLOAD_S),
    }
}
