//! Arrival times, which order the feeds of a company and serve as feed cursors.

use std::sync::Arc;

use uuid::Uuid;

use super::arrival_clock::ArrivalClock;

pub(super) const LAST_ARRIVAL: &[u8] = b"last_arrival";

/// The key of a record in a feed. Keys of one company sort by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeedKey {
    /// The company of the feed.
    pub company: Uuid,
    /// When the store accepted it, in microseconds since 1970; unique across all feeds.
    pub arrival_us: u64,
    /// Its position among the appended records of its commit, from 0.
    pub sequence: u32,
}

impl FeedKey {
    pub(super) const LEN: usize = 28;

    /// The least key of a record of `company` at or after `arrival_us`: the start of a scan.
    pub fn first_at(company: Uuid, arrival_us: u64) -> Self {
        Self { company, arrival_us, sequence: 0 }
    }

    /// The stored form of the key.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut key = [0; Self::LEN];
        key[..16].copy_from_slice(self.company.as_bytes());
        key[16..24].copy_from_slice(&self.arrival_us.to_be_bytes());
        key[24..].copy_from_slice(&self.sequence.to_be_bytes());
        key
    }

    /// Parses a stored key; `None` if it is not a feed's.
    pub fn parse(key: &[u8]) -> Option<Self> {
        let (company, rest) = key.split_first_chunk::<16>()?;
        let (arrival, rest) = rest.split_first_chunk::<8>()?;
        let (company, arrival_us) = (Uuid::from_bytes(*company), u64::from_be_bytes(*arrival));
        Some(Self { company, arrival_us, sequence: u32::from_be_bytes(rest.try_into().ok()?) })
    }
}

/// Gives out arrival times: the [clock's](ArrivalClock) if it has advanced, else one more than the last.
pub(super) struct Arrivals {
    clock: Arc<ArrivalClock>,
    pub(super) last_us: u64,
}

impl Arrivals {
    pub(super) fn after(last_us: u64, clock: Arc<ArrivalClock>) -> Self {
        Self { clock, last_us }
    }

    /// The next arrival time, later than all before.
    pub(super) fn next_us(&mut self) -> u64 {
        self.last_us = self.clock.now_us().max(self.last_us + 1);
        self.last_us
    }

    /// The arrival time, in seconds.
    pub(super) fn arrival_s(&self) -> u64 {
        self.clock.now_us() / 1_000_000
    }

    /// The time for expiry by age, in milliseconds.
    pub(super) fn expiry_ms(&self) -> u64 {
        self.clock.earlier_us() / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival_clock::ClockLimits;
    use super::super::clock::Clock;
    use super::*;

    #[test]
    fn keys_round_trip_and_sort_by_arrival() {
        let company = Uuid::from_u128(7);
        let early = FeedKey { company, arrival_us: 255, sequence: 9 };
        let late = FeedKey { company, arrival_us: 256, sequence: 0 };
        assert_eq!(FeedKey::parse(&early.to_bytes()), Some(early));
        assert!(early.to_bytes() < late.to_bytes());
        assert_eq!(FeedKey::parse(&early.to_bytes()[1..]), None);
    }

    #[test]
    fn arrivals_increase_while_the_clock_stands_or_steps_back() {
        let after = |last_us, clock| {
            let clock = ArrivalClock::after(last_us, clock, ClockLimits::default());
            Arrivals::after(last_us, Arc::new(clock))
        };
        let mut arrivals = after(100, Clock::new(|| 50));
        assert_eq!([arrivals.next_us(), arrivals.next_us()], [101, 102]);
        let mut moved_on = after(100, Clock::new(|| 500));
        assert_eq!([moved_on.next_us(), moved_on.next_us()], [500, 501]);
    }
}
