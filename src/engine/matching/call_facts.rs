//! Trace attributes of an ask's calls, named by OpenTelemetry's conventions where these have a name.

use std::time::Duration;

use hyper::{StatusCode, Uri};

use offerd_base::telemetry::traces::AskTrace;
use offerd_wire::{CallReply, Phases};

/// The calls of one ask.
#[derive(Debug, Default)]
pub struct CallFacts {
    /// The called scheme and host, as in the partner file.
    pub host: Option<String>,
    /// Number of answers.
    pub answers: u32,
    /// Status of the last answer.
    pub status: Option<StatusCode>,
    /// Total duration of the calls, including waits between them.
    pub waited: Duration,
    /// Phase durations, summed over answered calls.
    phases: Phases,
    /// Total duration of the mappings.
    pub mapped: Duration,
}

impl CallFacts {
    /// Adds an answer.
    pub fn answered(&mut self, reply: &CallReply) {
        self.answers += 1;
        self.status = Some(reply.status);
        self.phases.connect += reply.took.connect;
        self.phases.wait += reply.took.wait;
        self.phases.read += reply.took.read;
    }

    /// Writes the facts to the ask's trace.
    pub fn tell(self, trace: &mut AskTrace) {
        let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let microseconds = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        if let Some(host) = self.host {
            note_server(&host, trace);
            trace.note("offerd.answers", i64::from(self.answers));
            trace.note("offerd.calls_ms", milliseconds(self.waited));
            trace.note("offerd.mappings_us", microseconds(self.mapped));
            trace.note("offerd.connect_us", microseconds(self.phases.connect));
            trace.note("offerd.wait_us", microseconds(self.phases.wait));
            trace.note("offerd.read_us", microseconds(self.phases.read));
        }
        if let Some(status) = self.status {
            trace.note("http.response.status_code", i64::from(status.as_u16()));
        }
    }
}

/// Writes the server's address in parts; unparsed where the file builds a part of it from the lead.
fn note_server(host: &str, trace: &mut AskTrace) {
    let uri = host.parse::<Uri>().ok().filter(|uri| uri.host().is_some());
    let Some(uri) = uri else { return trace.note("server.address", host.to_owned()) };
    trace.note("server.address", uri.host().unwrap_or_default().to_owned());
    if let Some(scheme) = uri.scheme_str() {
        trace.note("url.scheme", scheme.to_owned());
    }
    if let Some(port) = uri.port_u16() {
        trace.note("server.port", i64::from(port));
    }
}
