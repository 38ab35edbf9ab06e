//! The estimated effect of other timeouts on offers and on waiting time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::millis;
use super::waits::{Waits, micros};
use offerd_engine::matching::ask_statistics::survival::{Estimated, Survival};

/// The timeouts to estimate, in percent of the present one.
const PERCENT: [u32; 6] = [25, 50, 75, 100, 150, 200];

/// A candidate timeout, or the present one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherTimeout {
    /// The timeout in milliseconds.
    pub timeout_ms: u64,
    /// In percent of the present one.
    pub percent: u32,
    /// The share of asks that would end with offers; `None` if no ask was watched for that long.
    pub offers: Option<Estimated>,
    /// The offers relative to the present timeout: 0.9 loses a tenth, 1.1 wins one.
    pub against_now: Option<Estimated>,
    /// The median time to completion of the rate tables that ask the seat, in milliseconds.
    pub tables_p50_ms: Option<u64>,
    /// The 95th percentile.
    pub tables_p95_ms: Option<u64>,
}

impl OtherTimeout {
    /// The share of asks that would end with offers, in words, with its interval.
    pub fn offers_summary(&self) -> String {
        let told = |Estimated { share, low, high }| {
            format!("{:.1} % ({:.1} to {:.1})", share * 100.0, low * 100.0, high * 100.0)
        };
        self.offers.map_or("not seen".to_owned(), told)
    }

    /// The relative change in offers, in words, with its interval.
    pub fn change_summary(&self) -> String {
        let signed = |share: f64| {
            let percent = (share - 1.0) * 100.0;
            let sign = match percent {
                0.05.. => "+",
                ..=-0.05 => "−",
                _ => "",
            };
            format!("{sign}{:.1}", percent.abs())
        };
        match self.against_now {
            _ if self.percent == 100 => "as it is".to_owned(),
            None if self.offers.is_some() => "none today".to_owned(),
            None => "not seen".to_owned(),
            Some(Estimated { share, low, high }) => {
                format!("{} % ({} to {})", signed(share), signed(low), signed(high))
            }
        }
    }
}

/// Estimates other timeouts for a seat, now at `now`; none exceeds the `deadline` of a rate table.
pub(super) fn other_timeouts(
    survival: &Survival,
    waits: &Waits,
    now: Duration,
    deadline: Duration,
) -> Vec<OtherTimeout> {
    let now_ms = millis(now);
    let other = |(timeout_ms, percent)| {
        let within = micros(timeout_ms);
        OtherTimeout {
            timeout_ms,
            percent,
            offers: survival.offered(within),
            against_now: survival.offers_against(within, micros(now_ms)),
            tables_p50_ms: waits.within(0.5, timeout_ms, survival),
            tables_p95_ms: waits.within(0.95, timeout_ms, survival),
        }
    };
    candidates(now_ms, millis(deadline)).into_iter().map(other).collect()
}

fn candidates(now: u64, deadline: u64) -> Vec<(u64, u32)> {
    let longest = deadline.max(now);
    let all = PERCENT.map(|percent| (now * u64::from(percent) / 100).min(longest));
    let percent = |timeout: u64| (timeout as f64 * 100.0 / now.max(1) as f64).round() as u32;
    let mut all: Vec<(u64, u32)> = all.into_iter().map(|timeout| (timeout, percent(timeout))).collect();
    all.dedup_by_key(|(timeout, _)| *timeout);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_timeout_is_looked_at_that_is_longer_than_a_table_may_take() {
        assert_eq!(
            candidates(10_000, 12_000),
            [(2500, 25), (5000, 50), (7500, 75), (10_000, 100), (12_000, 120)]
        );
        assert_eq!(candidates(10_000, 8_000).last(), Some(&(10_000, 100)), "the one there is always is");
        assert_eq!(candidates(1_000, 15_000).len(), 6);
    }
}
