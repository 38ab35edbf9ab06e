//! Reads bodies of answers under a size limit, and decodes their content codings.

use std::error::Error;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

use brotli::Decompressor;
use bytes::{Bytes, BytesMut};
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};

use super::error::{CallError, FailedAttempt};
use super::room::AnswerRoom;

const CODINGS_MAX: usize = 2;

const CHUNK: usize = 4096;

/// A content coding. A server may choose any if the request names none (RFC 9110, 12.5.3).
#[derive(Clone, Copy)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
}

/// Reads and decodes the whole body, of at most `most` bytes both encoded and decoded, for which there must be
/// room. Adapts the headers.
pub(super) async fn whole(
    body: Incoming,
    head: &mut HeaderMap,
    (most, room): (usize, &Arc<AnswerRoom>),
) -> Result<Bytes, FailedAttempt> {
    let codings = codings(head).map_err(FailedAttempt::sent)?;
    if body.size_hint().exact().is_none() && is_transfer_coded(head) {
        return Err(FailedAttempt::sent(CallError::TransferCoding));
    }
    if body.size_hint().lower() > most as u64 {
        return Err(FailedAttempt::sent(CallError::TooLarge { most }));
    }
    let (mut body, mut held, mut bytes) = (Limited::new(body, most), room.answer(), BytesMut::new());
    let failed = |error: Box<dyn Error + Send + Sync>| match error.is::<LengthLimitError>() {
        true => FailedAttempt::sent(CallError::TooLarge { most }),
        false => FailedAttempt::of_body(&*error),
    };
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(failed)?.into_data() {
            held.grow(data.len()).map_err(FailedAttempt::sent)?;
            bytes.extend_from_slice(&data);
        }
    }
    let encoded = bytes.len();
    let decoded = decode(codings, bytes.freeze(), head, most).map_err(FailedAttempt::sent)?;
    held.grow(decoded.len().saturating_sub(encoded)).map_err(FailedAttempt::sent)?;
    Ok(held.keep(decoded))
}

/// Decodes a body that was read elsewhere, into at most `most` bytes. Adapts the headers.
///
/// # Errors
/// Why it cannot be decoded.
pub fn decoded(body: Bytes, headers: &mut HeaderMap, most: usize) -> Result<Bytes, CallError> {
    decode(codings(headers)?, body, headers, most)
}

fn decode(codings: Vec<Coding>, body: Bytes, head: &mut HeaderMap, most: usize) -> Result<Bytes, CallError> {
    if codings.is_empty() {
        return Ok(body);
    }
    head.remove(CONTENT_ENCODING);
    head.remove(CONTENT_LENGTH);
    codings.into_iter().rev().try_fold(body, |body, coding| undone(&body, coding, most))
}

fn is_transfer_coded(headers: &HeaderMap) -> bool {
    let names = headers.get_all(TRANSFER_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut names = names.flat_map(|line| line.split(',')).map(str::trim);
    names.any(|name| !["", "chunked", "identity"].iter().any(|known| name.eq_ignore_ascii_case(known)))
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

fn undone(coded: &[u8], coding: Coding, most: usize) -> Result<Bytes, CallError> {
    if coded.is_empty() {
        return Ok(Bytes::new());
    }
    match coding {
        Coding::Gzip => read(MultiGzDecoder::new(coded), most),
        // The standard says zlib; many servers send raw deflate.
        Coding::Deflate if is_zlib(coded) => read(ZlibDecoder::new(coded), most),
        Coding::Deflate => read(DeflateDecoder::new(coded), most),
        Coding::Brotli if is_of_large_window(coded) => Err(CallError::LargeWindow),
        Coding::Brotli => read(Decompressor::new(coded.chain(MissingEnd), CHUNK), most),
    }
    // A proxy may have decompressed a text and left the header.
    .map_err(|error| match error {
        CallError::CutOff if std::str::from_utf8(coded).is_ok() => CallError::BrokenCoding,
        error => error,
    })
}

/// Whether the body uses Brotli's large window, in which a few bytes can require 1 GiB (RFC 7932, 9.1).
fn is_of_large_window(coded: &[u8]) -> bool {
    coded.first().is_some_and(|first| first & 0x7f == 0x11)
}

/// Whether the body starts with a zlib header (RFC 1950, 2.2).
fn is_zlib(coded: &[u8]) -> bool {
    matches!(coded, [method, flags, ..] if method & 15 == 8 && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

struct MissingEnd;

impl Read for MissingEnd {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(ErrorKind::UnexpectedEof.into())
    }
}

fn read(decoder: impl Read, most: usize) -> Result<Bytes, CallError> {
    let mut bytes = Vec::new();
    match decoder.take(most as u64 + 1).read_to_end(&mut bytes) {
        Ok(length) if length > most => Err(CallError::TooLarge { most }),
        Ok(_) => Ok(bytes.into()),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(CallError::CutOff),
        Err(_) => Err(CallError::BrokenCoding),
    }
}
