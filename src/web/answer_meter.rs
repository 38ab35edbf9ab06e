//! What is counted of the answers of a listener.

use std::collections::HashMap;
use std::time::Duration;

use hyper::StatusCode;
use metrics::{Counter, Histogram};
use parking_lot::RwLock;

use offerd_base::telemetry::metrics::{HTTP_REQUEST_SECONDS, HTTP_REQUESTS};

/// Counts the answers of one listener. To look a metric up by its labels takes longer than to count, so that is done once for
/// each kind of answer.
#[derive(Debug)]
pub struct AnswerMeter {
    listener: &'static str,
    /// How many there were of each kind, and how long those of the route took.
    kinds: RwLock<HashMap<Kind, (Counter, Histogram)>>,
}

/// A route's template, and how it was answered. There are as many as the route table and its statuses make.
type Kind = (&'static str, StatusCode);

impl AnswerMeter {
    /// A meter of a listener, by its name in metrics and logs.
    pub fn of(listener: &'static str) -> Self {
        Self { listener, kinds: RwLock::default() }
    }

    /// The listener's name.
    pub fn listener(&self) -> &'static str {
        self.listener
    }

    /// A route was answered, and that took so long.
    pub(super) fn answered(&self, route: &'static str, status: StatusCode, took: Duration) {
        let kind = (route, status);
        let count = |(answers, seconds): &(Counter, Histogram)| {
            answers.increment(1);
            seconds.record(took.as_secs_f64());
        };
        if let Some(known) = self.kinds.read().get(&kind) {
            return count(known);
        }
        count(self.kinds.write().entry(kind).or_insert_with(|| self.look_up(kind)));
    }

    fn look_up(&self, (route, status): Kind) -> (Counter, Histogram) {
        let (listener, status) = (self.listener, status.as_str().to_owned());
        // Told as 0 first, since an alert asks for its growth.
        metrics::counter!(HTTP_REQUESTS, "listener" => listener, "route" => route, "status" => "500")
            .increment(0);
        (
            metrics::counter!(HTTP_REQUESTS, "listener" => listener, "route" => route, "status" => status),
            metrics::histogram!(HTTP_REQUEST_SECONDS, "listener" => listener, "route" => route),
        )
    }
}
