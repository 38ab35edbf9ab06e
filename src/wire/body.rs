//! Bodies of answers, read under a cap, gzip undone.

use std::io::Read;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt, Limited};
use hyper::HeaderMap;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH};

use super::error::{CallError, Failed};

/// How the body of an answer may come.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyRules {
    /// Most bytes, as they come and with gzip undone.
    pub(super) most: usize,
    /// Whether gzip was asked for.
    pub(super) gzip: bool,
}

/// The whole body. Takes from the headers what no longer holds once gzip is undone.
pub(super) async fn whole(
    body: Incoming,
    headers: &mut HeaderMap,
    rules: BodyRules,
) -> Result<Bytes, Failed> {
    let is_gzip = is_gzip(headers, rules.gzip).map_err(Failed::sent)?;
    if body.size_hint().lower() > rules.most as u64 {
        return Err(Failed::sent(CallError::TooLarge));
    }
    let collected = Limited::new(body, rules.most).collect().await;
    let bytes = collected.map_err(|error| Failed::of_body(&*error))?.to_bytes();
    if is_gzip {
        headers.remove(CONTENT_ENCODING);
        headers.remove(CONTENT_LENGTH);
    }
    if is_gzip && !bytes.is_empty() { unpacked(&bytes, rules.most).map_err(Failed::sent) } else { Ok(bytes) }
}

/// Whether a body comes in gzip, which must have been asked for.
fn is_gzip(headers: &HeaderMap, is_asked: bool) -> Result<bool, CallError> {
    let mut named = headers.get_all(CONTENT_ENCODING).iter();
    match (named.next(), named.next()) {
        (None, _) => Ok(false),
        (Some(one), None) if one.as_bytes().eq_ignore_ascii_case(b"identity") => Ok(false),
        (Some(one), None) if is_asked && one.as_bytes().eq_ignore_ascii_case(b"gzip") => Ok(true),
        _ => Err(CallError::Malformed),
    }
}

/// Undoes gzip, up to `most` bytes.
fn unpacked(gzipped: &[u8], most: usize) -> Result<Bytes, CallError> {
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(gzipped).take(most as u64 + 1).read_to_end(&mut bytes);
    match read {
        Ok(length) if length > most => Err(CallError::TooLarge),
        Ok(_) => Ok(bytes.into()),
        Err(_) => Err(CallError::Malformed),
    }
}
