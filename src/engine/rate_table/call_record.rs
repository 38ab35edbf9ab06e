//! The stored progress of an ask of several calls, so that a restart repeats no at-most-once call.

use serde::{Deserialize, Serialize};

use super::cause::Cause;
use offerd_partners::http::StoredExchange;

/// Keyed by rate table and seat; absent for single-call asks. Holds partner answers, so it is not `Debug`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// When it was written, Unix milliseconds.
    pub at: i64,
    /// The step of the next call.
    pub step: u8,
    /// Whether the call was about to be sent, as opposed to only being next.
    pub sent: bool,
    /// The partner's bid for the lead, dollars.
    pub bid: Option<f64>,
    /// Values kept from earlier answers, a JSON object.
    pub kept: String,
    /// The partner's callback.
    pub heard: Option<ReceivedCallback>,
    /// What happened after the ask ended.
    pub later: Option<LateEvent>,
}

impl CallRecord {
    /// The position in the sequence of calls.
    pub fn progress(&self) -> StoredExchange {
        StoredExchange { step: self.step, kept: self.kept.clone(), bid: self.bid }
    }
}

/// What happened after an ask ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LateEvent {
    /// When, Unix milliseconds.
    pub at: i64,
    /// The event.
    pub end: LateEventKind,
}

/// An event after an ask ended. Stored by position: append new variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LateEventKind {
    /// A late answer with this many offers, which were not shown.
    Offers(u16),
    /// A late answer without offers.
    Declined,
    /// A late answer that was an error or could not be read.
    Failed,
    /// The lead was posted after its offers were shown, and accepted.
    Taken,
    /// The lead was posted after its offers were shown, and not accepted.
    NotTaken,
    /// The lead was posted after its offers were shown; the result is unknown.
    Unclear(Cause),
}

impl LateEventKind {
    /// The sentence for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Offers(offers) => format!("its answer came too late, with {offers} offers"),
            Self::Declined => "its answer came too late, and had nothing for this lead".to_owned(),
            Self::Failed => "its answer came too late, and could not be read or was an error".to_owned(),
            Self::Taken => "its offers were shown, and it took the lead".to_owned(),
            Self::NotTaken => "its offers were shown, and it did not take the lead".to_owned(),
            Self::Unclear(cause) => {
                format!("its offers were shown; it is unknown whether it took the lead: {cause}")
            }
        }
    }
}

/// A callback by a partner; personal data.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceivedCallback {
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}
