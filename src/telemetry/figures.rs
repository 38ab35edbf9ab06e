//! The metrics as Prometheus reads them, read back: what a page shows is what `/metrics` says.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Every series of the metrics page, by the name of its metric.
#[derive(Debug, Default)]
pub struct Figures(HashMap<String, Vec<Series>>);

#[derive(Debug)]
struct Series {
    labels: Vec<(String, String)>,
    value: f64,
}

/// How a figure is spread: cumulative counts by upper bound, as Prometheus has them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Bound and count of each bucket, in the order of the bounds; the last bound is infinite.
    buckets: Vec<(f64, f64)>,
    /// Sum of all that was counted.
    sum: f64,
}

impl Figures {
    /// Reads the Prometheus text format. A line that cannot be read says nothing.
    pub fn parse(text: &str) -> Self {
        let mut figures = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some((name, series)) = series(line) {
                // Most names are known, and looking is cheaper than making a key.
                match figures.0.get_mut(name) {
                    Some(known) => known.push(series),
                    None => drop(figures.0.insert(name.to_owned(), vec![series])),
                }
            }
        }
        figures
    }

    /// The sum over all series of a metric that have these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.of(name, labels).map(|series| series.value).sum()
    }

    /// The sum over the series that have these labels, and a `status` within bounds.
    pub fn answers(&self, name: &str, labels: &[(&str, &str)], statuses: &RangeInclusive<u16>) -> f64 {
        let status = |series: &&Series| series.label("status").and_then(|status| status.parse().ok());
        let within = |series: &&Series| status(series).is_some_and(|status| statuses.contains(&status));
        self.of(name, labels).filter(within).map(|series| series.value).sum()
    }

    /// The value of a gauge; `None` while it has none.
    pub fn gauge(&self, name: &str) -> Option<f64> {
        self.of(name, &[]).map(|series| series.value).next()
    }

    /// The distribution of a metric over all series that have these labels.
    pub fn distribution(&self, name: &str, labels: &[(&str, &str)]) -> Distribution {
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for series in self.of(&format!("{name}_bucket"), labels) {
            let Some(bound) = series.label("le").and_then(|bound| bound.parse::<f64>().ok()) else {
                continue;
            };
            match buckets.iter_mut().find(|(known, _)| *known == bound) {
                Some((_, count)) => *count += series.value,
                None => buckets.push((bound, series.value)),
            }
        }
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        Distribution { buckets, sum: self.sum(&format!("{name}_sum"), labels) }
    }

    /// Each series of a metric: its labels, and its value.
    pub fn each(&self, name: &str) -> impl Iterator<Item = (&[(String, String)], f64)> {
        self.of(name, &[]).map(|series| (series.labels.as_slice(), series.value))
    }

    fn of(&self, name: &str, labels: &[(&str, &str)]) -> impl Iterator<Item = &Series> {
        let series = self.0.get(name).map(Vec::as_slice).unwrap_or_default();
        series
            .iter()
            .filter(move |series| labels.iter().all(|(label, value)| series.label(label) == Some(value)))
    }
}

impl Series {
    fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| value.as_str())
    }
}

impl Distribution {
    /// How much was counted.
    pub fn count(&self) -> f64 {
        self.buckets.last().map_or(0.0, |(_, count)| *count)
    }

    /// What was counted in one or the other.
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

    /// What was counted since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |bound: f64| {
            earlier.buckets.iter().find(|(known, _)| *known == bound).map_or(0.0, |(_, count)| *count)
        };
        let buckets = self.buckets.iter().map(|(bound, count)| (*bound, (count - before(*bound)).max(0.0)));
        Self { buckets: buckets.collect(), sum: (self.sum - earlier.sum).max(0.0) }
    }

    /// The value below which a share of what was counted lies, taken to be spread evenly within its bucket; `None` of nothing.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = self.count() * share;
        if self.count() <= 0.0 {
            return None;
        }
        let (mut lower, mut below) = (0.0, 0.0);
        for (bound, count) in &self.buckets {
            if *count >= wanted && *count > below {
                // Beyond the last bound nothing more is known.
                let within = if bound.is_finite() { bound - lower } else { 0.0 };
                return Some(lower + within * (wanted - below) / (count - below));
            }
            (lower, below) = (*bound, *count);
        }
        None
    }
}

/// `name{label="value",…} number`.
fn series(line: &str) -> Option<(&str, Series)> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let mut labels = Vec::new();
    let mut rest = rest.strip_prefix('{').unwrap_or(rest);
    while !rest.starts_with(['}', ' ']) {
        let (label, after) = rest.split_once("=\"")?;
        let (value, after) = quoted(after)?;
        labels.push((label.to_owned(), value));
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    let value = rest.trim_start_matches('}').trim().parse().ok()?;
    Some((name, Series { labels, value }))
}

/// A label's value up to its closing quote, and what comes after that.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# HELP asks How asks ended.
# TYPE asks counter
asks{partner="a \"b\"",outcome="offers"} 3
asks{partner="c",outcome="offers"} 4
asks{partner="c",outcome="failed"} 1
depth 7
took_bucket{route="x",le="0.1"} 50
took_bucket{route="x",le="1"} 100
took_bucket{route="x",le="+Inf"} 100
took_sum{route="x"} 20
"#;

    #[test]
    fn the_text_is_read_back() {
        let figures = Figures::parse(TEXT);
        assert_eq!(figures.sum("asks", &[]), 8.0);
        assert_eq!(figures.sum("asks", &[("outcome", "offers")]), 7.0);
        assert_eq!(figures.sum("asks", &[("partner", "a \"b\"")]), 3.0);
        assert_eq!((figures.gauge("depth"), figures.gauge("width")), (Some(7.0), None));
    }

    #[test]
    fn a_quantile_lies_within_its_bucket() {
        let took = Figures::parse(TEXT).distribution("took", &[("route", "x")]);
        assert_eq!(took.count(), 100.0);
        assert_eq!(took.quantile(0.5), Some(0.1));
        assert_eq!(took.quantile(0.25), Some(0.05));
        assert!(took.quantile(0.75).is_some_and(|value| (value - 0.55).abs() < 1e-9));
        assert_eq!(took.since(&took).quantile(0.5), None);
        assert_eq!(took.since(&Distribution::default()), took);
    }
}
