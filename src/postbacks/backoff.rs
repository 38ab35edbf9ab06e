//! When what failed is tried again: three times as late each time, up to a longest wait, a fifth more or less.

use std::time::Duration;

use crate::config::PostbackSettings;

/// By how much a wait grows with each attempt.
const GROWTH: u32 = 3;

/// The wait after so many attempts, of which the last has failed; `drawn`, from 0 to 1, spreads those that failed together. A receiver that
/// says how long to wait is heeded, up to the longest wait.
pub(super) fn wait(
    settings: &PostbackSettings,
    attempts: u32,
    retry_after: Option<Duration>,
    drawn: f64,
) -> Duration {
    let grown = GROWTH.saturating_pow(attempts.saturating_sub(1));
    let longest = settings.longest_backoff;
    let wait = settings.first_backoff.saturating_mul(grown).min(longest);
    let spread = wait.mul_f64(0.8 + 0.4 * drawn);
    spread.max(retry_after.unwrap_or_default()).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn waits_grow_to_the_longest_and_heed_the_receiver() {
        let settings = Settings::from_layers(None, []).unwrap().postbacks;
        let after = |attempts| wait(&settings, attempts, None, 0.5).as_secs();
        assert_eq!([1, 2, 3, 4].map(after), [5, 15, 45, 135]);
        assert_eq!(after(30), settings.longest_backoff.as_secs());
        let told = |seconds| wait(&settings, 1, Some(Duration::from_secs(seconds)), 0.5).as_secs();
        assert_eq!((told(2), told(60)), (5, 60));
        assert_eq!(told(1_000_000), settings.longest_backoff.as_secs());
        assert_eq!(wait(&settings, 1, None, 0.0), settings.first_backoff.mul_f64(0.8));
    }
}
