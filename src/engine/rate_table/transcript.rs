//! Messages exchanged with a partner about a lead: personal data, without secrets.

use serde::{Deserialize, Serialize};

/// The calls of one ask, or a call that arrived after it ended. Holds personal data, so it is not `Debug`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    /// Retention when it was written, milliseconds.
    pub keep_ms: i64,
    /// The calls in order.
    pub calls: Vec<TranscribedCall>,
    /// Further calls that did not fit.
    pub left_out: u32,
}

/// A call and its result.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct TranscribedCall {
    /// When the call started, Unix milliseconds.
    pub at: i64,
    /// The duration of the call, milliseconds.
    pub took_ms: u32,
    /// The caller.
    pub by: CallInitiator,
    /// The key of the step in the partner file, if there are several steps.
    pub step: Option<String>,
    /// The HTTP method.
    pub method: String,
    /// The URL; for a call by the partner, the path.
    pub url: String,
    /// The request.
    pub sent: HttpMessage,
    /// The result.
    pub end: CallEnd,
}

/// The caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallInitiator {
    /// offerd.
    Offerd,
    /// The partner, with its answer.
    Partner,
    /// The partner, after the ask ended.
    PartnerLate,
}

/// The result of a call.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum CallEnd {
    /// The call was answered.
    Answered {
        /// The status code.
        status: u16,
        /// The headers and body.
        came: HttpMessage,
    },
    /// The call failed, with the cause.
    Failed(String),
    /// The partner's call was accepted.
    Taken,
}

/// Headers and body of a request or response.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HttpMessage {
    /// Names and values; the value is left out where it is a secret.
    pub headers: Vec<(String, Option<String>)>,
    /// The kept part of the body.
    pub body: Vec<u8>,
    /// Length of the whole body.
    pub bytes: u64,
    /// Whether the kept body is truncated.
    pub cut: bool,
}

impl Transcript {
    /// Whether any part is not kept.
    pub fn is_cut(&self) -> bool {
        let cut = |call: &TranscribedCall| {
            call.sent.cut || matches!(&call.end, CallEnd::Answered { came, .. } if came.cut)
        };
        self.left_out > 0 || self.calls.iter().any(cut)
    }
}
