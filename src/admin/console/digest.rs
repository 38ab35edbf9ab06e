//! A seat's conduct in figures: what of its asks came to what, how long it took, and what other timeouts would have made of it.

use std::time::Duration;

use serde::Serialize;

use crate::matching::conduct::{Ask, Conduct, End};

/// The timeouts that are looked at, in percent of the one there is.
const PERCENT: [u32; 6] = [25, 50, 75, 100, 150, 200];

/// What the last asks of one seat or of several came to.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Digest {
    /// Asks that have ended.
    pub(super) asked: usize,
    /// Those that were answered in time.
    pub(super) answered: usize,
    /// Those that were answered with offers.
    pub(super) offered: usize,
    /// Those that failed.
    pub(super) failed: usize,
    /// Those that ran out of time.
    pub(super) timed_out: usize,
    /// Answers that came after that.
    pub(super) late: usize,
    /// Share of the asks that were answered.
    pub(super) answer_rate: Option<f64>,
    /// Share of the answers that held offers.
    pub(super) offer_rate: Option<f64>,
    /// Seconds within which half of the answers came.
    pub(super) p50: Option<f64>,
    /// Seconds within which 95 of a hundred came.
    pub(super) p95: Option<f64>,
    /// Seconds within which 99 of a hundred came.
    pub(super) p99: Option<f64>,
}

/// What another timeout would have made of the asks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Other {
    /// The timeout, seconds.
    pub(super) timeout: f64,
    /// In percent of the one there is.
    pub(super) percent: u32,
    /// Answers with offers that took longer, which it would have lost.
    pub(super) lost: usize,
    /// Answers that came within it, too late for the one there is, of those that were watched for.
    pub(super) came: usize,
    /// Asks that ran out of time and whose answer was watched for.
    pub(super) watched: usize,
    /// Asks that ran out of time: more than these it could not have won.
    pub(super) timed_out: usize,
}

/// How long late answers took in all; nothing of one that was watched for in vain.
pub(super) type Late = [Option<Duration>];

impl Digest {
    /// What the asks of these came to.
    pub(super) fn of<'c>(conducts: impl IntoIterator<Item = &'c Conduct>) -> Self {
        let asks: Vec<Ask> = conducts.into_iter().flat_map(|conduct| conduct.asks.iter().copied()).collect();
        let count = |end: End| asks.iter().filter(|ask| ask.end == end).count();
        let (offered, declined) = (count(End::Offered), count(End::Declined));
        let (failed, timed_out) = (count(End::Failed), count(End::TimedOut));
        let answered = offered + declined;
        let asked = answered + failed + timed_out;
        let in_time = asks.iter().filter(|ask| matches!(ask.end, End::Offered | End::Declined));
        let mut times: Vec<u32> = in_time.map(|ask| ask.elapsed_us).collect();
        times.sort_unstable();
        Self {
            asked,
            answered,
            offered,
            failed,
            timed_out,
            late: count(End::Late),
            answer_rate: share(answered, asked),
            offer_rate: share(offered, answered),
            p50: quantile(&times, 0.50),
            p95: quantile(&times, 0.95),
            p99: quantile(&times, 0.99),
        }
    }
}

/// What other timeouts would have made of a seat's asks; `timeout` is the one there is, in seconds.
pub(super) fn others(conduct: &Conduct, late: &Late, timeout: f64) -> Vec<Other> {
    let timed_out = conduct.asks.iter().filter(|ask| ask.end == End::TimedOut).count();
    let of = |percent: u32| {
        let other = timeout * f64::from(percent) / 100.0;
        let offered = conduct.asks.iter().filter(|ask| ask.end == End::Offered);
        let (shorter, longer) = (percent < 100, percent > 100);
        let lost = offered.filter(|ask| shorter && f64::from(ask.elapsed_us) / 1e6 > other).count();
        let came = late.iter().flatten().filter(|took| longer && took.as_secs_f64() <= other).count();
        Other { timeout: other, percent, lost, came, watched: late.len(), timed_out }
    };
    PERCENT.into_iter().map(of).collect()
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The time, in seconds, within which a share of sorted times lies.
fn quantile(times: &[u32], share: f64) -> Option<f64> {
    let nth = (times.len() as f64 * share).ceil() as usize;
    times.get(nth.saturating_sub(1)).map(|micros| f64::from(*micros) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conduct() -> Conduct {
        let ask = |elapsed_us, end| Ask { elapsed_us, end };
        let mut conduct = Conduct::default();
        conduct.asks.extend((1..=100).map(|nth| ask(nth * 10_000, End::Offered)));
        conduct.asks.extend([ask(5_000, End::Declined), ask(20, End::Failed), ask(1_000_000, End::TimedOut)]);
        conduct.asks.extend([ask(1_000_000, End::TimedOut), ask(1_400_000, End::Late)]);
        conduct
    }

    #[test]
    fn a_late_answer_is_no_other_ask() {
        let digest = Digest::of([&conduct()]);
        assert_eq!((digest.asked, digest.answered, digest.offered), (104, 101, 100));
        assert_eq!((digest.failed, digest.timed_out, digest.late), (1, 2, 1));
        assert_eq!((digest.p50, digest.p95), (Some(0.5), Some(0.95)));
        assert_eq!(Digest::of([]).answer_rate, None);
    }

    #[test]
    fn other_timeouts_lose_and_win() {
        let late = [Some(Duration::from_millis(1400)), None, Some(Duration::from_millis(1900))];
        let others = others(&conduct(), &late, 1.0);
        let told: Vec<(u32, usize, usize)> =
            others.iter().map(|other| (other.percent, other.lost, other.came)).collect();
        assert_eq!(told, [(25, 75, 0), (50, 50, 0), (75, 25, 0), (100, 0, 0), (150, 0, 1), (200, 0, 2)]);
        assert!(others.iter().all(|other| other.watched == 3 && other.timed_out == 2));
    }
}
