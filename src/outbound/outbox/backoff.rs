//! Exponential backoff: each wait is three times the previous one, up to a maximum, with a jitter of a fifth.

use std::time::Duration;

const GROWTH: u32 = 3;

/// The first wait, and the longest.
#[derive(Debug, Clone, Copy)]
pub struct Backoff(pub Duration, pub Duration);

impl Backoff {
    /// The time of the next attempt in Unix milliseconds. Honours `retry_after`, up to the longest wait.
    pub fn next_ms(self, now_ms: i64, attempts: u32, retry_after: Option<Duration>) -> i64 {
        let wait = self.wait(attempts, retry_after, fastrand::f64());
        now_ms.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
    }

    /// `drawn`, from 0 to 1, spreads attempts that failed together.
    fn wait(self, attempts: u32, retry_after: Option<Duration>, drawn: f64) -> Duration {
        let Self(first, longest) = self;
        let grown = GROWTH.saturating_pow(attempts.saturating_sub(1));
        let wait = first.saturating_mul(grown).min(longest);
        let spread = wait.mul_f64(0.8 + 0.4 * drawn);
        spread.max(retry_after.unwrap_or_default()).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_base::config::Settings;

    #[test]
    fn waits_grow_to_the_longest_and_heed_the_receiver() {
        let settings = Settings::from_layers(None, []).unwrap().postbacks;
        let backoff = Backoff(settings.first_backoff, settings.longest_backoff);
        let after = |attempts| backoff.wait(attempts, None, 0.5).as_secs();
        assert_eq!([1, 2, 3, 4].map(after), [5, 15, 45, 135]);
        assert_eq!(after(30), settings.longest_backoff.as_secs());
        let told = |seconds| backoff.wait(1, Some(Duration::from_secs(seconds)), 0.5).as_secs();
        assert_eq!((told(2), told(60)), (5, 60));
        assert_eq!(told(1_000_000), settings.longest_backoff.as_secs());
        assert_eq!(backoff.wait(1, None, 0.0), settings.first_backoff.mul_f64(0.8));
    }
}
