//! The retry budget: a percentage of all calls, plus a small constant rate for quiet endpoints. Without it, a
//! failing remote system would get the most load.

use tokio::time::Instant;

/// When calls may be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryRules {
    /// Maximum number of attempts per call; 1 disables retries.
    pub attempts: u8,
    /// Retries per hundred calls.
    pub percent: u8,
    /// Additional retries per minute.
    pub per_minute: u32,
    /// Maximum number of retries that accumulate; a new endpoint starts with as many.
    pub reserve: u32,
}

impl Default for RetryRules {
    fn default() -> Self {
        Self { attempts: 2, percent: 10, per_minute: 6, reserve: 10 }
    }
}

/// Cost of a retry, of which a call earns `percent * CALL` and a millisecond `per_minute * MILLISECOND`.
const RETRY: u64 = 6_000_000;
const CALL: u64 = RETRY / 100;
const MILLISECOND: u64 = RETRY / 60_000;

/// A token bucket, filled by calls and time, emptied by retries. Pure: the caller passes the time.
#[derive(Debug, Clone)]
pub struct RetryBudget {
    rules: RetryRules,
    units: u64,
    filled_at: Option<Instant>,
}

impl RetryBudget {
    /// Creates a full budget.
    pub fn new(rules: RetryRules) -> Self {
        Self { rules, units: u64::from(rules.reserve) * RETRY, filled_at: None }
    }

    /// Credits a call.
    pub fn call(&mut self) {
        self.fill(u64::from(self.rules.percent) * CALL);
    }

    /// Withdraws a retry, if the budget allows.
    pub fn withdraw(&mut self, now: Instant) -> bool {
        let since = self.filled_at.replace(now).unwrap_or(now);
        let passed = now.saturating_duration_since(since).as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        self.fill(passed.saturating_mul(u64::from(self.rules.per_minute) * MILLISECOND));
        let enough = self.units >= RETRY;
        if enough {
            self.units -= RETRY;
        }
        enough
    }

    fn fill(&mut self, units: u64) {
        let full = u64::from(self.rules.reserve) * RETRY;
        self.units = self.units.saturating_add(units).min(full);
    }
}
