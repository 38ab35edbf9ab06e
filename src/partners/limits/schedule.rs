//! The weekly opening hours of a seat, in local time.

use chrono::{Datelike, NaiveDateTime, Timelike};

const DAY: u16 = 24 * 60;

/// Windows of a week, which may overlap; always open without any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule(pub Vec<WeekWindow>);

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

impl Schedule {
    /// Whether there are no windows.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is open at a local time. A repeated hour is open twice, a skipped one never.
    pub fn open_at(&self, local: NaiveDateTime) -> bool {
        let minute = (local.hour() * 60 + local.minute()) as u16;
        let today = local.weekday().num_days_from_monday();
        self.is_empty() || self.0.iter().any(|window| window.open_at(today, minute))
    }
}

impl WeekWindow {
    fn open_at(self, today: u32, minute: u16) -> bool {
        let begins_on = |day: u32| self.days & 1 << (day % 7) != 0;
        let (end, on_next_day) = if self.from < self.to { (self.to, 0) } else { (DAY, self.to) };
        begins_on(today) && (self.from..end).contains(&minute)
            || begins_on(today + 6) && (0..on_next_day).contains(&minute)
    }
}
