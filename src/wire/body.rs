//! Bodies of answers, read under a cap, their content codings undone.

use std::io::Read;

use brotli::Decompressor;
use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http_body_util::{BodyExt, Limited};
use hyper::HeaderMap;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH};

use super::error::{CallError, Failed};

/// Most codings, one over the other.
const CODINGS_MAX: usize = 2;

/// What brotli reads at a time, bytes.
const CHUNK: usize = 4096;

/// A content coding. A server may choose any of them where it is asked for none (RFC 9110, 12.5.3).
#[derive(Clone, Copy)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
}

/// The whole body, of at most so many bytes as it comes and as it is. Takes from the headers what no longer holds once its codings are
/// undone.
pub(super) async fn whole(body: Incoming, headers: &mut HeaderMap, most: usize) -> Result<Bytes, Failed> {
    let codings = codings(headers).map_err(Failed::sent)?;
    if body.size_hint().lower() > most as u64 {
        return Err(Failed::sent(CallError::TooLarge));
    }
    let collected = Limited::new(body, most).collect().await;
    let bytes = collected.map_err(|error| Failed::of_body(&*error))?.to_bytes();
    if codings.is_empty() {
        return Ok(bytes);
    }
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    let undone = codings.into_iter().rev().try_fold(bytes, |bytes, coding| undone(&bytes, coding, most));
    undone.map_err(Failed::sent)
}

/// The codings of a body, in the order in which they were applied.
fn codings(headers: &HeaderMap) -> Result<Vec<Coding>, CallError> {
    let mut codings = Vec::new();
    for line in headers.get_all(CONTENT_ENCODING) {
        let names = line.to_str().map_err(|_| CallError::UnknownCoding)?;
        for name in names.split(',') {
            codings.push(match &*name.trim().to_ascii_lowercase() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Coding::Gzip,
                "deflate" => Coding::Deflate,
                "br" => Coding::Brotli,
                _ => return Err(CallError::UnknownCoding),
            });
        }
    }
    if codings.len() > CODINGS_MAX { Err(CallError::UnknownCoding) } else { Ok(codings) }
}

/// Undoes a coding, up to `most` bytes; of nothing it is nothing.
fn undone(coded: &[u8], coding: Coding, most: usize) -> Result<Bytes, CallError> {
    if coded.is_empty() {
        return Ok(Bytes::new());
    }
    match coding {
        Coding::Gzip => read(MultiGzDecoder::new(coded), most),
        // Meant is zlib's form; many send what is in it alone.
        Coding::Deflate if is_zlib(coded) => read(ZlibDecoder::new(coded), most),
        Coding::Deflate => read(DeflateDecoder::new(coded), most),
        Coding::Brotli if is_of_large_window(coded) => Err(CallError::LargeWindow),
        Coding::Brotli => read(Decompressor::new(coded, CHUNK), most),
    }
}

/// Whether bytes are in Brotli's extension that lets a few of them ask for 1 GiB to undo them. No other Brotli begins so (RFC 7932, 9.1).
fn is_of_large_window(coded: &[u8]) -> bool {
    coded.first().is_some_and(|first| first & 0x7f == 0x11)
}

/// Whether bytes begin as zlib's do (RFC 1950, 2.2).
fn is_zlib(coded: &[u8]) -> bool {
    matches!(coded, [method, flags, ..] if method & 15 == 8 && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

fn read(decoder: impl Read, most: usize) -> Result<Bytes, CallError> {
    let mut bytes = Vec::new();
    match decoder.take(most as u64 + 1).read_to_end(&mut bytes) {
        Ok(length) if length > most => Err(CallError::TooLarge),
        Ok(_) => Ok(bytes.into()),
        Err(_) => Err(CallError::BrokenCoding),
    }
}
