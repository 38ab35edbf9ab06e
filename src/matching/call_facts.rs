//! What a trace tells of the calls of an ask, in the words of OpenTelemetry's conventions where these have one.

use std::time::Duration;

use hyper::StatusCode;

use crate::telemetry::traces::AskTrace;

/// The calls of one ask.
#[derive(Debug, Default)]
pub struct CallFacts {
    /// Who was called: scheme and host, as the partner's file says.
    pub host: Option<String>,
    /// How many answers came.
    pub answers: u32,
    /// The status of the last.
    pub status: Option<StatusCode>,
    /// How long the calls took, waiting between them included.
    pub waited: Duration,
    /// How long mappings took.
    pub mapped: Duration,
}

impl CallFacts {
    /// Has the trace of the ask tell of them.
    pub fn tell(self, trace: &mut AskTrace) {
        let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        if let Some(host) = self.host {
            trace.note("server.address", host);
            trace.note("offerd.answers", i64::from(self.answers));
            trace.note("offerd.calls_ms", milliseconds(self.waited));
            trace.note("offerd.mappings_us", i64::try_from(self.mapped.as_micros()).unwrap_or(i64::MAX));
        }
        if let Some(status) = self.status {
            trace.note("http.response.status_code", i64::from(status.as_u16()));
        }
    }
}
