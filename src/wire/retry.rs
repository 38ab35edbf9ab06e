//! How often calls may be sent again: a share of all calls, and a little even when calls are few.
//!
//! Without such a budget a far side that fails is sent the most when it can bear the least.

use tokio::time::Instant;

/// When calls may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryRules {
    /// How often one call is sent at most; 1 is never again.
    pub attempts: u8,
    /// Retries per hundred calls.
    pub percent: u8,
    /// Retries per minute beside them.
    pub per_minute: u32,
    /// Retries that may be saved up; a new endpoint starts with as many.
    pub reserve: u32,
}

impl Default for RetryRules {
    fn default() -> Self {
        Self { attempts: 2, percent: 10, per_minute: 6, reserve: 10 }
    }
}

/// What a retry costs, in units of which a call brings `percent * CALL` and a millisecond `per_minute * MILLISECOND`.
const RETRY: u64 = 6_000_000;
const CALL: u64 = RETRY / 100;
const MILLISECOND: u64 = RETRY / 60_000;

/// A bucket which calls and time fill, and retries empty. Pure: the time is handed in.
#[derive(Debug, Clone)]
pub struct RetryBudget {
    rules: RetryRules,
    units: u64,
    filled_at: Option<Instant>,
}

impl RetryBudget {
    /// A full one.
    pub fn new(rules: RetryRules) -> Self {
        Self { rules, units: u64::from(rules.reserve) * RETRY, filled_at: None }
    }

    /// A call was begun.
    pub fn call(&mut self) {
        self.fill(u64::from(self.rules.percent) * CALL);
    }

    /// Takes a retry out, if there is one.
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
