//! A transcript as it is read: bodies as texts.

use serde::{Deserialize, Serialize};

use super::transcripts::Kept;
use crate::model::{ProductType, Timestamp};
use crate::rate_table::transcript::{CallEnd, CalledBy, Message, TranscribedCall, Transcript};

/// The transcript of an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskTranscript {
    /// Key of the partner.
    pub partner: String,
    /// What it was asked about.
    pub product_type: ProductType,
    /// When it was written down.
    pub written_at: Timestamp,
    /// The calls in their order.
    pub calls: Vec<ShownCall>,
    /// Further calls that there was no room for.
    pub left_out: u32,
}

/// A call as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownCall {
    /// When it began.
    pub at: Timestamp,
    /// Who made it.
    pub by: CalledBy,
    /// The step that it is of, where there are several.
    pub step: Option<String>,
    /// The method.
    pub method: String,
    /// Where to.
    pub url: String,
    /// What was sent.
    pub sent: ShownMessage,
    /// The status of its answer, if one came.
    pub status: Option<u16>,
    /// The answer.
    pub came: Option<ShownMessage>,
    /// Why none came.
    pub failure: Option<String>,
    /// How long it took, milliseconds.
    pub took_ms: u32,
}

/// The headers and the body of a request or an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownMessage {
    /// Names and values; none of those that were not kept, or are masked.
    pub headers: Vec<(String, Option<String>)>,
    /// The body; a redacted one as JSON, whatever it was.
    pub body: String,
    /// How long the whole body is, bytes.
    pub bytes: u64,
    /// Whether it was longer than is kept.
    pub cut: bool,
}

impl AskTranscript {
    /// What was kept of an ask of a partner.
    pub fn of(partner: String, product_type: ProductType, kept: Kept) -> Self {
        let Transcript { calls, left_out, .. } = kept.transcript;
        let calls = calls.into_iter().map(ShownCall::from).collect();
        Self { partner, product_type, written_at: Timestamp::at(kept.at), calls, left_out }
    }
}

impl From<TranscribedCall> for ShownCall {
    fn from(call: TranscribedCall) -> Self {
        let TranscribedCall { at, took_ms, by, step, method, url, sent, end } = call;
        let (status, came, failure) = match end {
            CallEnd::Answered { status, came } => (Some(status), Some(came.into()), None),
            CallEnd::Failed(cause) => (None, None, Some(cause)),
            CallEnd::Taken => (None, None, None),
        };
        Self {
            at: Timestamp::at(at),
            by,
            step,
            method,
            url,
            sent: sent.into(),
            status,
            came,
            failure,
            took_ms,
        }
    }
}

impl From<Message> for ShownMessage {
    fn from(message: Message) -> Self {
        let Message { headers, body, bytes, cut } = message;
        Self { headers, body: String::from_utf8_lossy(&body).into_owned(), bytes, cut }
    }
}
