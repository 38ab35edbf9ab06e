//! How often one key may ask: an allowance that refills evenly, and what a client is told of it.
//!
//! The headers are those of draft-ietf-httpapi-ratelimit-headers, revision 10.

use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use governor::clock::{Clock, DefaultClock};
use governor::middleware::{StateInformationMiddleware, StateSnapshot};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

/// Keys that are told apart. Beyond them new and old ones share [`GROUPS`] allowances until enough have been silent.
const MOST_KEYS: usize = 65_536;

/// Allowances that keys share when there are too many.
const GROUPS: u64 = 1_024;

/// Time between two looks for keys that have been silent.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// What may be asked at once, and how soon all of it is there again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests at once after a silence.
    pub burst: NonZeroU32,
    /// Time in which an allowance that was used up is whole again, evenly.
    pub refill: Duration,
}

/// The allowances of all keys, in bounded memory.
pub struct Allowances<K: Hash + Eq + Clone, C: Clock = DefaultClock> {
    /// Its name in headers and metrics.
    name: &'static str,
    rate: Rate,
    limiter: RateLimiter<Slot<K>, HashMapStateStore<Slot<K>>, C, StateInformationMiddleware>,
    clock: C,
    most_keys: usize,
    groups: RandomState,
    begun: Instant,
    /// Milliseconds from `begun`.
    next_sweep: AtomicU64,
}

/// Whose allowance it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Slot<K> {
    Own(K),
    Shared(u64),
}

/// How an allowance stands after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    name: &'static str,
    rate: Rate,
    /// Requests that are left at once.
    pub left: u32,
    /// Whole seconds after which the next is allowed; `None` when this one was.
    pub retry_after_s: Option<u32>,
}

impl<K: Hash + Eq + Clone> Allowances<K> {
    /// Allowances of a rate each.
    pub fn new(name: &'static str, rate: Rate) -> Self {
        Self::with_clock(name, rate, MOST_KEYS, DefaultClock::default())
    }
}

impl<K: Hash + Eq + Clone, C: Clock + Clone> Allowances<K, C> {
    fn with_clock(name: &'static str, rate: Rate, most_keys: usize, clock: C) -> Self {
        let one = (rate.refill / rate.burst.get()).max(Duration::from_nanos(1));
        let quota = Quota::with_period(one).unwrap_or(Quota::per_second(rate.burst)).allow_burst(rate.burst);
        Self {
            name,
            rate,
            limiter: RateLimiter::new(quota, HashMapStateStore::default(), clock.clone()),
            clock,
            most_keys,
            groups: RandomState::new(),
            begun: Instant::now(),
            next_sweep: AtomicU64::new(0),
        }
    }

    /// Takes one request off a key's allowance, if it has one left.
    pub fn take(&self, key: &K) -> Standing {
        let slot = if self.is_full() {
            Slot::Shared(self.groups.hash_one(key) % GROUPS)
        } else {
            Slot::Own(key.clone())
        };
        let (left, retry_after) = match self.limiter.check_key(&slot) {
            Ok(state) => (StateSnapshot::remaining_burst_capacity(&state), None),
            Err(refused) => (0, Some(refused.wait_time_from(self.clock.now()))),
        };
        let retry_after_s = retry_after.map(|wait| whole_seconds(wait).max(1));
        Standing { name: self.name, rate: self.rate, left, retry_after_s }
    }

    /// Whether as many keys are told apart as may be, once those with a whole allowance are forgotten.
    fn is_full(&self) -> bool {
        if self.limiter.len() < self.most_keys {
            return false;
        }
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let due = self.next_sweep.load(Ordering::Relaxed);
        let next = now + SWEEP_EVERY.as_millis() as u64;
        let sweeps = now >= due
            && self.next_sweep.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if sweeps {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        self.limiter.len() >= self.most_keys
    }
}

impl Standing {
    /// Its `RateLimit-Policy`: what may be asked at once, and how soon all of it is there again.
    pub fn policy(&self) -> String {
        let Rate { burst, refill } = self.rate;
        format!(r#""{}";q={burst};w={}"#, self.name, whole_seconds(refill))
    }

    /// Its `RateLimit`: what is left, and the seconds until all of it is there again, or, of a refused request, until one is.
    pub fn state(&self) -> String {
        let Rate { burst, refill } = self.rate;
        let used = f64::from(burst.get().saturating_sub(self.left)) / f64::from(burst.get());
        let reset_s = self.retry_after_s.unwrap_or_else(|| whole_seconds(refill.mul_f64(used)));
        format!(r#""{}";r={};t={reset_s}"#, self.name, self.left)
    }
}

fn whole_seconds(wait: Duration) -> u32 {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn allowances(most_keys: usize) -> (Allowances<u32, FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        let rate = Rate { burst: NonZeroU32::new(3).unwrap(), refill: Duration::from_secs(3) };
        (Allowances::with_clock("company", rate, most_keys, clock.clone()), clock)
    }

    #[test]
    fn an_allowance_is_used_up_and_refills() {
        let (allowances, clock) = allowances(8);
        let left: Vec<u32> = (0..3).map(|_| allowances.take(&7).left).collect();
        assert_eq!(left, [2, 1, 0]);
        let refused = allowances.take(&7);
        assert_eq!((refused.left, refused.retry_after_s), (0, Some(1)));
        assert_eq!(refused.policy(), r#""company";q=3;w=3"#);
        assert_eq!(refused.state(), r#""company";r=0;t=1"#);
        assert_eq!(allowances.take(&8).state(), r#""company";r=2;t=1"#, "another has its own");

        clock.advance(Duration::from_secs(1));
        assert_eq!(allowances.take(&7).retry_after_s, None);
        assert_eq!(allowances.take(&7).retry_after_s, Some(1));
    }

    #[test]
    fn strangers_without_end_take_bounded_memory_and_are_still_limited() {
        let (allowances, _) = allowances(8);
        let refused = (0..100_000).filter(|key| allowances.take(key).retry_after_s.is_some()).count();
        assert!(allowances.limiter.len() <= 8 + GROUPS as usize, "{}", allowances.limiter.len());
        assert!(refused > 90_000, "{refused} of 100,000 on three requests of {GROUPS} shared allowances");
    }

    #[test]
    fn who_has_been_silent_makes_room() {
        let (allowances, clock) = allowances(8);
        for key in 0..9 {
            allowances.take(&key);
        }
        clock.advance(Duration::from_secs(60));
        allowances.next_sweep.store(0, Ordering::Relaxed);
        assert_eq!(allowances.take(&100).left, 2);
        assert_eq!(allowances.limiter.len(), 1);
    }
}
