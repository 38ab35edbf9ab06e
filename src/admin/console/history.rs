//! The last hour of the figures that every page of the console starts from: a ring of readings of the metrics, in bounded memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::Utc;

use super::super::App;
use super::figures::{Distribution, Figures};
use crate::telemetry::metrics::{
    HTTP_REQUEST_SECONDS, HTTP_REQUESTS, HTTP_REQUESTS_REFUSED, LIVE_TABLES, PARTNER_OUTCOMES, RELOADED_AT,
    RELOADS, STORE_BROKEN_RECORDS, STORE_COMMIT_SECONDS, STORE_FREE_BYTES, STORE_QUEUE_DEPTH,
    SUBMITS_REFUSED, TABLES_SETTLED,
};

/// Time between two readings.
pub(super) const EVERY: Duration = Duration::from_secs(5);

/// Readings that are kept: an hour of them.
pub(super) const READINGS: usize = 721;

/// The routes that take a lead in.
const SUBMIT_ROUTES: [&str; 3] =
    ["/leads/rateTables", "/leads/{leadUuid}/rateTables", "/blocking/leads/rateTables"];

/// The route that shows a rate table to who waits for it.
const POLL_ROUTE: &str = "/originator/rateTables/{uuid}";

/// What the metrics said at a moment; what only grows is kept as it was, so that any two readings tell what was between them.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    /// When, Unix milliseconds.
    pub(super) at: i64,
    /// Requests answered on the public listeners.
    pub(super) requests: f64,
    /// Requests and leads turned away.
    pub(super) refused: f64,
    /// How long submits took.
    pub(super) submits: Distribution,
    /// How long polls took.
    pub(super) polls: Distribution,
    /// How long commits took.
    pub(super) commits: Distribution,
    /// Commits that wait for the store's writer.
    pub(super) queue: f64,
    /// Rate tables in memory.
    pub(super) open_tables: f64,
    /// Rate tables completed.
    pub(super) settled: f64,
    /// Asks that ended.
    pub(super) asked: f64,
    /// Asks that ended with offers.
    pub(super) offered: f64,
    /// Room on the disk of the store, once it has been measured.
    pub(super) free_bytes: Option<f64>,
    /// Records that could not be read.
    pub(super) broken: f64,
    /// Reloads that changed nothing, because something was wrong.
    pub(super) reloads_refused: f64,
    /// When settings and partner files were last taken in, Unix seconds.
    pub(super) reloaded_at: Option<f64>,
}

/// The ring. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct History(Arc<Mutex<VecDeque<Reading>>>);

impl History {
    /// The readings of a span up to now, oldest first; never empty once the first has been taken.
    pub(super) fn last(&self, span: Duration) -> Vec<Reading> {
        let readings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = readings.back().map_or(0, |reading| reading.at);
        let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        // Half an interval, because timers are a little late.
        let oldest = newest - span - EVERY.as_millis() as i64 / 2;
        readings.iter().filter(|reading| reading.at >= oldest).cloned().collect()
    }

    fn add(&self, reading: Reading) {
        let mut readings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if readings.len() == READINGS {
            readings.pop_front();
        }
        readings.push_back(reading);
    }
}

/// Takes a reading every few seconds, for as long as it is awaited.
pub(in crate::admin) async fn watch(app: Arc<App>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let reader = Arc::clone(&app);
        // With many partners there is much to read.
        let reading = tokio::task::spawn_blocking(move || Reading::now(&Figures::parse(&reader.measured())));
        if let Ok(reading) = reading.await {
            app.console.history.add(reading);
        }
    }
}

impl Reading {
    fn now(figures: &Figures) -> Self {
        let public = |name, label: &str| -> f64 {
            ["api", "integrations"].iter().map(|listener| figures.sum(name, &[(label, listener)])).sum()
        };
        let submits =
            SUBMIT_ROUTES.map(|route| figures.distribution(HTTP_REQUEST_SECONDS, &[("route", route)]));
        Self {
            at: Utc::now().timestamp_millis(),
            requests: public(HTTP_REQUESTS, "listener"),
            refused: figures.sum(HTTP_REQUESTS_REFUSED, &[]) + figures.sum(SUBMITS_REFUSED, &[]),
            submits: submits.into_iter().fold(Distribution::default(), Distribution::and),
            polls: figures.distribution(HTTP_REQUEST_SECONDS, &[("route", POLL_ROUTE)]),
            commits: figures.distribution(STORE_COMMIT_SECONDS, &[]),
            queue: figures.gauge(STORE_QUEUE_DEPTH).unwrap_or_default(),
            open_tables: figures.gauge(LIVE_TABLES).unwrap_or_default(),
            settled: figures.sum(TABLES_SETTLED, &[]),
            asked: figures.sum(PARTNER_OUTCOMES, &[]),
            offered: figures.sum(PARTNER_OUTCOMES, &[("outcome", "offers")]),
            free_bytes: figures.gauge(STORE_FREE_BYTES),
            broken: figures.sum(STORE_BROKEN_RECORDS, &[]),
            reloads_refused: figures.sum(RELOADS, &[]) - figures.sum(RELOADS, &[("result", "ok")]),
            reloaded_at: figures.gauge(RELOADED_AT),
        }
    }

    /// What a growing figure grew by in a second, since an earlier reading; `None` where no time lies between them.
    pub(super) fn per_second(&self, earlier: &Self, figure: impl Fn(&Self) -> f64) -> Option<f64> {
        let seconds = (self.at - earlier.at) as f64 / 1000.0;
        (seconds > 0.0).then(|| (figure(self) - figure(earlier)).max(0.0) / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_is_bounded_and_tells_a_span() {
        let history = History::default();
        let every = EVERY.as_millis() as i64;
        for nth in 0..READINGS as i64 + 10 {
            history.add(Reading { at: nth * every, requests: nth as f64 * 10.0, ..Reading::default() });
        }
        assert_eq!(history.last(Duration::MAX).len(), READINGS);
        let minute = history.last(Duration::from_secs(60));
        assert_eq!(minute.len(), 13);
        assert_eq!(minute[12].per_second(&minute[0], |reading| reading.requests), Some(2.0));
        assert_eq!(minute[0].per_second(&minute[0], |reading| reading.requests), None);
    }
}
