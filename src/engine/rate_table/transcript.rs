//! What a partner was sent about a lead and what came back, for the partners whose file wants that kept: a person's data, without secrets.

use serde::{Deserialize, Serialize};

/// The calls of one ask, or one that came when it had ended. Holds a person's data, so it is not `Debug`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    /// How long it was to be kept when it was written, milliseconds.
    pub keep_ms: i64,
    /// The calls in their order.
    pub calls: Vec<TranscribedCall>,
    /// Further calls that there was no room for.
    pub left_out: u32,
}

/// A call and its end.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct TranscribedCall {
    /// When it began, Unix milliseconds.
    pub at: i64,
    /// How long it took, milliseconds.
    pub took_ms: u32,
    /// Who made it.
    pub by: CalledBy,
    /// The step that it is of, by its key in the partner file, where there are several.
    pub step: Option<String>,
    /// The method.
    pub method: String,
    /// Where to; of a partner's call the path.
    pub url: String,
    /// What was sent with it.
    pub sent: Message,
    /// How it ended.
    pub end: CallEnd,
}

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalledBy {
    /// We do.
    Offerd,
    /// The partner does, with its answer.
    Partner,
    /// The partner does, when the ask has ended.
    PartnerLate,
}

/// How a call ended.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum CallEnd {
    /// With an answer.
    Answered {
        /// Its status.
        status: u16,
        /// The rest of it.
        came: Message,
    },
    /// Without one: why.
    Failed(String),
    /// A partner's was taken in.
    Taken,
}

/// The headers and the body of a request or an answer.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Names and values; no value of one that carries a secret.
    pub headers: Vec<(String, Option<String>)>,
    /// The body, as far as it is kept.
    pub body: Vec<u8>,
    /// How long the whole body is.
    pub bytes: u64,
    /// Whether the end of it is not kept.
    pub cut: bool,
}

impl Transcript {
    /// Whether something of it is not kept.
    pub fn is_cut(&self) -> bool {
        let cut = |call: &TranscribedCall| {
            call.sent.cut || matches!(&call.end, CallEnd::Answered { came, .. } if came.cut)
        };
        self.left_out > 0 || self.calls.iter().any(cut)
    }
}
