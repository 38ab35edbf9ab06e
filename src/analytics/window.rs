//! How far a page reaches. Knows neither store nor clock.

use super::arrival_time::ArrivalTime;

/// A page that covers an hour and holds as many records grows no further.
pub const RECORDS_ENOUGH: usize = 1000;

/// A page while it is being filled: instants are offered in the order of arrival, each at once, until one is refused.
///
/// The page ends where the first refused instant begins. So an instant is never split, and the quiet time before the next
/// record belongs to the page.
#[derive(Debug, Clone)]
pub struct Window {
    start: ArrivalTime,
    latest: ArrivalTime,
    records: usize,
    refused: Option<ArrivalTime>,
}

impl Window {
    /// A page from `start` on, which may hold what arrived before `latest`.
    pub fn new(start: ArrivalTime, latest: ArrivalTime) -> Self {
        Self { start, latest, records: 0, refused: None }
    }

    /// Offers the records of one instant. Tells whether they are on the page; after the first that are not, none are.
    pub fn takes(&mut self, arrival: ArrivalTime, records: usize) -> bool {
        debug_assert!(arrival >= self.start, "a page is filled from its start on");
        let takes = self.refused.is_none() && arrival < self.latest && !self.is_full_at(arrival);
        if takes {
            self.records += records;
        } else {
            self.refused.get_or_insert(arrival);
        }
        takes
    }

    /// Where the page ends and the next begins, once an instant was refused or no more are to be had.
    pub fn end(&self) -> ArrivalTime {
        self.refused.map_or(self.latest, |refused| refused.min(self.latest))
    }

    /// Whether something lies ahead of the page that may be delivered now.
    pub fn goes_on(&self) -> bool {
        self.end() < self.latest
    }

    fn is_full_at(&self, arrival: ArrivalTime) -> bool {
        self.records >= RECORDS_ENOUGH && arrival >= self.start.plus_an_hour()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: u64 = 3_600_000_000;

    /// Fills a page with instants of so many records each, and tells how many instants it took.
    fn fill(window: &mut Window, instants: &[(u64, usize)]) -> usize {
        let fits = |(arrival, records): &&(u64, usize)| window.takes(ArrivalTime(*arrival), *records);
        instants.iter().take_while(fits).count()
    }

    #[test]
    fn a_busy_hour_is_one_page() {
        let mut window = Window::new(ArrivalTime(0), ArrivalTime(9 * HOUR));
        let instants = [(0, 5000), (1, 5000), (HOUR - 1, 5000), (HOUR, 1)];
        assert_eq!(fill(&mut window, &instants), 3);
        assert_eq!((window.end(), window.goes_on()), (ArrivalTime(HOUR), true));
    }

    #[test]
    fn quiet_hours_are_grown_over() {
        let mut window = Window::new(ArrivalTime(0), ArrivalTime(50_000 * HOUR));
        let instants = [(7 * HOUR, 1), (40_000 * HOUR, 999), (40_001 * HOUR, 1)];
        assert_eq!(fill(&mut window, &instants), 2);
        assert_eq!((window.end(), window.goes_on()), (ArrivalTime(40_001 * HOUR), true));
    }

    #[test]
    fn a_page_without_an_end_of_its_own_reaches_the_latest() {
        let mut window = Window::new(ArrivalTime(0), ArrivalTime(3 * HOUR));
        assert_eq!(fill(&mut window, &[(HOUR, 1), (3 * HOUR, 1)]), 1);
        assert_eq!((window.end(), window.goes_on()), (ArrivalTime(3 * HOUR), false));
    }

    proptest! {
        /// From page to page every instant is taken once; each page is as long as it should be.
        #[test]
        fn pages_follow_each_other(
            steps in prop::collection::vec((1..2 * HOUR, 0_usize..600), 0..60),
            latest in 0..100 * HOUR,
        ) {
            let mut now = 0;
            let instants: Vec<(u64, usize)> =
                steps.iter().map(|(step, records)| { now += step; (now, *records) }).collect();
            let (mut start, mut delivered) = (ArrivalTime(0), 0);
            loop {
                let mut window = Window::new(start, ArrivalTime(latest));
                let rest = &instants[delivered..];
                let taken = fill(&mut window, rest);
                let end = window.end();
                let records: usize = rest[..taken].iter().map(|(_, records)| records).sum();
                prop_assert!(rest[..taken].iter().all(|(arrival, _)| *arrival < end.0 && *arrival >= start.0));
                prop_assert!(rest[taken..].iter().all(|(arrival, _)| *arrival >= end.0));
                if window.goes_on() {
                    prop_assert!(end >= start.plus_an_hour() && records >= RECORDS_ENOUGH);
                }
                delivered += taken;
                prop_assert!(!window.goes_on() || end > start);
                if !window.goes_on() { break }
                start = end;
            }
            prop_assert_eq!(delivered, instants.iter().filter(|(arrival, _)| *arrival < latest).count());
        }
    }
}
