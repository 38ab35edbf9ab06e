//! The counts of one seat: asks per minute and per quarter of an hour, and earnings of its leads.

use std::collections::VecDeque;
use std::ops::Range;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::batch::CapBatch;
use crate::rate_table::reason::Denied;
use offerd_partners::Limits;
use offerd_partners::limits::declared::Period;
use offerd_store::pauses::Pause;

/// A minute, milliseconds.
pub const MINUTE: i64 = 60_000;

/// A quarter of an hour, milliseconds: local days start and end on one in every time zone.
pub const QUARTER: i64 = 15 * MINUTE;

const MINUTES_KEPT: i64 = 60 * MINUTE;

/// The longest a local day can reach back, with an hour for a change of clocks and one to spare.
pub const DAY_KEPT: i64 = 26 * 60 * MINUTE;

/// The same for any period.
pub fn kept(period: Period) -> i64 {
    (period.days() - 1) * 24 * 60 * MINUTE + DAY_KEPT
}

/// Units per cent; integers make a sum independent of its order.
const PER_CENT: f64 = 1e6;

/// The counts of one seat.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    /// The pause of the seat, if an operator has paused it.
    pub pause: Option<Pause>,
    minutes: Periods,
    quarters: Periods,
    posted: Periods,
    running: [Option<CachedPeriodAsks>; Period::ALL.len()],
    /// This node's shares of the caps, where other nodes ask the seat too.
    pub batches: Vec<CapBatch>,
}

/// Cached asks of the current local day, week or month: the quarters are too many to sum for each lead.
#[derive(Debug, Clone)]
struct CachedPeriodAsks {
    zone: Tz,
    span: Range<i64>,
    asks: i64,
}

impl Meter {
    /// What keeps a seat with these limits from being asked by one of `nodes`.
    pub fn denial(&mut self, limits: &Limits, at: i64, nodes: Option<u32>) -> Option<Denied> {
        if !limits.runs_at(moment(at)) {
            return Some(Denied::Dates);
        }
        if !limits.open_at(moment(at)) {
            return Some(Denied::Schedule);
        }
        let per_minute = limits.per_minute.map(|cap| share_of_minute(cap, nodes));
        if per_minute.is_some_and(|cap| self.asked_in_minute(at) >= cap) {
            return Some(Denied::PerMinute);
        }
        for period in Period::ALL.into_iter().rev() {
            let Some(cap) = period.cap(limits) else { continue };
            let has_left = match nodes {
                Some(_) => self.has_left(period, at),
                None => self.asked(period, limits, at) < cap,
            };
            if !has_left {
                return Some(Denied::at_cap(period));
            }
        }
        let budget = limits.per_day_budget?;
        (self.owed_today(limits, at) >= budget).then_some(Denied::Budget)
    }

    fn has_left(&mut self, period: Period, at: i64) -> bool {
        let Some(batch) = self.batches.iter_mut().find(|batch| batch.is_of(period, at)) else { return false };
        batch.is_wanted |= batch.left() == 0;
        batch.left() > 0
    }

    /// Whether to request more of a cap at once.
    pub fn is_short(&self) -> bool {
        self.batches.iter().any(CapBatch::is_short)
    }

    /// Asks in the period at `at`, of all nodes as last recorded.
    pub fn asked(&mut self, period: Period, limits: &Limits, at: i64) -> u32 {
        match self.batches.iter().find(|batch| batch.is_of(period, at)) {
            Some(batch) => batch.by_others.saturating_add(batch.asked),
            None => count(self.running(period, limits, at).asks),
        }
    }

    /// Takes over the earnings of another count.
    pub fn take_posted(&mut self, other: Self) {
        self.posted = other.posted;
    }

    /// Counts asks at a time, with a retention of `kept` milliseconds; a negative number returns some.
    pub fn count(&mut self, at: i64, asks: i64, kept: i64) {
        self.minutes.add(at.div_euclid(MINUTE), asks, MINUTES_KEPT / MINUTE);
        self.quarters.add(at.div_euclid(QUARTER), asks, kept / QUARTER);
        let batches = self.batches.iter_mut().filter(|batch| batch.span.contains(&at));
        batches.for_each(|batch| batch.count(at, asks));
        for running in self.running.iter_mut().flatten() {
            if running.span.contains(&at) {
                running.asks += asks;
            }
        }
    }

    /// Replaces the counts before a time with older ones.
    pub fn add_older(&mut self, older: Self, before: i64) {
        self.quarters.replace_before(before.div_euclid(QUARTER), older.quarters);
        self.running = Default::default();
    }

    /// Adds cents at a time; a negative amount reverses some.
    pub fn add_payout(&mut self, at: i64, cents: f64) {
        self.posted.add(at.div_euclid(QUARTER), (cents * PER_CENT).round() as i64, DAY_KEPT / QUARTER);
    }

    /// Asks in the minute of `at`.
    pub fn asked_in_minute(&self, at: i64) -> u32 {
        let minute = at.div_euclid(MINUTE);
        count(self.minutes.sum(minute..minute + 1))
    }

    /// Asks in a span, by quarters.
    pub fn asked_in(&self, span: &Range<i64>) -> u32 {
        count(self.quarters.sum(quarters(span)))
    }

    /// Cents added in the local day of `at`.
    pub fn owed_today(&mut self, limits: &Limits, at: i64) -> f64 {
        let day = quarters(&self.running(Period::Day, limits, at).span);
        self.posted.sum(day) as f64 / PER_CENT
    }

    /// The cached count at a time, recomputed when the period has changed.
    fn running(&mut self, period: Period, limits: &Limits, at: i64) -> &CachedPeriodAsks {
        let zone = limits.time_zone;
        let running = &mut self.running[period as usize];
        if !running.as_ref().is_some_and(|known| known.zone == zone && known.span.contains(&at)) {
            let span = period.span(limits, at);
            *running = Some(CachedPeriodAsks { zone, asks: self.quarters.sum(quarters(&span)), span });
        }
        running.as_ref().expect("it was begun")
    }
}

fn share_of_minute(cap: u32, nodes: Option<u32>) -> u32 {
    nodes.map_or(cap, |nodes| (cap / nodes.max(1)).max(cap.min(1)))
}

fn moment(at: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at).unwrap_or_default()
}

fn quarters(day: &Range<i64>) -> Range<i64> {
    day.start.div_euclid(QUARTER)..day.end.div_euclid(QUARTER)
}

fn count(sum: i64) -> u32 {
    u32::try_from(sum).unwrap_or(if sum < 0 { 0 } else { u32::MAX })
}

#[derive(Debug, Clone, Default)]
struct Periods(VecDeque<(i64, i64)>);

impl Periods {
    fn add(&mut self, period: i64, amount: i64, kept: i64) {
        let place = self.0.len() - self.0.iter().rev().take_while(|(other, _)| *other > period).count();
        match place.checked_sub(1).and_then(|last| self.0.get_mut(last)) {
            Some((same, sum)) if *same == period => *sum += amount,
            _ => self.0.insert(place, (period, amount)),
        }
        let newest = self.0.back().map_or(period, |(newest, _)| *newest);
        while self.0.front().is_some_and(|(oldest, _)| *oldest < newest - kept) {
            self.0.pop_front();
        }
    }

    fn replace_before(&mut self, first: i64, other: Self) {
        let own = self.0.iter().filter(|(period, _)| *period >= first);
        self.0 = other.0.iter().filter(|(period, _)| *period < first).chain(own).copied().collect();
    }

    fn sum(&self, periods: Range<i64>) -> i64 {
        let newer = self.0.iter().rev().skip_while(|(period, _)| *period >= periods.end);
        newer.take_while(|(period, _)| *period >= periods.start).map(|(_, amount)| amount).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matching::limiter::batch::SeatCap;
    use offerd_model::ProductType;

    #[test]
    fn periods_are_counted_apart_whatever_their_order_and_old_ones_are_forgotten() {
        let mut tally = Periods::default();
        for (period, amount) in [(5, 1), (7, 2), (6, 3), (5, 4), (7, -1)] {
            tally.add(period, amount, 10);
        }
        assert_eq!([tally.sum(5..6), tally.sum(6..7), tally.sum(7..8), tally.sum(5..8)], [5, 3, 1, 9]);
        tally.add(16, 1, 10);
        assert_eq!(tally.sum(0..100), 3 + 1 + 1);
    }

    #[test]
    fn of_a_minute_each_process_has_its_share_and_at_least_one() {
        assert_eq!(
            [(10, None), (10, Some(1)), (10, Some(3)), (2, Some(3)), (0, Some(3))]
                .map(|(cap, nodes)| share_of_minute(cap, nodes)),
            [10, 10, 3, 1, 0]
        );
    }

    #[test]
    fn where_others_ask_too_no_more_is_asked_than_is_held_here() {
        let limits = Limits { per_day: Some(10), ..Limits::default() };
        let span = Period::Day.span(&limits, 0);
        let mut meter = Meter::default();
        assert_eq!(meter.denial(&limits, 0, Some(2)), Some(Denied::PerDay), "nothing is held yet");
        let capped =
            SeatCap { partner: "p".to_owned(), product_type: ProductType::Loan, period: Period::Day, span };
        meter.batches.push(CapBatch { granted: 2, by_others: 3, ..CapBatch::empty(&capped, 0) });
        for asked in 0..2 {
            assert_eq!(meter.denial(&limits, 0, Some(2)), None);
            meter.count(0, 1, DAY_KEPT);
            assert_eq!(meter.asked(Period::Day, &limits, 0), 3 + asked + 1);
        }
        assert_eq!(meter.denial(&limits, 0, Some(2)), Some(Denied::PerDay));
        meter.count(0, -1, DAY_KEPT);
        assert_eq!(meter.denial(&limits, 0, Some(2)), None, "one was given back");
        assert_eq!(meter.denial(&limits, capped.span.end, Some(2)), Some(Denied::PerDay));
    }

    /// An event, in quarters of a minute from a start.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Ask,
        GiveBack,
        AddPayout(i32),
    }

    fn step() -> impl Strategy<Value = (i64, Step)> {
        // Mostly forward, sometimes a little back, sometimes far ahead to another day.
        let passed = prop_oneof![8 => 0..8_i64, 1 => -8..0_i64, 1 => 1000..6000_i64];
        let step = prop_oneof![
            6 => Just(Step::Ask),
            1 => Just(Step::GiveBack),
            2 => (-500..500_i32).prop_map(Step::AddPayout),
        ];
        (passed, step)
    }

    proptest! {
        /// Denies what a full list of all events denies, across changes of the clocks.
        #[test]
        fn it_counts_as_a_list_of_everything_does(
            caps in (0_u32..6, 0_u32..12, -100..900_i32, 0_u32..30, 0_u32..40),
            steps in prop::collection::vec(step(), 1..160),
        ) {
            let limits = Limits {
                per_minute: Some(caps.0),
                per_day: Some(caps.1),
                per_day_budget: Some(f64::from(caps.2)),
                per_week: Some(caps.3),
                per_month: Some(caps.4),
                time_zone: chrono_tz::America::New_York,
                ..Limits::default()
            };
            let (mut meter, mut asks, mut payouts) = (Meter::default(), Vec::new(), Vec::new());
            // The evening before clocks go back.
            let mut now = DateTime::parse_from_rfc3339("2026-10-31T23:50:00-04:00").unwrap().timestamp_millis();
            for (passed, step) in steps {
                now += passed * MINUTE / 4;
                match step {
                    Step::Ask => asks.push((now, 1)),
                    Step::GiveBack => asks.push((now, -1)),
                    Step::AddPayout(cents) => payouts.push((now, i64::from(cents))),
                }
                match step {
                    Step::Ask => meter.count(now, 1, kept(Period::Month)),
                    Step::GiveBack => meter.count(now, -1, kept(Period::Month)),
                    Step::AddPayout(cents) => meter.add_payout(now, f64::from(cents)),
                }
                let minute = now.div_euclid(MINUTE) * MINUTE;
                let [day, week, month] = Period::ALL.map(|period| period.span(&limits, now));
                let sum = |of: &[(i64, i64)], within: Range<i64>| -> i64 {
                    of.iter().filter(|(at, _)| within.contains(at)).map(|(_, amount)| amount).sum()
                };
                // A returned ask may have been made in an earlier minute.
                let asked = |within| sum(&asks, within).max(0);
                let denied = if asked(minute..minute + MINUTE) >= i64::from(caps.0) {
                    Some(Denied::PerMinute)
                } else if asked(month) >= i64::from(caps.4) {
                    Some(Denied::PerMonth)
                } else if asked(week) >= i64::from(caps.3) {
                    Some(Denied::PerWeek)
                } else if asked(day.clone()) >= i64::from(caps.1) {
                    Some(Denied::PerDay)
                } else {
                    (sum(&payouts, day) >= i64::from(caps.2)).then_some(Denied::Budget)
                };
                prop_assert_eq!(meter.denial(&limits, now, None), denied);
            }
        }
    }
}
