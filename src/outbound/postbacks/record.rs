//! What the store holds of a subscription: where it stands, what is outstanding, what is dead.
//!
//! A key begins with the subscription's name, a zero byte and the company's uuid; then one byte says what it is of.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use offerd_model::{EventType, LeadEvent};

/// What a record of a subscription is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum What {
    /// How far the feed is taken in: a [`Cursor`].
    Cursor = b'c',
    /// A dead letter: a [`Delivery`].
    Dead = b'd',
    /// A delivery that is outstanding.
    Outstanding = b'o',
    /// A dead letter that is to be outstanding again.
    PutBack = b'r',
    /// How calls ended last: a [`Tried`].
    Tried = b's',
}

/// Where an event is: its record in the feed of the company, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    /// When its record arrived, in microseconds since 1970.
    pub arrival_us: u64,
    /// The place of that among those of its commit.
    pub sequence: u32,
    /// Which of its events, from 0.
    pub nth: u16,
}

impl Place {
    fn to_bytes(self) -> [u8; 14] {
        let mut bytes = [0; 14];
        bytes[..8].copy_from_slice(&self.arrival_us.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[12..].copy_from_slice(&self.nth.to_be_bytes());
        bytes
    }

    /// The place that a key ends with.
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

/// The keys of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys(Vec<u8>);

impl Keys {
    /// Those of a subscription to the events of a company.
    pub(super) fn of(subscription: &str, company: Uuid) -> Self {
        Self([subscription.as_bytes(), &[0], company.as_bytes()].concat())
    }

    /// Those that a key is one of.
    pub(super) fn around(key: &[u8]) -> Option<Self> {
        let name = key.iter().position(|byte| *byte == 0)?;
        key.get(..name + 17).map(|keys| Self(keys.to_vec()))
    }

    /// What all of them begin with.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.0
    }

    /// Where the keys of the next subscription begin.
    pub(super) fn behind(&self) -> Vec<u8> {
        [&self.0[..], &[u8::MAX]].concat()
    }

    /// The key of what there is one of; what the keys begin with of what there are many.
    pub(super) fn all(&self, what: What) -> Vec<u8> {
        [&self.0[..], &[what as u8]].concat()
    }

    /// The key of one of many.
    pub(super) fn one(&self, what: What, place: Place) -> Vec<u8> {
        [&self.all(what)[..], &place.to_bytes()].concat()
    }
}

/// How far the feed is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// The arrival of the first record that is not, in microseconds since 1970.
    pub next_us: u64,
    /// Since when no file declares the subscription, Unix milliseconds.
    pub vanished_ms: Option<i64>,
}

/// A delivery that was not acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The lead that the event is of.
    pub lead: Uuid,
    /// What happened.
    pub event_type: EventType,
    /// When it was taken from the feed, or put back, Unix milliseconds.
    pub taken_ms: i64,
    /// How often it was sent since.
    pub attempts: u32,
    /// When it is to be sent next, Unix milliseconds; of a dead letter when it was given up.
    pub next_ms: i64,
    /// How the last attempt ended.
    pub last: Option<Ended>,
}

impl Delivery {
    /// That of an event, which is due at once.
    pub(super) fn of(event: &LeadEvent, now_ms: i64) -> Self {
        Self {
            lead: event.lead_uuid,
            event_type: event.event_type,
            taken_ms: now_ms,
            attempts: 0,
            next_ms: now_ms,
            last: None,
        }
    }
}

/// How calls ended last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tried {
    /// The last of them.
    pub last: Ended,
    /// When the first one failed since the last that did not, Unix milliseconds.
    pub failing_since_ms: Option<i64>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// The status of the answer.
    pub status: Option<u16>,
    /// Why there was none: what metrics have as the cause of a call without a reply.
    pub cause: Option<String>,
}

impl Ended {
    /// Whether the receiver has taken the event.
    pub fn is_good(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

/// `200`, `timed out head`.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.status, &self.cause) {
            (Some(status), _) => status.fmt(f),
            (None, Some(cause)) => f.write_str(&cause.replace('_', " ")),
            (None, None) => f.write_str("not known"),
        }
    }
}
