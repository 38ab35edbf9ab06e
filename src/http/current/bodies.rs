//! Parsing of bodies into model types. Unknown keys are counted, or under strict handling faults (RFC 7240).

use std::sync::LazyLock;

use super::api_version;
use super::prefer::is_strict;
use crate::prelude::*;
use offerd_model::{KnownKeys, Leniency, UnknownKey, UnreadableBody};

/// The known keys of a model type, computed on first use.
pub type LazyKnownKeys = LazyLock<KnownKeys>;

/// A noun, and the number of its values that were read as meant.
pub type ReadAsMeant<T> = Result<(T, usize), UnreadableBody>;

/// Reads the body of a request, up to the configured size.
pub async fn body(context: &mut Context<ApiState>) -> Result<Bytes, Failure> {
    let api = &context.app.settings.api;
    context.request.read_body(api.max_body_bytes, api.request_timeout).await
}

/// Reads and parses the body of a request.
pub async fn noun<T>(
    context: &mut Context<ApiState>,
    known: &KnownKeys,
    as_noun: fn(&[u8], Leniency) -> ReadAsMeant<T>,
) -> Result<T, Failure> {
    let body = body(context).await?;
    read(&context.request, known, &body, |body| as_noun(body, context.request.leniency))
}

/// Parses a body, and counts what was read as meant: 400 if it is not a JSON object, 422 with every fault.
pub fn read<T>(
    request: &Request,
    known: &KnownKeys,
    body: &[u8],
    as_noun: impl FnOnce(&[u8]) -> ReadAsMeant<T>,
) -> Result<T, Failure> {
    let unknown = unknown_keys(request, known, body);
    match as_noun(body) {
        Ok((noun, changed)) if unknown.is_empty() => {
            request.note_changed(changed);
            Ok(noun)
        }
        Ok(_) => Err(Failure::invalid(unknown)),
        Err(UnreadableBody::Faults(faults)) => Err(Failure::invalid([faults, unknown].concat())),
        Err(not_json) => Err(unreadable(not_json)),
    }
}

/// The failure for an unreadable body.
pub fn unreadable(unreadable: UnreadableBody) -> Failure {
    match unreadable {
        UnreadableBody::NotJson(error) => Failure::not_json(error),
        UnreadableBody::Faults(faults) => Failure::invalid(faults),
    }
}

fn unknown_keys(request: &Request, known: &KnownKeys, body: &[u8]) -> Vec<ApiError> {
    if is_strict(&request.headers) {
        let version = api_version::strict_fault(&request.headers);
        return version.into_iter().chain(known.unknown(body).into_iter().map(fault)).collect();
    }
    request.note_unknown(known.count_unknown(body));
    Vec::new()
}

fn fault(unknown: UnknownKey<'_>) -> ApiError {
    let message = unknown.to_string();
    let fault = ApiError::at(unknown.attribute, ErrorType::Malformed, message);
    match unknown.likely {
        Some(likely) => fault.with("likely", likely),
        None => fault,
    }
}
