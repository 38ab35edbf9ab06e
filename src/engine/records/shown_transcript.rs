//! A transcript in readable form: bodies as text.

use super::transcripts::StoredTranscript;
use crate::rate_table::transcript::{CallEnd, CallInitiator, HttpMessage, TranscribedCall, Transcript};
use offerd_model::{ProductType, Timestamp, record};

record! { plain
    /// The transcript of an ask.
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

impl AskTranscript {
    /// The kept transcript of an ask.
    pub fn of(partner: String, product_type: ProductType, kept: StoredTranscript) -> Self {
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
        let (at, sent) = (Timestamp::at(at), sent.into());
        Self { at, by, step, method, url, sent, status, came, failure, took_ms }
    }
}

impl From<HttpMessage> for ShownMessage {
    fn from(message: HttpMessage) -> Self {
        let HttpMessage { headers, body, bytes, cut } = message;
        Self { headers, body: String::from_utf8_lossy(&body).into_owned(), bytes, cut }
    }
}
