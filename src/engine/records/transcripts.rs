//! Messages exchanged with partners: sealed with the lead and limited to a retention of their own.

use std::collections::BTreeSet;
use std::time::Duration;

use tracing::error;
use uuid::Uuid;

use super::writing::key_in;
use super::{Found, RecordUnavailable};
use crate::rate_table::transcript::{CallEnd, CallInitiator, HttpMessage, TranscribedCall, Transcript};
use offerd_model::{ProductType, Timestamp, record};
use offerd_store::{Commit, RetentionError, SealingError, Store, Tree, codec};

/// A stored transcript.
pub struct StoredTranscript {
    /// Position of the seat.
    pub seat: u16,
    /// When it was written, Unix milliseconds.
    pub at: i64,
    /// The calls.
    pub transcript: Transcript,
}

record! { plain
    /// The transcript of an ask in readable form: bodies as text.
    AskTranscript {
        /// The partner's key.
        partner: String,
        /// The requested product type.
        product_type: ProductType,
        /// When it was written.
        written_at: Timestamp,
        /// The calls in order.
        calls: Vec<ShownCall>,
        /// Further calls that did not fit.
        left_out: u32,
    }

    /// A call.
    ShownCall {
        /// When it started.
        at: Timestamp,
        /// The caller.
        by: CallInitiator,
        /// The step, if there are several.
        step: Option<String>,
        /// The HTTP method.
        method: String,
        /// The URL.
        url: String,
        /// The request.
        sent: ShownMessage,
        /// The status code, if it was answered.
        status: Option<u16>,
        /// The response.
        came: Option<ShownMessage>,
        /// Why there is no response.
        failure: Option<String>,
        /// The duration, milliseconds.
        took_ms: u32,
    }

    /// Headers and body of a request or response.
    ShownMessage {
        /// Names and values; `null` for values that were not kept or are masked.
        headers: Vec<(String, Option<String>)>,
        /// The body; always JSON if redacted.
        body: String,
        /// Length of the whole body, bytes.
        bytes: u64,
        /// Whether the kept body is truncated.
        cut: bool,
    }
}

/// The commit that writes the transcript of a seat's ask. May block on the disk.
///
/// # Errors
/// [`SealingError`] when the key of its time span could not be created.
pub fn written(
    store: &Store,
    lead: Uuid,
    (table, seat): (Uuid, u16),
    transcript: &Transcript,
) -> Result<Commit, SealingError> {
    let sealed = store.seal_for(transcript.keep_ms, &codec::encode(transcript))?;
    let key = [&key_in(table, seat)[..], &store.now_ms().to_be_bytes()].concat();
    Ok(Commit::new().about(lead).put(Tree::Transcripts, key, sealed))
}

/// The transcripts of a table, by seat and time, that are within their retention.
pub fn of_table(store: &Store, table: Uuid, kept: Duration) -> Found<Vec<StoredTranscript>> {
    if is_old(store, table, kept) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for record in store.scan(Tree::Transcripts, table.as_bytes()) {
        let (key, sealed) = record.map_err(unreadable)?;
        let Some(opened) = store.open_in_time(&sealed) else { continue };
        let (seat, at) = place(&key).ok_or_else(|| unreadable("a key of a transcript has 26 bytes"))?;
        let transcript = store.decode(Tree::Transcripts, &key, &opened).map_err(unreadable)?;
        found.push(StoredTranscript { seat, at, transcript });
    }
    Ok(found)
}

/// The seats of a table that have transcripts.
pub fn seats(store: &Store, table: Uuid, kept: Duration) -> BTreeSet<u16> {
    if is_old(store, table, kept) {
        return BTreeSet::new();
    }
    let keys = store.scan(Tree::Transcripts, table.as_bytes()).filter_map(Result::ok);
    keys.filter_map(|(key, _)| Some(place(&key)?.0)).collect()
}

/// The number of transcripts of a seat's ask.
pub fn count(store: &Store, table: Uuid, seat: u16) -> usize {
    store.scan(Tree::Transcripts, key_in(table, seat)).filter(Result::is_ok).count()
}

/// Removes transcripts past their retention; returns how many.
///
/// # Errors
/// [`RetentionError`] when some remain; a retry continues.
pub async fn forget(store: &Store, kept: Duration) -> Result<u64, RetentionError> {
    store.remove_before(Tree::Transcripts, begin_ms(store, kept)).await
}

fn is_old(store: &Store, table: Uuid, kept: Duration) -> bool {
    u64::try_from(table.as_u128() >> 80).unwrap_or(0) < begin_ms(store, kept)
}

fn begin_ms(store: &Store, kept: Duration) -> u64 {
    store.now_ms().cast_unsigned().saturating_sub(u64::try_from(kept.as_millis()).unwrap_or(u64::MAX))
}

fn place(key: &[u8]) -> Option<(u16, i64)> {
    let (seat, at) = key.get(16..)?.split_first_chunk()?;
    Some((u16::from_be_bytes(*seat), i64::from_be_bytes(at.try_into().ok()?)))
}

fn unreadable(failure: impl std::fmt::Display) -> RecordUnavailable {
    error!(%failure, "cannot read a transcript");
    RecordUnavailable
}

impl AskTranscript {
    /// The kept transcript of an ask.
    pub fn of(partner: String, product_type: ProductType, kept: StoredTranscript) -> Self {
        let Transcript { calls, left_out, .. } = kept.transcript;
        let calls = calls.into_iter().map(shown_call).collect();
        Self { partner, product_type, written_at: Timestamp::at(kept.at), calls, left_out }
    }
}

fn shown_call(call: TranscribedCall) -> ShownCall {
    let TranscribedCall { at, took_ms, by, step, method, url, sent, end } = call;
    let (status, came, failure) = match end {
        CallEnd::Answered { status, came } => (Some(status), Some(shown_message(came)), None),
        CallEnd::Failed(cause) => (None, None, Some(cause)),
        CallEnd::Taken => (None, None, None),
    };
    let (at, sent) = (Timestamp::at(at), shown_message(sent));
    ShownCall { at, by, step, method, url, sent, status, came, failure, took_ms }
}

fn shown_message(message: HttpMessage) -> ShownMessage {
    let HttpMessage { headers, body, bytes, cut } = message;
    ShownMessage { headers, body: String::from_utf8_lossy(&body).into_owned(), bytes, cut }
}
