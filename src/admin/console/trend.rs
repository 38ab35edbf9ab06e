//! Trends of figures: a limited number of points, each with its age in minutes, ready to draw.

use super::history::MetricsReading;
use offerd_base::telemetry::figures::Distribution;

/// A point of a line: minutes before now (negative), and the value, if known.
pub(super) type Point = (f64, Option<f64>);

pub(super) type ReadingFigure = fn(&MetricsReading) -> f64;
pub(super) type ReadingTimes = fn(&MetricsReading) -> &Distribution;

pub(super) fn rate(readings: &[MetricsReading], points: usize, figure: ReadingFigure) -> Vec<Point> {
    between(readings, points, |before, after| after.per_second(before, figure))
}

pub(super) fn level(readings: &[MetricsReading], points: usize, figure: ReadingFigure) -> Vec<Point> {
    between(readings, points, |_, after| Some(figure(after)))
}

pub(super) fn p99(readings: &[MetricsReading], points: usize, times: ReadingTimes) -> Vec<Point> {
    between(readings, points, |before, after| times(after).since(times(before)).quantile(0.99))
}

/// One point per pair of consecutive readings, spaced so that there are at most `points`.
fn between(
    readings: &[MetricsReading],
    points: usize,
    tell: impl Fn(&MetricsReading, &MetricsReading) -> Option<f64>,
) -> Vec<Point> {
    let (Some(first), Some(now)) = (readings.first(), readings.last()) else { return Vec::new() };
    let step = (now.at - first.at).cast_unsigned().div_ceil(points.max(1) as u64).cast_signed();
    // Chosen from the end, so that the last point is current.
    let mut ends: Vec<&MetricsReading> = Vec::new();
    for reading in readings.iter().rev() {
        if ends.last().is_none_or(|last| last.at - reading.at >= step) {
            ends.push(reading);
        }
    }
    ends.reverse();
    // Counters restart with the process; the difference across a restart is unknown.
    let told = |pair: &[&MetricsReading]| match pair[0].process == pair[1].process {
        true => tell(pair[0], pair[1]),
        false => None,
    };
    let point = |pair: &[&MetricsReading]| ((pair[1].at - now.at) as f64 / 60_000.0, told(pair));
    ends.windows(2).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_breaks_where_another_process_begins() {
        let of =
            |process, at, requests| MetricsReading { process, at, requests, ..MetricsReading::default() };
        let readings = [of(1, 0, 0.0), of(1, 60_000, 60.0), of(2, 120_000, 0.0), of(2, 180_000, 120.0)];
        let points = rate(&readings, 90, |reading| reading.requests);
        assert_eq!(points, [(-2.0, Some(1.0)), (-1.0, None), (0.0, Some(2.0))]);
    }

    #[test]
    fn there_are_no_more_points_than_wanted_and_the_last_is_of_now() {
        let reading = |nth: i64| MetricsReading {
            at: nth * 5_000,
            requests: nth as f64 * 10.0,
            ..MetricsReading::default()
        };
        let readings: Vec<MetricsReading> = (0..=720).map(reading).collect();
        let points = rate(&readings, 90, |reading| reading.requests);
        assert_eq!(points.len(), 90);
        assert_eq!(points.last(), Some(&(0.0, Some(2.0))));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(rate(&readings[..1], 90, |reading| reading.requests).is_empty());
        assert_eq!(level(&readings[..2], 90, |reading| reading.requests), [(0.0, Some(10.0))]);
    }
}
