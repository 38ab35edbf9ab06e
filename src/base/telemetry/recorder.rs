//! The metrics recorder, which stores each metric's value for `/metrics`, the console and alerts.

use std::sync::{Arc, OnceLock};

use metrics::atomics::AtomicU64;
use metrics::{
    Counter, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Label, Metadata, Recorder, SharedString,
    Unit,
};
use metrics_util::registry::{Registry, Storage};

use super::figures::{Distribution, MetricsSnapshot};
use super::metrics::{LabelValues, METRICS, MetricKind};
use super::process;

/// Bucket bounds for durations, from a table look-up to the longest deadline.
const SECONDS: &[f64] =
    &[0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 15.0, 30.0];

const SIZES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// A recorder. Cheap to clone.
#[derive(Clone)]
pub struct MetricsRecorder(Arc<Registry<Key, MetricStorage>>);

impl Default for MetricsRecorder {
    fn default() -> Self {
        Self(Arc::new(Registry::new(MetricStorage)))
    }
}

impl MetricsRecorder {
    /// The current value of every metric.
    pub fn snapshot(&self) -> MetricsSnapshot {
        let mut figures = MetricsSnapshot::default();
        self.0.visit_counters(|key, count| figures.add(key, bits(count) as f64, None));
        self.0.visit_gauges(|key, level| figures.add(key, f64::from_bits(bits(level)), None));
        self.0.visit_histograms(|key, buckets| figures.add(key, 0.0, Some(buckets.distribution())));
        figures
    }
}

/// Ignores descriptions, since they are in [`METRICS`].
impl Recorder for MetricsRecorder {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.0.get_or_create_counter(key, |count| Counter::from_arc(Arc::clone(count)))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.0.get_or_create_gauge(key, |level| Gauge::from_arc(Arc::clone(level)))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.0.get_or_create_histogram(key, |buckets| Histogram::from_arc(Arc::clone(buckets)))
    }
}

/// Starts recording; a second call returns the same recorder.
pub fn install() -> MetricsRecorder {
    static RECORDER: OnceLock<MetricsRecorder> = OnceLock::new();
    let install = || {
        let handle = MetricsRecorder::default();
        // Fails only if a test has installed another recorder, which then records.
        let _ = metrics::set_global_recorder(handle.clone());
        let from_zero = METRICS.iter().filter(|metric| metric.is_from_zero);
        from_zero.for_each(|metric| begin(metric.name, metric.values, Vec::new()));
        process::begin();
        handle
    };
    RECORDER.get_or_init(install).clone()
}

fn begin(name: &'static str, labels: LabelValues, chosen: Vec<Label>) {
    match labels {
        [] => metrics::counter!(name, chosen).increment(0),
        [(label, values), others @ ..] => values.iter().for_each(|value| {
            let chosen = chosen.iter().cloned().chain([Label::from_static_parts(label, value)]).collect();
            begin(name, others, chosen);
        }),
    }
}

struct MetricStorage;

impl Storage<Key> for MetricStorage {
    type Counter = Arc<AtomicU64>;
    type Gauge = Arc<AtomicU64>;
    type Histogram = Arc<Buckets>;

    fn counter(&self, _: &Key) -> Self::Counter {
        Arc::default()
    }

    fn gauge(&self, _: &Key) -> Self::Gauge {
        Arc::default()
    }

    fn histogram(&self, key: &Key) -> Self::Histogram {
        let is_of_sizes =
            METRICS.iter().any(|metric| metric.name == key.name() && metric.kind == MetricKind::Sizes);
        let bounds = if is_of_sizes { SIZES } else { SECONDS };
        let counts = std::iter::repeat_with(AtomicU64::default).take(bounds.len() + 1).collect();
        Arc::new(Buckets { bounds, counts, sum: AtomicU64::default() })
    }
}

/// Counts per bucket, not cumulative; the last bucket is unbounded.
struct Buckets {
    bounds: &'static [f64],
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
}

impl HistogramFn for Buckets {
    fn record(&self, value: f64) {
        let nth = self.bounds.partition_point(|bound| *bound < value);
        self.counts[nth].fetch_add(1, std::sync::atomic::Ordering::Release);
        GaugeFn::increment(&self.sum, value);
    }
}

impl Buckets {
    fn distribution(&self) -> Distribution {
        let counts = self.counts.iter().scan(0, |below, count| {
            *below += bits(count);
            Some(*below as f64)
        });
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        Distribution { buckets: bounds.zip(counts).collect(), sum: f64::from_bits(bits(&self.sum)) }
    }
}

fn bits(cell: &AtomicU64) -> u64 {
    cell.load(std::sync::atomic::Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use metrics::{counter, gauge, histogram};
    use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

    use super::*;
    use crate::telemetry::metrics::{
        HTTP_REQUEST_SECONDS, HTTP_REQUESTS, NEW_WORK_LIMIT, STORE_GROUP_COMMITS, WIRE_IN_FLIGHT,
    };

    fn record() {
        for (route, status) in [("/a \"b\" \\ \n", "200"), ("/c", "200"), ("/c", "500")] {
            counter!(HTTP_REQUESTS, "listener" => "api", "route" => route, "status" => status).increment(3);
        }
        gauge!(NEW_WORK_LIMIT).set(f64::INFINITY);
        gauge!(WIRE_IN_FLIGHT, "pool" => "a", "endpoint" => "b").increment(2.5);
        gauge!(WIRE_IN_FLIGHT, "pool" => "a", "endpoint" => "b").decrement(3.0);
        for took in [0.0, 0.0001, 0.05, 30.0, 31.0] {
            histogram!(HTTP_REQUEST_SECONDS, "listener" => "api", "route" => "/c").record(took);
        }
        for commits in [0.0, 1.0, 3.0, 1000.0] {
            histogram!(STORE_GROUP_COMMITS).record(commits);
        }
        let _ = histogram!(HTTP_REQUEST_SECONDS, "listener" => "api", "route" => "/none");
    }

    /// The lines of a text without descriptions, sorted.
    fn lines(text: &str) -> Vec<&str> {
        let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("# HELP")).collect();
        lines.sort_unstable();
        lines
    }

    #[test]
    fn the_text_is_what_others_write() {
        let ours = MetricsRecorder::default();
        metrics::with_local_recorder(&ours, record);
        let buckets = |builder: PrometheusBuilder, name: &str, bounds| {
            builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), bounds).unwrap()
        };
        let builder = buckets(PrometheusBuilder::new(), HTTP_REQUEST_SECONDS, SECONDS);
        let theirs = buckets(builder, STORE_GROUP_COMMITS, SIZES).build_recorder();
        metrics::with_local_recorder(&theirs, record);
        let text = ours.snapshot().text();
        assert_eq!(lines(&text), lines(&theirs.handle().render()));
        assert!(text.contains("# HELP offerd_http_requests_total Requests answered.\n# TYPE "), "{text}");
    }

    #[test]
    fn a_quantile_lies_within_its_bucket() {
        let ours = MetricsRecorder::default();
        metrics::with_local_recorder(&ours, || {
            let took = histogram!(HTTP_REQUEST_SECONDS, "listener" => "api", "route" => "x");
            (0..50).for_each(|_| took.record(0.1));
            (0..50).for_each(|_| took.record(0.5));
        });
        let took = ours.snapshot().distribution(HTTP_REQUEST_SECONDS, &[("route", "x")]);
        assert_eq!((took.count(), took.within(0.1), took.within(0.3)), (100.0, 50.0, 50.0));
        assert_eq!(took.quantile(0.5), Some(0.1));
        assert!(took.quantile(0.25).is_some_and(|value| (value - 0.065).abs() < 1e-9));
        assert!(took.quantile(0.75).is_some_and(|value| (value - 0.45).abs() < 1e-9));
        assert_eq!(took.since(&took).quantile(0.5), None);
        assert_eq!(took.since(&Distribution::default()), took);
    }
}
