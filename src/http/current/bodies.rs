//! Bodies that are read as a noun, and what becomes of keys that mean nothing: they are counted in the answer or, for who prefers
//! strict handling (RFC 7240), faults.

use super::api_version;
use super::waiting::is_strict;
use crate::model::{
    ApiError, ErrorType, KnownKeys, Lead, LoanReportCreateData, OfferDisplayNew, PartnerReportFields,
    SessionInitNew, UnknownKey, Unreadable,
};
use crate::web::{Failure, Request};

/// The keys that mean something, noun by noun.
#[derive(Debug)]
pub struct BodyKeys {
    /// Those of a lead.
    pub lead: KnownKeys,
    /// Those of the start of a visit.
    pub session_init: KnownKeys,
    /// Those of an offer that was seen.
    pub offer_display: KnownKeys,
    /// Those of what a partner reports.
    pub partner_report: KnownKeys,
    /// Those of somebody of whom hardly anything is known.
    pub loan_report: KnownKeys,
}

impl BodyKeys {
    /// By the schemas of the nouns.
    pub fn new() -> Self {
        Self {
            lead: KnownKeys::of::<Lead>(),
            session_init: KnownKeys::of::<SessionInitNew>(),
            offer_display: KnownKeys::of::<OfferDisplayNew>(),
            partner_report: KnownKeys::of::<PartnerReportFields>(),
            loan_report: KnownKeys::of::<LoanReportCreateData>(),
        }
    }
}

impl Default for BodyKeys {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads a body as a noun.
///
/// # Errors
/// 400 for what is no JSON object, 422 with every fault.
pub fn read<T>(
    request: &Request,
    known: &KnownKeys,
    body: &[u8],
    read: impl FnOnce(&[u8]) -> Result<T, Unreadable>,
) -> Result<T, Failure> {
    let unknown = unknown_keys(request, known, body);
    match read(body) {
        Ok(noun) if unknown.is_empty() => Ok(noun),
        Ok(_) => Err(Failure::malformed(unknown)),
        Err(Unreadable::NotJson(error)) => Err(Failure::not_json(error)),
        Err(Unreadable::Faults(faults)) => Err(Failure::malformed([faults, unknown].concat())),
    }
}

/// The unknown keys as faults, for who prefers that, with what else is then one; else they are counted.
fn unknown_keys(request: &Request, known: &KnownKeys, body: &[u8]) -> Vec<ApiError> {
    if is_strict(&request.headers) {
        let version = api_version::strict_fault(&request.headers);
        return version.into_iter().chain(known.unknown(body).into_iter().map(fault)).collect();
    }
    request.note_unknown(known.count_unknown(body));
    Vec::new()
}

fn fault(unknown: UnknownKey<'_>) -> ApiError {
    let fault = |message| ApiError::at(unknown.attribute, ErrorType::Malformed, message);
    match unknown.likely {
        Some(likely) => fault(format!("is not a known key; did you mean `{likely}`?")).with("likely", likely),
        None => fault("is not a known key".to_owned()),
    }
}
