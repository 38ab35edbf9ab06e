//! Rate limits per key, and the headers that report them: draft-ietf-httpapi-ratelimit-headers, revision 10.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU32;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::prelude::*;

/// The most keys with an entry of their own. Beyond it all keys share [`GROUPS`] entries for a while.
const MOST_KEYS: usize = 65_536;

const GROUPS: u64 = 1_024;

const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// A rate: a burst, and how fast it refills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The number of requests allowed at once after an idle period.
    pub burst: NonZeroU32,
    /// The time in which a used-up burst refills, evenly.
    pub refill: Duration,
}

/// Rate limiters of all keys, in bounded memory, by GCRA (ITU-T I.371): one number per key, the time at which
/// its burst is full again.
#[derive(Debug)]
pub struct Allowances<K> {
    name: &'static str,
    rate: Rate,
    most_keys: usize,
    groups: RandomState,
    used: Mutex<UsedAllowances<K>>,
}

#[derive(Debug)]
struct UsedAllowances<K> {
    whole_at: HashMap<AllowanceSlot<K>, Instant>,
    next_sweep: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum AllowanceSlot<K> {
    Own(K),
    Shared(u64),
}

/// The state of a key's limit after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowanceStatus {
    name: &'static str,
    rate: Rate,
    /// The number of requests that are allowed right now.
    pub left: u32,
    /// Whole seconds until the next request is allowed; `None` if this one was allowed.
    pub retry_after_s: Option<u32>,
}

impl<K: Hash + Eq + Clone> Allowances<K> {
    /// Limiters of one rate for each key.
    pub fn new(name: &'static str, rate: Rate) -> Self {
        Self::bounded(name, rate, MOST_KEYS)
    }

    fn bounded(name: &'static str, rate: Rate, most_keys: usize) -> Self {
        let used = Mutex::new(UsedAllowances { whole_at: HashMap::new(), next_sweep: Instant::now() });
        Self { name, rate, most_keys, groups: RandomState::new(), used }
    }

    /// Counts a request of a key, if its limit allows it.
    pub fn take(&self, key: &K) -> AllowanceStatus {
        let now = Instant::now();
        let mut used = self.used.lock();
        let slot = match used.is_full(self.most_keys, now) {
            true => AllowanceSlot::Shared(self.groups.hash_one(key) % GROUPS),
            false => AllowanceSlot::Own(key.clone()),
        };
        let one = self.rate.one();
        let whole_at = used.whole_at.get(&slot).map_or(now, |at| (*at).max(now)) + one;
        let free = (one * self.rate.burst.get()).checked_sub(whole_at - now);
        let (left, retry_after_s) = match free {
            Some(free) => {
                used.whole_at.insert(slot, whole_at);
                (u32::try_from(free.as_nanos() / one.as_nanos()).unwrap_or(u32::MAX), None)
            }
            None => (0, Some(whole_seconds(whole_at - now - one * self.rate.burst.get()).max(1))),
        };
        AllowanceStatus { name: self.name, rate: self.rate, left, retry_after_s }
    }
}

impl<K: Hash + Eq> UsedAllowances<K> {
    /// Whether no further key fits, after a sweep of the keys whose burst is full again.
    fn is_full(&mut self, most_keys: usize, now: Instant) -> bool {
        if self.whole_at.len() >= most_keys && now >= self.next_sweep {
            self.next_sweep = now + SWEEP_EVERY;
            self.whole_at.retain(|_, whole_at| *whole_at > now);
            self.whole_at.shrink_to_fit();
        }
        self.whole_at.len() >= most_keys
    }
}

impl Rate {
    fn one(self) -> Duration {
        (self.refill / self.burst.get()).max(Duration::from_nanos(1))
    }
}

impl AllowanceStatus {
    /// Whether the request is allowed, or else 429, counted under `reason`.
    pub fn allowed(&self, reason: &'static str) -> Result<(), Failure> {
        self.retry_after_s.map_or(Ok(()), |wait_s| Err(Failure::too_many_requests(wait_s).counted(reason)))
    }

    /// The value of `RateLimit-Policy`: the burst, and the seconds in which it refills.
    pub fn policy(&self) -> String {
        let Rate { burst, refill } = self.rate;
        format!(r#""{}";q={burst};w={}"#, self.name, whole_seconds(refill))
    }

    /// The value of `RateLimit`: what is left, and the seconds until more is.
    pub fn state(&self) -> String {
        let Rate { burst, refill } = self.rate;
        let used = f64::from(burst.get().saturating_sub(self.left)) / f64::from(burst.get());
        let reset_s = self.retry_after_s.unwrap_or_else(|| whole_seconds(refill.mul_f64(used)));
        format!(r#""{}";r={};t={reset_s}"#, self.name, self.left)
    }
}

fn whole_seconds(wait: Duration) -> u32 {
    u32::try_from(wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowances(most_keys: usize) -> Allowances<u32> {
        let rate = Rate { burst: NonZeroU32::new(3).unwrap(), refill: Duration::from_secs(3) };
        Allowances::bounded("company", rate, most_keys)
    }

    #[tokio::test(start_paused = true)]
    async fn an_allowance_is_used_up_and_refills() {
        let allowances = allowances(8);
        let left: Vec<u32> = (0..3).map(|_| allowances.take(&7).left).collect();
        assert_eq!(left, [2, 1, 0]);
        let refused = allowances.take(&7);
        assert_eq!((refused.left, refused.retry_after_s), (0, Some(1)));
        assert_eq!(refused.policy(), r#""company";q=3;w=3"#);
        assert_eq!(refused.state(), r#""company";r=0;t=1"#);
        assert_eq!(allowances.take(&8).state(), r#""company";r=2;t=1"#, "another has its own");

        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(allowances.take(&7).retry_after_s, None);
        assert_eq!(allowances.take(&7).retry_after_s, Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn strangers_without_end_take_bounded_memory_and_are_still_limited() {
        let allowances = allowances(8);
        let refused = (0..100_000).filter(|key| allowances.take(key).retry_after_s.is_some()).count();
        let kept = allowances.used.lock().whole_at.len();
        assert!(kept <= 8 + GROUPS as usize, "{kept}");
        assert!(refused > 90_000, "{refused} of 100,000 on three requests of {GROUPS} shared allowances");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_has_been_silent_makes_room() {
        let allowances = allowances(8);
        for key in 0..9 {
            allowances.take(&key);
        }
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(allowances.take(&100).left, 2);
        assert_eq!(allowances.used.lock().whole_at.len(), 1);
    }
}
