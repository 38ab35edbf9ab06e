//! What other timeouts would have made of a seat's last asks.

use std::time::Duration;

use serde::Serialize;

use crate::matching::ask_statistics::AskTally;

/// The timeouts that are looked at, in percent of the one there is.
const PERCENT: [u32; 6] = [25, 50, 75, 100, 150, 200];

/// What another timeout would have made of the asks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct OtherTimeout {
    /// The timeout, seconds.
    pub(super) timeout: f64,
    /// In percent of the one there is.
    pub(super) percent: u32,
    /// Answers with offers that took longer, which it would have lost.
    pub(super) lost: u64,
    /// Answers that came within it, too late for the one there is, of those that were watched for: more than all that timed out it
    /// could not have won.
    pub(super) came: usize,
}

/// How long late answers took in all; nothing of one that was watched for in vain.
pub(super) type Late = [Option<Duration>];

/// What other timeouts would have made of a seat's asks; `timeout` is the one there is.
pub(super) fn other_timeouts(tally: &AskTally, late: &Late, timeout: Duration) -> Vec<OtherTimeout> {
    let other = |percent: u32| {
        let other = timeout * percent / 100;
        let lost = if percent < 100 { tally.lost_by(other) } else { 0 };
        let came = late.iter().flatten().filter(|took| percent > 100 && **took <= other).count();
        OtherTimeout { timeout: other.as_secs_f64(), percent, lost, came }
    };
    PERCENT.map(other).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::ask_statistics::{End, EndedAsk};

    #[test]
    fn other_timeouts_lose_and_win() {
        let ask = |elapsed_us, end| EndedAsk { elapsed_us, end, test: false };
        let offered = (1..=100).map(|nth| ask(nth * 10_000, End::Offered));
        let tally: AskTally = offered.chain([ask(1_000_000, End::TimedOut)]).collect();
        let late = [Some(Duration::from_millis(1400)), None, Some(Duration::from_millis(1900))];
        let others = other_timeouts(&tally, &late, Duration::from_secs(1));
        let told: Vec<(u32, u64, usize)> =
            others.iter().map(|other| (other.percent, other.lost, other.came)).collect();
        assert_eq!(told, [(25, 75, 0), (50, 50, 0), (75, 25, 0), (100, 0, 0), (150, 0, 1), (200, 0, 2)]);
    }
}
