//! A transcript as it is read: bodies as texts.

use super::transcripts::Kept;
use crate::rate_table::transcript::{CallEnd, CalledBy, Message, TranscribedCall, Transcript};
use offerd_model::{ProductType, Timestamp, record};

record! { plain
    /// The transcript of an ask.
    AskTranscript {
        /// Key of the partner.
        partner: String,
        /// What it was asked about.
        product_type: ProductType,
        /// When it was written down.
        written_at: Timestamp,
        /// The calls in their order.
        calls: Vec<ShownCall>,
        /// Further calls that there was no room for.
        left_out: u32,
    }

    /// A call as it is shown.
    ShownCall {
        /// When it began.
        at: Timestamp,
        /// Who made it.
        by: CalledBy,
        /// The step that it is of, where there are several.
        step: Option<String>,
        /// The method.
        method: String,
        /// Where to.
        url: String,
        /// What was sent.
        sent: ShownMessage,
        /// The status of its answer, if one came.
        status: Option<u16>,
        /// The answer.
        came: Option<ShownMessage>,
        /// Why none came.
        failure: Option<String>,
        /// How long it took, milliseconds.
        took_ms: u32,
    }

    /// The headers and the body of a request or an answer.
    ShownMessage {
        /// Names and values; none of those that were not kept, or are masked.
        headers: Vec<(String, Option<String>)>,
        /// The body; a redacted one as JSON, whatever it was.
        body: String,
        /// How long the whole body is, bytes.
        bytes: u64,
        /// Whether it was longer than is kept.
        cut: bool,
    }
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
