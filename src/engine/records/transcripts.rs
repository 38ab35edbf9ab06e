//! What partners were sent and answered, where their file wants it kept: sealed with the lead, and for a time of its own.

use std::collections::BTreeSet;
use std::time::Duration;

use tracing::error;
use uuid::Uuid;

use super::Unavailable;
use super::writing::key_in;
use crate::rate_table::transcript::Transcript;
use offerd_store::{Commit, RetentionError, SealingError, Store, Tree, codec};

/// A transcript where it lies.
pub struct Kept {
    /// The seat of the table.
    pub seat: u16,
    /// When it was written, Unix milliseconds.
    pub at: i64,
    /// The calls.
    pub transcript: Transcript,
}

/// The commit that writes the transcript of a seat's ask. May wait for the disk.
///
/// # Errors
/// That the key of its time could not be begun.
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

/// The transcripts of a table, by seat and time; those that are older than they are kept are not there any more.
///
/// # Errors
/// [`Unavailable`], once reported, when one cannot be read.
pub fn of_table(store: &Store, table: Uuid, kept: Duration) -> Result<Vec<Kept>, Unavailable> {
    if is_old(store, table, kept) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for record in store.scan(Tree::Transcripts, table.as_bytes()) {
        let (key, sealed) = record.map_err(unreadable)?;
        let Some(opened) = store.open_in_time(&sealed) else { continue };
        let (seat, at) = place(&key).ok_or_else(|| unreadable("a key of a transcript has 26 bytes"))?;
        let transcript = store.decode(Tree::Transcripts, &key, &opened).map_err(unreadable)?;
        found.push(Kept { seat, at, transcript });
    }
    Ok(found)
}

/// The seats of a table of whose asks there are transcripts, and of each how many.
pub fn seats(store: &Store, table: Uuid, kept: Duration) -> BTreeSet<u16> {
    if is_old(store, table, kept) {
        return BTreeSet::new();
    }
    let keys = store.scan(Tree::Transcripts, table.as_bytes()).filter_map(Result::ok);
    keys.filter_map(|(key, _)| Some(place(&key)?.0)).collect()
}

/// How many there are of a seat's ask.
pub fn count(store: &Store, table: Uuid, seat: u16) -> usize {
    store.scan(Tree::Transcripts, key_in(table, seat)).filter(Result::is_ok).count()
}

/// Removes those that are older than they are kept, and counts them.
///
/// # Errors
/// Why not all are. Trying again goes on with it.
pub async fn forget(store: &Store, kept: Duration) -> Result<u64, RetentionError> {
    store.remove_before(Tree::Transcripts, begin_ms(store, kept)).await
}

fn is_old(store: &Store, table: Uuid, kept: Duration) -> bool {
    u64::try_from(table.as_u128() >> 80).unwrap_or(0) < begin_ms(store, kept)
}

/// The tables of before have no transcripts any more.
fn begin_ms(store: &Store, kept: Duration) -> u64 {
    let kept_ms = u64::try_from(kept.as_millis()).unwrap_or(u64::MAX);
    store.now_ms().cast_unsigned().saturating_sub(kept_ms)
}

fn place(key: &[u8]) -> Option<(u16, i64)> {
    let (seat, at) = key.get(16..)?.split_first_chunk()?;
    Some((u16::from_be_bytes(*seat), i64::from_be_bytes(at.try_into().ok()?)))
}

fn unreadable(failure: impl std::fmt::Display) -> Unavailable {
    error!(%failure, "a transcript cannot be read");
    Unavailable
}
