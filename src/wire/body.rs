//! Bodies of answers, read under a cap, gzip undone.

use std::io::{self, Write};

use bytes::{Bytes, BytesMut};
use flate2::write::MultiGzDecoder;
use http_body_util::BodyExt;
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
    mut body: Incoming,
    headers: &mut HeaderMap,
    rules: BodyRules,
) -> Result<Bytes, Failed> {
    let mut collected = match encoding(headers)? {
        Encoding::Identity => {
            Collected::Plain { first: Bytes::new(), all: BytesMut::new(), most: rules.most }
        }
        Encoding::Gzip if rules.gzip => {
            Collected::Gzip(MultiGzDecoder::new(Capped { bytes: Vec::new(), most: rules.most }))
        }
        Encoding::Gzip => return Err(Failed::sent(CallError::Malformed)),
    };
    if body.size_hint().lower() > rules.most as u64 {
        return Err(Failed::sent(CallError::TooLarge));
    }
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failed::of_body(&error))?;
        let Ok(chunk) = frame.into_data() else { continue };
        length += chunk.len();
        if length > rules.most {
            return Err(Failed::sent(CallError::TooLarge));
        }
        collected.add(chunk).map_err(Failed::sent)?;
    }
    if matches!(collected, Collected::Gzip(_)) {
        headers.remove(CONTENT_ENCODING);
        headers.remove(CONTENT_LENGTH);
    }
    if length == 0 {
        return Ok(Bytes::new());
    }
    collected.end().map_err(Failed::sent)
}

enum Encoding {
    Identity,
    Gzip,
}

fn encoding(headers: &HeaderMap) -> Result<Encoding, Failed> {
    let mut named = headers.get_all(CONTENT_ENCODING).iter();
    match (named.next(), named.next()) {
        (None, _) => Ok(Encoding::Identity),
        (Some(one), None) if one.as_bytes().eq_ignore_ascii_case(b"identity") => Ok(Encoding::Identity),
        (Some(one), None) if one.as_bytes().eq_ignore_ascii_case(b"gzip") => Ok(Encoding::Gzip),
        _ => Err(Failed::sent(CallError::Malformed)),
    }
}

/// What has come of a body.
enum Collected {
    /// As it is. A body that comes in one piece is not copied.
    Plain { first: Bytes, all: BytesMut, most: usize },
    /// Decompressed while it comes.
    Gzip(MultiGzDecoder<Capped>),
}

impl Collected {
    fn add(&mut self, chunk: Bytes) -> Result<(), CallError> {
        match self {
            Self::Plain { first, all, most } => {
                if first.is_empty() && all.is_empty() {
                    *first = chunk;
                } else {
                    if all.is_empty() {
                        all.reserve((2 * (first.len() + chunk.len())).min(*most));
                        all.extend_from_slice(&std::mem::take(first));
                    }
                    all.extend_from_slice(&chunk);
                }
                Ok(())
            }
            Self::Gzip(decoder) => decoder.write_all(&chunk).map_err(|error| unpacking(&error)),
        }
    }

    fn end(self) -> Result<Bytes, CallError> {
        match self {
            Self::Plain { first, all, .. } if all.is_empty() => Ok(first),
            Self::Plain { all, .. } => Ok(all.freeze()),
            Self::Gzip(decoder) => match decoder.finish() {
                Ok(capped) => Ok(capped.bytes.into()),
                Err(error) => Err(unpacking(&error)),
            },
        }
    }
}

/// Why gzip could not be undone: [`Capped`] is the only one to call it a quota.
fn unpacking(error: &io::Error) -> CallError {
    match error.kind() {
        io::ErrorKind::QuotaExceeded => CallError::TooLarge,
        _ => CallError::Malformed,
    }
}

/// Bytes, no more than `most` of them.
struct Capped {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Capped {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + chunk.len() > self.most {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.bytes.extend_from_slice(chunk);
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
