//! Decides where a page ends. Pure: depends on neither store nor clock.

use super::arrival_time::ArrivalTime;

/// A page with this many records that covers the least span of its form does not grow further.
pub const RECORDS_ENOUGH: usize = 1000;

/// A page being filled: instants are offered whole, in the order of arrival, until one is refused.
///
/// The page ends where the first refused instant begins, so an instant is never split.
#[derive(Debug, Clone)]
pub struct PageWindow {
    start: ArrivalTime,
    least_end: ArrivalTime,
    latest_end: ArrivalTime,
    records_max: usize,
    read: usize,
    held: usize,
    refused: Option<ArrivalTime>,
}

impl PageWindow {
    /// A page from `start`, at least up to `least_end` and before `latest_end`. Once `records_max` records
    /// were read, it ends however short it is; one instant is read whole.
    pub fn new(start: ArrivalTime, least_end: ArrivalTime, latest_end: ArrivalTime, most: usize) -> Self {
        let latest_end = latest_end.max(start);
        Self { start, least_end, latest_end, records_max: most, read: 0, held: 0, refused: None }
    }

    /// Offers an instant; returns whether the page has it. Once one is refused, all later ones are.
    pub fn takes(&mut self, arrival: ArrivalTime) -> bool {
        debug_assert!(arrival >= self.start, "a page is filled from its start on");
        let ahead = arrival >= self.latest_end || self.is_full_at(arrival) || self.is_spent();
        if ahead {
            self.refused.get_or_insert(arrival);
        }
        self.refused.is_none()
    }

    /// Counts the records of an accepted instant: those read, and those wanted among them.
    pub fn holds(&mut self, read: usize, wanted: usize) {
        self.read += read;
        self.held += wanted;
    }

    /// Where the page ends and the next begins, once an instant was refused or none is left.
    pub fn end(&self) -> ArrivalTime {
        self.refused.map_or(self.latest_end, |refused| refused.min(self.latest_end))
    }

    /// Whether records after the page can be served now.
    pub fn goes_on(&self) -> bool {
        self.end() < self.latest_end
    }

    /// Whether only the read limit ended the page.
    pub fn was_cut(&self) -> bool {
        self.goes_on() && self.is_spent() && !self.is_full_at(self.end())
    }

    fn is_full_at(&self, arrival: ArrivalTime) -> bool {
        self.held >= RECORDS_ENOUGH && arrival >= self.least_end
    }

    fn is_spent(&self) -> bool {
        self.read >= self.records_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: u64 = 3_600_000_000;
    const NO_LIMIT: usize = usize::MAX;

    fn window(start: u64, latest: u64) -> PageWindow {
        PageWindow::new(ArrivalTime(start), ArrivalTime(start + HOUR), ArrivalTime(latest), NO_LIMIT)
    }

    /// Fills a page with instants of the given numbers of records; returns how many instants it accepted.
    fn fill(window: &mut PageWindow, instants: &[(u64, usize)]) -> usize {
        let fits = |(arrival, records): &&(u64, usize)| {
            window.takes(ArrivalTime(*arrival)).then(|| window.holds(*records, *records)).is_some()
        };
        instants.iter().take_while(fits).count()
    }

    #[test]
    fn a_busy_hour_is_one_page() {
        let mut window = window(0, 9 * HOUR);
        let instants = [(0, 5000), (1, 5000), (HOUR - 1, 500_000), (HOUR, 1)];
        assert_eq!(fill(&mut window, &instants), 3);
        assert_eq!((window.end(), window.goes_on()), (ArrivalTime(HOUR), true));
    }

    #[test]
    fn a_page_that_need_not_cover_an_hour_ends_when_it_is_full() {
        let mut window = PageWindow::new(ArrivalTime(0), ArrivalTime(0), ArrivalTime(9 * HOUR), NO_LIMIT);
        assert_eq!(fill(&mut window, &[(0, 999), (1, 5), (2, 1)]), 2);
        assert_eq!((window.end(), window.goes_on(), window.was_cut()), (ArrivalTime(2), true, false));
    }

    #[test]
    fn quiet_hours_are_grown_over() {
        let mut window = window(0, 50_000 * HOUR);
        let instants = [(7 * HOUR, 1), (40_000 * HOUR, 999), (40_001 * HOUR, 1)];
        assert_eq!(fill(&mut window, &instants), 2);
        assert_eq!((window.end(), window.goes_on()), (ArrivalTime(40_001 * HOUR), true));
    }

    #[test]
    fn a_page_without_an_end_of_its_own_reaches_the_latest() {
        let mut window = window(0, 3 * HOUR);
        assert_eq!(fill(&mut window, &[(HOUR, 1), (3 * HOUR, 1)]), 1);
        assert_eq!((window.end(), window.goes_on()), (ArrivalTime(3 * HOUR), false));
    }

    #[test]
    fn a_page_that_starts_where_nothing_may_be_told_ends_there() {
        let mut window = window(3 * HOUR, 2 * HOUR);
        assert_eq!(fill(&mut window, &[(3 * HOUR, 1)]), 0);
        assert_eq!((window.end(), window.goes_on()), (ArrivalTime(3 * HOUR), false));
    }

    #[test]
    fn what_is_not_wanted_does_not_fill_a_page_but_is_not_read_for_ever() {
        let mut window = PageWindow::new(ArrivalTime(0), ArrivalTime(0), ArrivalTime(HOUR), 3000);
        for arrival in 0..3 {
            assert!(window.takes(ArrivalTime(arrival)));
            window.holds(1000, 1);
        }
        assert!(!window.takes(ArrivalTime(3)));
        assert_eq!((window.end(), window.goes_on(), window.was_cut()), (ArrivalTime(3), true, true));
    }

    proptest! {
        /// Across pages every instant is accepted exactly once, whatever the limit, and each page has the
        /// right length.
        #[test]
        fn pages_follow_each_other(
            steps in prop::collection::vec((1..2 * HOUR, 0_usize..600), 0..60),
            latest in 0..100 * HOUR,
            least_span in prop_oneof![Just(0), Just(HOUR)],
            limit in prop_oneof![Just(NO_LIMIT), 1_usize..2000],
        ) {
            let mut now = 0;
            let instants: Vec<(u64, usize)> =
                steps.iter().map(|(step, records)| { now += step; (now, *records) }).collect();
            let (mut start, mut delivered) = (ArrivalTime(0), 0);
            loop {
                let least_end = ArrivalTime(start.0 + least_span);
                let mut window = PageWindow::new(start, least_end, ArrivalTime(latest), limit);
                let rest = &instants[delivered..];
                let taken = fill(&mut window, rest);
                let end = window.end();
                let records: usize = rest[..taken].iter().map(|(_, records)| records).sum();
                prop_assert!(rest[..taken].iter().all(|(arrival, _)| *arrival < end.0 && *arrival >= start.0));
                prop_assert!(rest[taken..].iter().all(|(arrival, _)| *arrival >= end.0));
                if window.goes_on() && !window.was_cut() {
                    prop_assert!(end >= least_end && records >= RECORDS_ENOUGH);
                }
                prop_assert!(!window.was_cut() || records >= limit);
                delivered += taken;
                prop_assert!(!window.goes_on() || end > start);
                if !window.goes_on() { break }
                start = end;
            }
            prop_assert_eq!(delivered, instants.iter().filter(|(arrival, _)| *arrival < latest).count());
        }
    }
}
