//! `Prefer`: what a client prefers of the handling of its request (RFC 7240).

use super::list;
use super::prelude::*;
use offerd_model::Leniency;

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// What the header lists.
pub fn preferences(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    list::items(headers, &PREFER).flat_map(|one| one.split(';')).map(str::trim)
}

/// How a request prefers to be read; of both preferences the strict one counts.
pub fn handling(headers: &HeaderMap) -> Option<Leniency> {
    let is_any =
        |wanted: &str| preferences(headers).any(|one| one.replace('"', "").eq_ignore_ascii_case(wanted));
    if is_any("handling=strict") {
        return Some(Leniency::Strict);
    }
    is_any("handling=lenient").then_some(Leniency::Lenient)
}
