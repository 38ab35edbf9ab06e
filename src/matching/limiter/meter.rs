//! What is counted of one seat: asks by the minute and by the quarter of an hour, and what its leads have earned.

use std::collections::VecDeque;
use std::ops::Range;

use chrono::DateTime;
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::partners::Limits;
use crate::planted::{Planted, planted};

/// Milliseconds of a minute.
pub const MINUTE: i64 = 60_000;

/// Milliseconds of a quarter of an hour: the days of every time zone begin and end with one.
const QUARTER: i64 = 15 * MINUTE;

/// How far back asks are kept by the minute, so that a clock that steps back a little loses none.
const MINUTES_KEPT: i64 = 60 * MINUTE;

/// How far back a local day can have begun, with an hour for a change of clocks and one to spare.
pub const DAY_KEPT: i64 = 26 * 60 * MINUTE;

/// Parts of a cent that are counted; whole ones, so that a sum does not depend on its order.
const PER_CENT: f64 = 1e6;

/// Why a seat is not asked although the lead fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Denied {
    /// Paused from the command line.
    Paused,
    /// Outside its schedule.
    Schedule,
    /// As many asks as there may be in this minute.
    PerMinute,
    /// As many asks as there may be today.
    PerDay,
    /// Its payouts of today have reached its budget.
    Budget,
    /// An exclusive partner takes the lead.
    Exclusive,
}

/// The counts of one seat.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    /// Since when it is paused from the command line, Unix milliseconds.
    pub paused_since: Option<i64>,
    minutes: Tally,
    quarters: Tally,
    owed: Tally,
    /// The local day that was looked at last.
    day: Option<(Tz, Range<i64>)>,
}

impl Meter {
    /// What keeps a seat with these limits from being asked, if anything.
    pub fn denial(&mut self, limits: &Limits, at: i64) -> Option<Denied> {
        let spare = u32::from(planted(Planted::CapOffByOne));
        let reached =
            |cap: Option<u32>, count: &dyn Fn() -> u32| cap.is_some_and(|cap| count() >= cap + spare);
        if !limits.schedule.is_empty()
            && !limits.open_at(DateTime::from_timestamp_millis(at).unwrap_or_default())
        {
            return Some(Denied::Schedule);
        }
        if reached(limits.per_minute, &|| self.asked_in_minute(at)) {
            return Some(Denied::PerMinute);
        }
        if limits.per_day.is_none() && limits.per_day_budget.is_none() {
            return None;
        }
        let day = self.day(limits, at);
        if reached(limits.per_day, &|| self.asked_in(&day)) {
            return Some(Denied::PerDay);
        }
        limits.per_day_budget.is_some_and(|budget| self.owed_in(&day) >= budget).then_some(Denied::Budget)
    }

    /// Counts asks of a time; less than none are given back.
    pub fn count(&mut self, at: i64, asks: i64) {
        self.minutes.add(at.div_euclid(MINUTE), asks, MINUTES_KEPT / MINUTE);
        self.quarters.add(at.div_euclid(QUARTER), asks, DAY_KEPT / QUARTER);
    }

    /// Books cents at a time; less than none are taken back.
    pub fn book(&mut self, at: i64, cents: f64) {
        self.owed.add(at.div_euclid(QUARTER), (cents * PER_CENT).round() as i64, DAY_KEPT / QUARTER);
    }

    /// Asks in the minute of a time.
    pub fn asked_in_minute(&self, at: i64) -> u32 {
        let minute = at.div_euclid(MINUTE);
        count(self.minutes.sum(minute..minute + 1))
    }

    /// Asks in a local day.
    pub fn asked_in(&self, day: &Range<i64>) -> u32 {
        count(self.quarters.sum(quarters(day)))
    }

    /// Cents booked in a local day.
    pub fn owed_in(&self, day: &Range<i64>) -> f64 {
        self.owed.sum(quarters(day)) as f64 / PER_CENT
    }

    /// The local day of a time.
    pub fn day(&mut self, limits: &Limits, at: i64) -> Range<i64> {
        if let Some((zone, day)) = &self.day
            && *zone == limits.time_zone
            && day.contains(&at)
        {
            return day.clone();
        }
        let day = limits.day_of(DateTime::from_timestamp_millis(at).unwrap_or_default());
        self.day = Some((limits.time_zone, day.clone()));
        day
    }
}

fn quarters(day: &Range<i64>) -> Range<i64> {
    day.start.div_euclid(QUARTER)..day.end.div_euclid(QUARTER)
}

fn count(sum: i64) -> u32 {
    u32::try_from(sum).unwrap_or(if sum < 0 { 0 } else { u32::MAX })
}

impl Denied {
    /// The word for it in metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Schedule => "schedule",
            Self::PerMinute => "per_minute",
            Self::PerDay => "per_day",
            Self::Budget => "budget",
            Self::Exclusive => "exclusive",
        }
    }
}

/// Amounts by period, the newest last.
#[derive(Debug, Clone, Default)]
struct Tally(VecDeque<(i64, i64)>);

impl Tally {
    /// Adds to a period, and forgets those more than `kept` behind the newest.
    fn add(&mut self, period: i64, amount: i64, kept: i64) {
        let behind = self.0.iter().rev().take_while(|(other, _)| *other > period).count();
        let place = self.0.len() - behind;
        match place.checked_sub(1).and_then(|last| self.0.get_mut(last)) {
            Some((same, sum)) if *same == period => *sum += amount,
            _ => self.0.insert(place, (period, amount)),
        }
        let newest = self.0.back().map_or(period, |(newest, _)| *newest);
        while self.0.front().is_some_and(|(oldest, _)| *oldest < newest - kept) {
            self.0.pop_front();
        }
    }

    fn sum(&self, periods: Range<i64>) -> i64 {
        let newer = self.0.iter().rev().skip_while(|(period, _)| *period >= periods.end);
        newer.take_while(|(period, _)| *period >= periods.start).map(|(_, amount)| amount).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_counted_apart_whatever_their_order_and_old_ones_are_forgotten() {
        let mut tally = Tally::default();
        for (period, amount) in [(5, 1), (7, 2), (6, 3), (5, 4), (7, -1)] {
            tally.add(period, amount, 10);
        }
        assert_eq!([tally.sum(5..6), tally.sum(6..7), tally.sum(7..8), tally.sum(5..8)], [5, 3, 1, 9]);
        tally.add(16, 1, 10);
        assert_eq!(tally.sum(0..100), 3 + 1 + 1);
    }
}
