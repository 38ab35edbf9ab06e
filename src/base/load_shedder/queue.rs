//! The admission queue, bounded in length, and in time once its pace is known. It serves companies in turn. A
//! new waiter at a full queue displaces the last one of the company with the most waiters, unless its own
//! company has as many. So no company fills the queue while others wait.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use uuid::Uuid;

/// Steps over which the pace is measured: more than happen at once when the disk has batched many commits.
const PACED: u32 = 64;

#[derive(Debug)]
pub(super) struct AdmissionQueue<T> {
    most: usize,
    longest_wait: Duration,
    waiting: HashMap<Uuid, VecDeque<(u64, T)>>,
    /// Companies with waiters; the next in turn first.
    companies: VecDeque<Uuid>,
    pub(super) length: usize,
    next: u64,
    pace: QueuePace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiter {
    company: Uuid,
    nth: u64,
}

#[derive(Debug, Default)]
struct QueuePace {
    begun: Duration,
    steps: u32,
    step: Option<Duration>,
}

impl<T> AdmissionQueue<T> {
    pub(super) fn new(most: usize, longest_wait: Duration) -> Self {
        let (waiting, companies, pace) = Default::default();
        Self { most, longest_wait, waiting, companies, length: 0, next: 0, pace }
    }

    /// Whether another waiter would exceed the length or the time bound. The time bound is at least `least`.
    pub(super) fn is_full(&self, least: usize) -> bool {
        let in_time = self.pace.step.map_or(usize::MAX, |step| {
            (self.longest_wait.as_nanos() / step.as_nanos().max(1)).try_into().unwrap_or(usize::MAX)
        });
        self.length >= in_time.max(least).min(self.most)
    }

    /// Whether a company has so many waiters in a full queue that another one displaces nobody.
    pub(super) fn has_its_share(&self, company: Uuid) -> bool {
        let own = self.waiting.get(&company).map_or(0, VecDeque::len);
        self.waiting.values().all(|others| own + 1 >= others.len())
    }

    pub(super) fn push(&mut self, company: Uuid, now: Duration, ticket: T) -> Waiter {
        if self.length == 0 {
            self.pace.begin(now);
        }
        let nth = self.next;
        self.next += 1;
        let waiting = self.waiting.entry(company).or_default();
        if waiting.is_empty() {
            self.companies.push_back(company);
        }
        waiting.push_back((nth, ticket));
        self.length += 1;
        Waiter { company, nth }
    }

    pub(super) fn pop(&mut self, now: Duration) -> Option<T> {
        let company = self.companies.pop_front()?;
        let waiting = self.waiting.get_mut(&company)?;
        let (_, ticket) = waiting.pop_front()?;
        if waiting.is_empty() {
            self.waiting.remove(&company);
        } else {
            self.companies.push_back(company);
        }
        self.length -= 1;
        self.pace.step(now);
        Some(ticket)
    }

    pub(super) fn displace(&mut self) -> Option<T> {
        let (&company, waiting) = self.waiting.iter().max_by_key(|(_, waiting)| waiting.len())?;
        let &(nth, _) = waiting.back()?;
        self.remove(Waiter { company, nth })
    }

    pub(super) fn remove(&mut self, Waiter { company, nth }: Waiter) -> Option<T> {
        let waiting = self.waiting.get_mut(&company)?;
        let position = waiting.binary_search_by_key(&nth, |(nth, _)| *nth).ok()?;
        let (_, ticket) = waiting.remove(position)?;
        if waiting.is_empty() {
            self.waiting.remove(&company);
            self.companies.retain(|other| *other != company);
        }
        self.length -= 1;
        Some(ticket)
    }
}

impl QueuePace {
    fn begin(&mut self, now: Duration) {
        (self.begun, self.steps) = (now, 0);
    }

    fn step(&mut self, now: Duration) {
        self.steps += 1;
        if self.steps == PACED {
            let step = now.saturating_sub(self.begun) / PACED;
            self.step = Some(self.step.map_or(step, |before| (before + step) / 2));
            self.begin(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ONE: Uuid = Uuid::from_u128(1);
    const OTHER: Uuid = Uuid::from_u128(2);

    fn queue(most: usize) -> AdmissionQueue<&'static str> {
        AdmissionQueue::new(most, Duration::from_secs(1))
    }

    #[test]
    fn companies_take_turns_and_each_is_served_in_its_order() {
        let mut queue = queue(9);
        for (company, ticket) in [(ONE, "a"), (ONE, "b"), (ONE, "c"), (OTHER, "x"), (OTHER, "y")] {
            queue.push(company, Duration::ZERO, ticket);
        }
        let served: Vec<_> = std::iter::from_fn(|| queue.pop(Duration::ZERO)).collect();
        assert_eq!(served, ["a", "x", "b", "y", "c"]);
        assert!(queue.waiting.is_empty() && queue.companies.is_empty() && queue.length == 0);
    }

    #[test]
    fn the_company_that_has_most_makes_room_for_one_that_has_less() {
        let mut queue = queue(3);
        for ticket in ["a", "b", "c"] {
            queue.push(ONE, Duration::ZERO, ticket);
        }
        assert!(queue.is_full(1) && queue.has_its_share(ONE) && !queue.has_its_share(OTHER));
        assert_eq!(queue.displace(), Some("c"), "its last one");
        queue.push(OTHER, Duration::ZERO, "x");
        assert!(queue.has_its_share(OTHER), "of three, one has two and one has one");
    }

    #[test]
    fn a_line_that_moves_slowly_is_full_when_its_last_would_wait_too_long() {
        let mut queue = queue(1000);
        for _ in 0..200 {
            queue.push(ONE, Duration::ZERO, "");
        }
        assert!(!queue.is_full(1), "as long as nobody knows how fast it is");
        let slowly = Duration::from_millis(50);
        for nth in 1..=PACED {
            queue.pop(slowly * nth);
        }
        assert!(queue.is_full(1), "20 a second, and 136 wait");
        assert!(!queue.is_full(200), "so many may wait however slow it is");
        for nth in 1..=PACED {
            queue.pop(slowly * PACED + Duration::from_micros(1) * nth);
        }
        while queue.length > 30 {
            queue.displace();
        }
        assert!(!queue.is_full(1), "it is faster now: 40 a second, smoothed");
        while queue.length < 39 {
            queue.push(ONE, Duration::ZERO, "");
        }
        assert!(queue.is_full(1), "the next one would wait a second");
    }

    #[test]
    fn its_pace_counts_from_when_the_first_one_came() {
        let mut queue = queue(1000);
        let seconds = Duration::from_secs;
        queue.push(ONE, seconds(100), "");
        for _ in 0..=PACED {
            queue.push(ONE, seconds(150), "");
        }
        for _ in 0..PACED {
            queue.pop(seconds(100) + seconds(1) * PACED);
        }
        assert!(queue.length == 2 && queue.is_full(1), "one a second");
    }

    proptest! {
        /// In any order of arrivals, admissions, displacements and departures, each ticket comes out once,
        /// and each company's waiters are admitted in order.
        #[test]
        fn nobody_is_lost_or_served_twice(steps in prop::collection::vec((0_u8..5, 0_u128..4), 1..300)) {
            let mut queue = AdmissionQueue::new(usize::MAX, Duration::from_secs(1));
            let (mut inside, mut came) = (Vec::<(Waiter, u64)>::new(), 0);
            for (step, company) in steps {
                let before = queue.length;
                let out = match step {
                    0..=1 => {
                        came += 1;
                        inside.push((queue.push(Uuid::from_u128(company), Duration::ZERO, came), came));
                        None
                    }
                    2 => queue.pop(Duration::ZERO),
                    3 => queue.displace(),
                    _ => inside.get(company as usize).copied().and_then(|(waiter, _)| queue.remove(waiter)),
                };
                prop_assert_eq!(out.is_some(), queue.length + 1 == before);
                if let Some(out) = out {
                    let at = inside.iter().position(|(_, ticket)| *ticket == out).unwrap();
                    let (waiter, _) = inside.remove(at);
                    let earlier = inside.iter().any(|(other, ticket)| other.company == waiter.company && *ticket < out);
                    prop_assert!(step != 2 || !earlier, "in order");
                }
                prop_assert_eq!(queue.length, inside.len());
                prop_assert_eq!(queue.companies.len(), queue.waiting.len());
            }
        }
    }
}
