//! The last hour of the figures on the console's pages. One reading per minute is also [kept](kept_history).

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::super::AdminState;
use super::kept_history;
use super::today::Today;
use offerd_base::telemetry::figures::{Distribution, MetricsSnapshot};
use offerd_base::telemetry::metrics::{
    HTTP_REQUEST_SECONDS, HTTP_REQUESTS, HTTP_REQUESTS_REFUSED, PARTNER_OUTCOMES, PENDING_TABLES,
    RELOADED_AT, RELOADS, STORE_BROKEN_RECORDS, STORE_COMMIT_SECONDS, STORE_FREE_BYTES, STORE_QUEUE_DEPTH,
    SUBMITS_REFUSED, TABLES_SETTLED,
};

pub(super) const EVERY: Duration = Duration::from_secs(5);

/// Readings in the ring: one hour.
pub(super) const READINGS: usize = 721;

const PUBLIC_LISTENERS: [&str; 2] = ["api", "integrations"];

const SUBMIT_ROUTES: [&str; 3] =
    ["/leads/rateTables", "/leads/{leadUuid}/rateTables", "/blocking/leads/rateTables"];

const POLL_ROUTE: &str = "/originator/rateTables/{uuid}";

/// The metrics at one time. Counters are kept as they are, so that any two readings yield a difference.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct MetricsReading {
    pub(super) at: i64,
    /// Id of the process, whose counters started at 0.
    pub(super) process: u64,
    /// Requests answered on the public listeners.
    pub(super) requests: f64,
    pub(super) faulty: f64,
    pub(super) failed: f64,
    /// Leads answered with a rate table.
    pub(super) leads: f64,
    pub(super) refused: f64,
    /// Durations of submits, including refused ones: the metric does not separate them.
    pub(super) submits: Distribution,
    /// Durations of polls, including refused ones.
    pub(super) polls: Distribution,
    pub(super) commits: Distribution,
    pub(super) queue: f64,
    pub(super) open_tables: f64,
    pub(super) settled: f64,
    pub(super) asked: f64,
    pub(super) offered: f64,
    /// Free bytes on the store's disk, once measured.
    pub(super) free_bytes: Option<f64>,
    pub(super) broken: f64,
    pub(super) reloads_refused: f64,
    pub(super) refused_last: bool,
    /// Time of the last successful load of settings and partner files, Unix seconds.
    pub(super) reloaded_at: Option<f64>,
    /// Totals of the day so far, in the first reading of a minute.
    pub(super) today: Option<Today>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct History(Arc<Mutex<VecDeque<MetricsReading>>>);

impl History {
    /// The readings of the last `span`, oldest first; never empty after the first reading.
    pub(super) fn last(&self, span: Duration) -> Vec<MetricsReading> {
        let readings = self.0.lock();
        let newest = readings.back().map_or(0, |reading| reading.at);
        let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        // Half an interval of tolerance, since timers fire a little late.
        let oldest = newest - span - EVERY.as_millis() as i64 / 2;
        readings.iter().filter(|reading| reading.at >= oldest).cloned().collect()
    }

    pub(super) fn lately(&self, span: Duration) -> Vec<MetricsReading> {
        let mut readings = self.last(span);
        let newest = readings.last().map_or(0, |reading| reading.process);
        readings.retain(|reading| reading.process == newest);
        readings
    }

    pub(super) fn recall(&self, kept: Vec<MetricsReading>) {
        let mut readings = self.0.lock();
        let first = readings.front().map_or(i64::MAX, |reading| reading.at);
        let surplus = (kept.len() + readings.len()).saturating_sub(READINGS);
        for reading in kept.into_iter().skip(surplus).rev().filter(|reading| reading.at < first) {
            readings.push_front(reading);
        }
    }

    fn add(&self, mut reading: MetricsReading) {
        let mut readings = self.0.lock();
        // Two readings may run concurrently; the one that began later is more recent. A clock that was set
        // back restarts the ring.
        match readings.back().map(|last| last.at - reading.at) {
            Some(ahead) if ahead > EVERY.as_millis() as i64 => readings.clear(),
            Some(1..) => return,
            _ => {}
        }
        reading.refused_last = match readings.back() {
            Some(before) if reading.reloads_refused > before.reloads_refused => true,
            // The start counts as an accepted reload.
            Some(before) if reading.reloaded_at == before.reloaded_at => before.refused_last,
            Some(_) => false,
            None => reading.reloads_refused > 0.0,
        };
        if readings.len() == READINGS {
            readings.pop_front();
        }
        readings.push_back(reading);
    }
}

pub(crate) async fn read(app: &Arc<AdminState>) {
    // With many partners there are many metrics to read.
    if let Ok(reading) = app.reading("the metrics could not be read", MetricsReading::of).await {
        app.console.history.add(reading);
    }
}

pub(crate) async fn watch(app: Arc<AdminState>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut kept = kept_history::begin(&app).await;
    loop {
        ticks.tick().await;
        read(&app).await;
        kept.keep(&app).await;
    }
}

impl MetricsReading {
    pub(super) fn of(app: &AdminState) -> Self {
        // Taken first: events during the read may be missing from it.
        Self {
            process: app.console.process,
            ..Self::from_metrics(Utc::now().timestamp_millis(), &app.measured())
        }
    }

    fn from_metrics(at: i64, figures: &MetricsSnapshot) -> Self {
        let answers = |statuses: RangeInclusive<u16>| -> f64 {
            let of = |listener| figures.answers(HTTP_REQUESTS, &[("listener", listener)], &statuses);
            PUBLIC_LISTENERS.map(of).iter().sum()
        };
        let leads = SUBMIT_ROUTES.map(|it| figures.answers(HTTP_REQUESTS, &[("route", it)], &(200..=200)));
        let submits = SUBMIT_ROUTES.map(|it| figures.distribution(HTTP_REQUEST_SECONDS, &[("route", it)]));
        Self {
            at,
            requests: answers(0..=u16::MAX),
            faulty: answers(400..=499),
            failed: answers(500..=u16::MAX),
            leads: leads.iter().sum(),
            refused: figures.sum(HTTP_REQUESTS_REFUSED, &[]) + figures.sum(SUBMITS_REFUSED, &[]),
            submits: submits.into_iter().fold(Distribution::default(), Distribution::and),
            polls: figures.distribution(HTTP_REQUEST_SECONDS, &[("route", POLL_ROUTE)]),
            commits: figures.distribution(STORE_COMMIT_SECONDS, &[]),
            queue: figures.gauge(STORE_QUEUE_DEPTH).unwrap_or_default(),
            open_tables: figures.gauge(PENDING_TABLES).unwrap_or_default(),
            settled: figures.sum(TABLES_SETTLED, &[]),
            asked: figures.sum(PARTNER_OUTCOMES, &[]),
            offered: figures.sum(PARTNER_OUTCOMES, &[("outcome", "offers")]),
            free_bytes: figures.gauge(STORE_FREE_BYTES),
            broken: figures.sum(STORE_BROKEN_RECORDS, &[]),
            reloads_refused: figures.sum(RELOADS, &[]) - figures.sum(RELOADS, &[("result", "ok")]),
            reloaded_at: figures.gauge(RELOADED_AT),
            ..Self::default()
        }
    }

    pub(super) fn per_second(&self, earlier: &Self, figure: impl Fn(&Self) -> f64) -> Option<f64> {
        let seconds = (self.at - earlier.at) as f64 / 1000.0;
        (seconds > 0.0).then(|| (figure(self) - figure(earlier)).max(0.0) / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_no_lead_and_answers_are_told_by_their_class() {
        let text = r#"
offerd_http_requests_total{listener="api",route="/leads/rateTables",status="200"} 7
offerd_http_requests_total{listener="api",route="/leads/rateTables",status="204"} 100
offerd_http_requests_total{listener="api",route="/leads/rateTables",status="401"} 20
offerd_http_requests_total{listener="integrations",route="/blocking/leads/rateTables",status="200"} 3
offerd_http_requests_total{listener="integrations",route="unknown",status="404"} 1
offerd_http_requests_total{listener="api",route="/leads/rateTables",status="503"} 5
offerd_http_requests_total{listener="admin",route="/console",status="500"} 9
"#;
        let reading = MetricsReading::from_metrics(0, &MetricsSnapshot::parse(text));
        assert_eq!((reading.leads, reading.requests), (10.0, 136.0));
        assert_eq!(
            (reading.faulty, reading.failed),
            (21.0, 5.0),
            "those of the admin listener are not among them"
        );
    }

    #[test]
    fn a_reload_was_refused_until_another_is_taken_in() {
        let history = History::default();
        let told = |reloads_refused, at| {
            history.add(MetricsReading {
                reloads_refused,
                reloaded_at: Some(at),
                ..MetricsReading::default()
            });
            history.last(Duration::ZERO).pop().unwrap().refused_last
        };
        assert!(!told(0.0, 1.0) && told(1.0, 1.0) && told(1.0, 1.0));
        assert!(!told(1.0, 2.0) && !told(1.0, 2.0), "one that was refused before is no matter");
        assert!(told(2.0, 2.0));
    }

    #[test]
    fn what_a_process_before_has_kept_comes_first_and_is_of_another_process() {
        let history = History::default();
        let of = |process, at| MetricsReading { process, at, ..MetricsReading::default() };
        history.add(of(2, 60_000));
        history.recall(vec![of(1, 0), of(1, 30_000), of(1, 90_000)]);
        history.add(of(2, 65_000));
        let at =
            |readings: Vec<MetricsReading>| readings.iter().map(|reading| reading.at).collect::<Vec<_>>();
        assert_eq!(at(history.last(Duration::MAX)), [0, 30_000, 60_000, 65_000]);
        assert_eq!(at(history.lately(Duration::MAX)), [60_000, 65_000]);
    }

    #[test]
    fn the_ring_is_bounded_and_tells_a_span() {
        let history = History::default();
        let every = EVERY.as_millis() as i64;
        for nth in 0..READINGS as i64 + 10 {
            history.add(MetricsReading {
                at: nth * every,
                requests: nth as f64 * 10.0,
                ..MetricsReading::default()
            });
        }
        assert_eq!(history.last(Duration::MAX).len(), READINGS);
        let minute = history.last(Duration::from_secs(60));
        assert_eq!(minute.len(), 13);
        assert_eq!(minute[12].per_second(&minute[0], |reading| reading.requests), Some(2.0));
        assert_eq!(minute[0].per_second(&minute[0], |reading| reading.requests), None);
    }
}
