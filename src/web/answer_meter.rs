//! Request metrics of a listener.

use std::collections::HashMap;

use metrics::{Counter, Histogram};
use parking_lot::RwLock;

use super::prelude::*;
use offerd_base::telemetry::metrics::{HTTP_REQUEST_SECONDS, HTTP_REQUESTS};

/// Counts and times the answers of one listener. Caches handles, whose look-up takes longer than their use.
#[derive(Debug)]
pub struct AnswerMeter {
    pub(super) listener: &'static str,
    kinds: RwLock<HashMap<AnswerLabels, (Counter, Histogram)>>,
}

type AnswerLabels = (&'static str, StatusCode);

impl AnswerMeter {
    /// A meter for a listener; the name appears in metrics and logs.
    pub fn of(listener: &'static str) -> Self {
        Self { listener, kinds: RwLock::default() }
    }

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

    fn look_up(&self, (route, status): AnswerLabels) -> (Counter, Histogram) {
        let (listener, status) = (self.listener, status.as_str().to_owned());
        // Starts the counter of 500s at 0, so that an alert sees it grow from the first.
        let answers = |status: String| metrics::counter!(HTTP_REQUESTS, "listener" => listener, "route" => route, "status" => status);
        answers("500".to_owned()).increment(0);
        (answers(status), metrics::histogram!(HTTP_REQUEST_SECONDS, "listener" => listener, "route" => route))
    }
}
