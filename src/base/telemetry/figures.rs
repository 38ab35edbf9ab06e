//! A snapshot of the metrics, as values and as Prometheus text, so that pages and `/metrics` agree.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::RangeInclusive;

use metrics::Key;
use serde::{Deserialize, Serialize};

use super::metrics::{METRICS, Metric};

/// Every series, by metric name.
#[derive(Debug, Default)]
pub struct MetricsSnapshot(HashMap<String, Vec<Series>>);

#[derive(Debug)]
struct Series {
    labels: Vec<(String, String)>,
    value: f64,
    spread: Option<Distribution>,
}

/// A distribution: cumulative counts by upper bound, as in Prometheus.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The bound and count of each bucket, in ascending order; the last bound is infinite.
    pub(super) buckets: Vec<(f64, f64)>,
    pub(super) sum: f64,
}

impl MetricsSnapshot {
    pub(super) fn add(&mut self, key: &Key, value: f64, spread: Option<Distribution>) {
        let labels = key.labels().map(|label| (label.key().to_owned(), label.value().to_owned())).collect();
        self.0.entry(key.name().to_owned()).or_default().push(Series { labels, value, spread });
    }

    /// The Prometheus text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for Metric { name, kind, help, .. } in METRICS {
            let Some(all) = self.0.get(*name) else { continue };
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", kind.word());
            all.iter().for_each(|series| series.write(name, &mut text));
            text.push('\n');
        }
        text
    }

    /// The sum of the series of a metric with these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.of(name, labels).map(|series| series.value).sum()
    }

    /// The sum of the series with these labels and a `status` within bounds.
    pub fn answers(&self, name: &str, labels: &[(&str, &str)], statuses: &RangeInclusive<u16>) -> f64 {
        let status = |series: &&Series| series.label("status").and_then(|status| status.parse().ok());
        let within = |series: &&Series| status(series).is_some_and(|status| statuses.contains(&status));
        self.of(name, labels).filter(within).map(|series| series.value).sum()
    }

    /// The value of a gauge; `None` if it is unset.
    pub fn gauge(&self, name: &str) -> Option<f64> {
        self.of(name, &[]).map(|series| series.value).next()
    }

    /// The merged distribution of the series of a metric with these labels.
    pub fn distribution(&self, name: &str, labels: &[(&str, &str)]) -> Distribution {
        let spread = self.of(name, labels).filter_map(|series| series.spread.clone());
        spread.fold(Distribution::default(), Distribution::and)
    }

    /// Each series of a metric: its labels and value.
    pub fn each(&self, name: &str) -> impl Iterator<Item = (&[(String, String)], f64)> {
        self.of(name, &[]).map(|series| (series.labels.as_slice(), series.value))
    }

    fn of(&self, name: &str, labels: &[(&str, &str)]) -> impl Iterator<Item = &Series> {
        let series = self.0.get(name).map(Vec::as_slice).unwrap_or_default();
        series.iter().filter(move |one| labels.iter().all(|(label, value)| one.label(label) == Some(value)))
    }
}

impl Series {
    fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| value.as_str())
    }

    fn write(&self, name: &str, text: &mut String) {
        let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
        let labels = self.labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
        let labels: Vec<String> = labels.collect();
        let mut line = |part: &str, bound: Option<String>, value: f64| {
            let labels = labels.iter().chain(&bound).map(String::as_str).collect::<Vec<_>>().join(",");
            let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
            let _ = writeln!(text, "{name}{part}{labels} {value}");
        };
        let Some(spread) = &self.spread else { return line("", None, self.value) };
        for (bound, count) in &spread.buckets {
            let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
            line("_bucket", Some(format!("le=\"{bound}\"")), *count);
        }
        line("_sum", None, spread.sum);
        line("_count", None, spread.count());
    }
}

impl Distribution {
    /// The number of values.
    pub fn count(&self) -> f64 {
        self.buckets.last().map_or(0.0, |(_, count)| *count)
    }

    /// The number of values up to a bucket's bound.
    pub fn within(&self, bound: f64) -> f64 {
        self.buckets.iter().find(|(known, _)| *known == bound).map_or(0.0, |(_, count)| *count)
    }

    /// The merged distribution of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (bound, count) in other.buckets {
            match self.buckets.iter_mut().find(|(known, _)| *known == bound) {
                Some((_, known)) => *known += count,
                None => self.buckets.push((bound, count)),
            }
        }
        self.buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.sum += other.sum;
        self
    }

    /// The distribution of the values since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let buckets = self.buckets.iter();
        let buckets = buckets.map(|(bound, count)| (*bound, (count - earlier.within(*bound)).max(0.0)));
        Self { buckets: buckets.collect(), sum: (self.sum - earlier.sum).max(0.0) }
    }

    /// The quantile at `share`, interpolated within its bucket; `None` without values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = self.count() * share;
        if self.count() <= 0.0 {
            return None;
        }
        let (mut lower, mut below) = (0.0, 0.0);
        for (bound, count) in &self.buckets {
            if *count >= wanted && *count > below {
                // The last bucket is unbounded, so its lower bound is the answer.
                let within = if bound.is_finite() { bound - lower } else { 0.0 };
                return Some(lower + within * (wanted - below) / (count - below));
            }
            (lower, below) = (*bound, *count);
        }
        None
    }
}

#[cfg(any(test, feature = "test"))]
impl MetricsSnapshot {
    /// Parses counters and gauges in the text format, one per line.
    pub fn parse(text: &str) -> Self {
        let mut figures = Self::default();
        for (name, series) in text.lines().filter_map(series) {
            figures.0.entry(name.to_owned()).or_default().push(series);
        }
        figures
    }
}

#[cfg(any(test, feature = "test"))]
/// `name{label="value",…} number`.
fn series(line: &str) -> Option<(&str, Series)> {
    let (name, value) = line.rsplit_once(' ')?;
    let (name, labels) = name.trim_end_matches('}').split_once('{').unwrap_or((name, ""));
    let label = |label: &str| {
        let (label, value) = label.split_once('=')?;
        Some((label.to_owned(), value.trim_matches('"').to_owned()))
    };
    let labels = labels.split(',').filter_map(label).collect();
    Some((name, Series { labels, value: value.parse().ok()?, spread: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_summed_has_the_labels_that_are_asked_for() {
        let figures = MetricsSnapshot::parse(
            "asks{partner=\"a b\",outcome=\"offers\"} 3\nasks{partner=\"c\",outcome=\"offers\"} 4\n\
             asks{partner=\"c\",outcome=\"failed\"} 1\ndepth 7\n",
        );
        assert_eq!(figures.sum("asks", &[]), 8.0);
        assert_eq!(figures.sum("asks", &[("outcome", "offers")]), 7.0);
        assert_eq!(figures.sum("asks", &[("partner", "a b")]), 3.0);
        assert_eq!((figures.gauge("depth"), figures.gauge("width")), (Some(7.0), None));
    }
}
