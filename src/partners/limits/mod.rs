//! The limits of a seat. Pure: `matching::limiter` counts; this module only defines the bounds.

pub mod declared;

use chrono::{DateTime, Datelike, Duration, NaiveDate, TimeZone, Timelike, Utc};
pub use declared::{Exclusive, Limits};

use offerd_base::declaration::DeclaredTable;

impl Default for Limits {
    fn default() -> Self {
        DeclaredTable::empty::<serde::de::value::Error>().expect("each of its keys may be left out")
    }
}

impl Limits {
    /// Whether a time is within its first and last day.
    pub fn runs_at(&self, at: DateTime<Utc>) -> bool {
        if self.starts_on.is_none() && self.ends_on.is_none() {
            return true;
        }
        let today = at.with_timezone(&self.time_zone).date_naive();
        self.starts_on.is_none_or(|first| first <= today) && self.ends_on.is_none_or(|last| today <= last)
    }

    /// Start of its first day in Unix milliseconds, if in the future.
    pub fn starts_after(&self, at: DateTime<Utc>) -> Option<i64> {
        let today = at.with_timezone(&self.time_zone).date_naive();
        self.starts_on.filter(|first| today < *first).map(|first| self.begin(first))
    }

    /// Whether its last day is over.
    pub fn is_over(&self, at: DateTime<Utc>) -> bool {
        let today = at.with_timezone(&self.time_zone).date_naive();
        self.ends_on.is_some_and(|last| last < today)
    }

    /// Its first and last day in words; `None` if it has neither.
    pub fn days(&self) -> Option<String> {
        let zone = self.time_zone;
        match (self.starts_on, self.ends_on) {
            (None, None) => None,
            (Some(first), None) => Some(format!("a day from {first} on in {zone}")),
            (None, Some(last)) => Some(format!("a day up to {last} in {zone}")),
            (Some(first), Some(last)) => Some(format!("a day from {first} to {last} in {zone}")),
        }
    }

    /// Whether the schedule is open. A repeated hour is open twice, a skipped one never.
    pub fn open_at(&self, at: DateTime<Utc>) -> bool {
        let local = at.with_timezone(&self.time_zone);
        let minute = (local.hour() * 60 + local.minute()) as u16;
        let today = local.weekday().num_days_from_monday();
        self.hours.is_empty() || self.hours.iter().any(|window| window.open_at(today, minute))
    }

    /// The next time at which the schedule opens or closes; `None` if not within two weeks.
    pub fn next_change(&self, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        // By the minute, the granularity of windows and clock changes; only listings call this.
        const FORTNIGHT: i64 = 14 * 24 * 60;
        if self.hours.is_empty() {
            return None;
        }
        let open = self.open_at(at);
        let minute = at - Duration::milliseconds(at.timestamp_millis().rem_euclid(60_000));
        let minutes = (1..=FORTNIGHT).map(|minutes| minute + Duration::minutes(minutes));
        minutes.into_iter().find(|later| self.open_at(*later) != open)
    }

    /// Start of a local day. Where clocks skip midnight, the moment after the gap.
    fn begin(&self, day: NaiveDate) -> i64 {
        const STEP: i64 = 15;
        let midnight = day.and_hms_opt(0, 0, 0).unwrap_or_default();
        let steps = (0..24 * 60 / STEP).map(|step| midnight + Duration::minutes(step * STEP));
        let first = steps.into_iter().find_map(|local| self.time_zone.from_local_datetime(&local).earliest());
        first.map_or_else(|| midnight.and_utc().timestamp_millis(), |first| first.timestamp_millis())
    }
}

const DAY: u16 = 24 * 60;

/// A window on some days of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekWindow {
    /// Days on which it begins: bit 0 is Monday.
    pub days: u8,
    /// First minute of the day.
    pub from: u16,
    /// Minute of the day at which it ends (exclusive), up to 24:00; on the next day if not after `from`.
    pub to: u16,
}

impl WeekWindow {
    fn open_at(self, today: u32, minute: u16) -> bool {
        let begins_on = |day: u32| self.days & 1 << (day % 7) != 0;
        let (end, on_next_day) = if self.from < self.to { (self.to, 0) } else { (DAY, self.to) };
        begins_on(today) && (self.from..end).contains(&minute)
            || begins_on(today + 6) && (0..on_next_day).contains(&minute)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use chrono_tz::Tz;

    use super::declared::Period;
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn limits(zone: Tz, windows: &[(&[u8], u16, u16)]) -> Limits {
        let window = |(days, from, to): &(&[u8], u16, u16)| {
            let days = days.iter().fold(0, |days, day| days | 1 << day);
            WeekWindow { days, from: from * 60, to: to * 60 }
        };
        let hours = windows.iter().map(window).collect();
        Limits { time_zone: zone, hours, ..Limits::default() }
    }

    fn span(period: Period, limits: &Limits, moment: &str) -> Range<i64> {
        period.span(limits, at(moment).timestamp_millis())
    }

    const NEW_YORK: Tz = Tz::America__New_York;
    const WORK_DAYS: &[u8] = &[0, 1, 2, 3, 4];

    #[test]
    fn without_windows_it_is_always_open() {
        let limits = Limits::default();
        assert!(limits.open_at(at("2026-11-21T03:00:00Z")));
        assert_eq!(limits.next_change(at("2026-11-21T03:00:00Z")), None);
    }

    #[test]
    fn office_hours_follow_the_clock_on_the_wall_over_both_changes() {
        let limits = limits(NEW_YORK, &[(WORK_DAYS, 8, 20)]);
        // Fridays before and Mondays after the clock changes of 2026: 8 March and 1 November.
        for (opens, offset) in
            [("2026-03-06", 13), ("2026-03-09", 12), ("2026-10-30", 12), ("2026-11-02", 13)]
        {
            let opens = at(&format!("{opens}T{offset}:00:00Z"));
            assert!(!limits.open_at(opens - Duration::milliseconds(1)), "{opens}");
            assert!(limits.open_at(opens), "{opens}");
            assert_eq!(limits.next_change(opens), Some(opens + Duration::hours(12)));
        }
        // From Friday evening to Monday morning: one hour shorter in spring, one longer in autumn.
        assert_eq!(limits.next_change(at("2026-03-07T01:00:00Z")), Some(at("2026-03-09T12:00:00Z")));
        assert_eq!(limits.next_change(at("2026-10-31T00:00:00Z")), Some(at("2026-11-02T13:00:00Z")));
    }

    #[test]
    fn a_window_over_midnight_belongs_to_the_day_on_which_it_begins() {
        let friday_night = limits(Tz::UTC, &[(&[4], 22, 2)]);
        assert!(!friday_night.open_at(at("2026-11-20T01:59:00Z")), "the night before");
        assert!(friday_night.open_at(at("2026-11-20T22:00:00Z")));
        assert!(friday_night.open_at(at("2026-11-21T01:59:59Z")));
        assert!(!friday_night.open_at(at("2026-11-21T02:00:00Z")));
        assert!(!friday_night.open_at(at("2026-11-21T22:00:00Z")));
    }

    #[test]
    fn an_hour_that_comes_twice_is_open_twice_and_one_that_is_skipped_is_not() {
        let limits = limits(NEW_YORK, &[(&[6], 1, 3)]);
        // 1 November 2026: 01:00 occurs at 05:00 and at 06:00 UTC.
        assert!(limits.open_at(at("2026-11-01T05:30:00Z")) && limits.open_at(at("2026-11-01T06:30:00Z")));
        assert_eq!(limits.next_change(at("2026-11-01T05:00:00Z")), Some(at("2026-11-01T08:00:00Z")));
        // 8 March 2026: 02:00 is skipped to 03:00.
        assert_eq!(limits.next_change(at("2026-03-08T06:00:00Z")), Some(at("2026-03-08T07:00:00Z")));
    }

    #[test]
    fn weeks_begin_on_monday_and_months_on_their_first_day_by_the_clock_on_the_wall() {
        let new_york = limits(NEW_YORK, &[]);
        // A Sunday evening in New York, Monday in UTC; clocks go back on the first.
        let [week, month] =
            [Period::Week, Period::Month].map(|it| span(it, &new_york, "2026-11-02T03:00:00Z"));
        let began = |at: &str| self::at(at).timestamp_millis();
        assert_eq!(week, began("2026-10-26T04:00:00Z")..began("2026-11-02T05:00:00Z"));
        assert_eq!(month, began("2026-11-01T04:00:00Z")..began("2026-12-01T05:00:00Z"));
        assert_eq!(span(Period::Month, &new_york, "2026-11-01T03:59:59Z").end, month.start);
    }

    #[test]
    fn the_first_and_the_last_day_are_local_and_both_of_them_count() {
        let day = |text: &str| text.parse().ok();
        let limits =
            Limits { starts_on: day("2026-12-01"), ends_on: day("2026-12-02"), ..limits(NEW_YORK, &[]) };
        for (moment, runs) in [
            ("2026-12-01T04:59:59Z", false),
            ("2026-12-01T05:00:00Z", true),
            ("2026-12-03T04:59:59Z", true),
            ("2026-12-03T05:00:00Z", false),
        ] {
            assert_eq!(limits.runs_at(at(moment)), runs, "{moment}");
            assert_eq!(limits.is_over(at(moment)), moment == "2026-12-03T05:00:00Z", "{moment}");
        }
        let starts = at("2026-12-01T05:00:00Z").timestamp_millis();
        assert_eq!(limits.starts_after(at("2026-11-21T00:00:00Z")), Some(starts));
        assert_eq!(limits.starts_after(at("2026-12-04T00:00:00Z")), None);
    }

    #[test]
    fn days_are_local_and_as_long_as_they_are() {
        let hours = |day: Range<i64>| (day.end - day.start) / 3_600_000;
        let new_york = limits(NEW_YORK, &[]);
        let day = span(Period::Day, &new_york, "2026-11-21T03:00:00Z");
        assert_eq!(day.start, at("2026-11-20T05:00:00Z").timestamp_millis());
        assert_eq!(hours(day), 24);
        assert_eq!(hours(span(Period::Day, &new_york, "2026-03-08T12:00:00Z")), 23);
        assert_eq!(hours(span(Period::Day, &new_york, "2026-11-01T12:00:00Z")), 25);
        // In Lebanon clocks skip midnight.
        let beirut = limits(Tz::Asia__Beirut, &[]);
        assert_eq!(hours(span(Period::Day, &beirut, "2026-03-29T12:00:00Z")), 23);
        assert_eq!(
            span(Period::Day, &beirut, "2026-03-29T12:00:00Z").start,
            at("2026-03-28T22:00:00Z").timestamp_millis()
        );
    }
}
