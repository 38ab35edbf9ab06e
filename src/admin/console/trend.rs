//! How figures went over the readings of a span: so many points at most, each with the minutes that it lies back, as what is
//! drawn needs it.

use super::history::Reading;
use crate::telemetry::figures::Distribution;

/// A point of a line: minutes before now (negative), and the value, where there is one.
pub(super) type Point = (f64, Option<f64>);

/// What a growing figure grew by in a second.
pub(super) fn rate(readings: &[Reading], points: usize, figure: impl Fn(&Reading) -> f64) -> Vec<Point> {
    between(readings, points, |before, after| after.per_second(before, &figure))
}

/// A figure as it stood.
pub(super) fn level(readings: &[Reading], points: usize, figure: impl Fn(&Reading) -> f64) -> Vec<Point> {
    between(readings, points, |_, after| Some(figure(after)))
}

/// The value below which a share of what was counted lies.
pub(super) fn quantile(
    readings: &[Reading],
    points: usize,
    share: f64,
    figure: impl Fn(&Reading) -> &Distribution,
) -> Vec<Point> {
    between(readings, points, |before, after| figure(after).since(figure(before)).quantile(share))
}

/// A point for each pair of readings, one behind the other, so far apart that there are no more than `points` of them.
fn between(
    readings: &[Reading],
    points: usize,
    tell: impl Fn(&Reading, &Reading) -> Option<f64>,
) -> Vec<Point> {
    let Some(now) = readings.last().map(|reading| reading.at) else { return Vec::new() };
    let step = readings.len().saturating_sub(1).div_ceil(points).max(1);
    // Counted from the end, so that the last point is of now.
    let mut ends: Vec<&Reading> = readings.iter().rev().step_by(step).collect();
    ends.reverse();
    let point = |pair: &[&Reading]| ((pair[1].at - now) as f64 / 60_000.0, tell(pair[0], pair[1]));
    ends.windows(2).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_points_than_wanted_and_the_last_is_of_now() {
        let reading =
            |nth: i64| Reading { at: nth * 5_000, requests: nth as f64 * 10.0, ..Reading::default() };
        let readings: Vec<Reading> = (0..=720).map(reading).collect();
        let points = rate(&readings, 90, |reading| reading.requests);
        assert_eq!(points.len(), 90);
        assert_eq!(points.last(), Some(&(0.0, Some(2.0))));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(rate(&readings[..1], 90, |reading| reading.requests).is_empty());
        assert_eq!(level(&readings[..2], 90, |reading| reading.requests), [(0.0, Some(10.0))]);
    }
}
