//! The records of a subscription: its cursor, its outstanding deliveries, its dead letters.
//!
//! A key is the subscription's name, a zero byte, the company's uuid, and the kind of record.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use offerd_model::{EventType, LeadEvent};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum RecordKind {
    /// The position in the feed: a [`FeedCursor`].
    Cursor = b'c',
    /// A dead letter: a [`PostbackDelivery`].
    Dead = b'd',
    /// An outstanding delivery.
    Outstanding = b'o',
    /// A dead letter that was requeued.
    PutBack = b'r',
    /// The result of the last calls: a [`LastAttempts`].
    Tried = b's',
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EventPosition {
    /// The arrival time of its record, in microseconds since 1970.
    pub arrival_us: u64,
    /// The record's index within its commit.
    pub sequence: u32,
    /// The event's index in the record, from 0.
    pub nth: u16,
}

impl EventPosition {
    fn to_bytes(self) -> Vec<u8> {
        let Self { arrival_us, sequence, nth } = self;
        [&arrival_us.to_be_bytes()[..], &sequence.to_be_bytes(), &nth.to_be_bytes()].concat()
    }

    pub(super) fn at_end_of(key: &[u8]) -> Option<Self> {
        let bytes = key.last_chunk::<14>()?;
        let (arrival, rest) = bytes.split_first_chunk::<8>()?;
        let (sequence, nth) = rest.split_first_chunk::<4>()?;
        Some(Self {
            arrival_us: u64::from_be_bytes(*arrival),
            sequence: u32::from_be_bytes(*sequence),
            nth: u16::from_be_bytes(nth.try_into().ok()?),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubscriptionKeys(pub(super) Vec<u8>);

impl SubscriptionKeys {
    pub(super) fn of(subscription: &str, company: Uuid) -> Self {
        Self([subscription.as_bytes(), &[0], company.as_bytes()].concat())
    }

    pub(super) fn around(key: &[u8]) -> Option<Self> {
        let name = key.iter().position(|byte| *byte == 0)?;
        key.get(..name + 17).map(|keys| Self(keys.to_vec()))
    }

    /// The key of a kind with a single record, or the prefix of a kind with many.
    pub(super) fn all(&self, what: RecordKind) -> Vec<u8> {
        [&self.0[..], &[what as u8]].concat()
    }

    pub(super) fn one(&self, what: RecordKind, place: EventPosition) -> Vec<u8> {
        [&self.all(what)[..], &place.to_bytes()].concat()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FeedCursor {
    /// The arrival of the first record not taken in, in microseconds since 1970.
    pub next_us: u64,
    /// Since when no file declares the subscription, in Unix milliseconds.
    pub vanished_ms: Option<i64>,
}

/// An event that is not acknowledged yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostbackDelivery {
    /// The event's lead.
    pub lead: Uuid,
    /// The type of event.
    pub event_type: EventType,
    /// When it was taken from the feed or requeued, in Unix milliseconds.
    pub taken_ms: i64,
    /// The attempts since then.
    pub attempts: u32,
    /// When it is sent next, in Unix milliseconds; for a dead letter, when it was given up.
    pub next_ms: i64,
    /// The result of the last attempt.
    pub last: Option<AttemptResult>,
}

impl PostbackDelivery {
    pub(super) fn of(event: &LeadEvent, now_ms: i64) -> Self {
        let LeadEvent { lead_uuid: lead, event_type, .. } = *event;
        Self { lead, event_type, taken_ms: now_ms, attempts: 0, next_ms: now_ms, last: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastAttempts {
    pub last: AttemptResult,
    /// When the present series of failures began, in Unix milliseconds.
    pub failing_since_ms: Option<i64>,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptResult {
    /// When it ended, in Unix milliseconds.
    pub at_ms: i64,
    /// The status of the answer.
    pub status: Option<u16>,
    /// Why there was none, as metrics name the cause.
    pub cause: Option<String>,
}

impl AttemptResult {
    /// Whether the receiver has accepted the event.
    pub fn is_good(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

/// For people: `200`, `timed out head`.
impl fmt::Display for AttemptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.status, &self.cause) {
            (Some(status), _) => status.fmt(f),
            (None, Some(cause)) => f.write_str(&cause.replace('_', " ")),
            (None, None) => f.write_str("not known"),
        }
    }
}
