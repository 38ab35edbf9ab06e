//! The hours of a week in which a seat is asked, by the clock on the wall.

use chrono::{Datelike, NaiveDateTime, Timelike};

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// Windows of a week, which may overlap; without any it is always open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule(pub Vec<Window>);

/// One window, on some days of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Days on which it begins: bit 0 is Monday.
    pub days: u8,
    /// First minute of the day.
    pub from: u16,
    /// Minute of the day before which it ends, up to 24:00; not after `from` when it ends on the next day.
    pub to: u16,
}

impl Schedule {
    /// Whether there is no window at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is open at a local time. An hour that comes twice is open twice, one that is skipped never.
    pub fn open_at(&self, local: NaiveDateTime) -> bool {
        let minute = (local.hour() * 60 + local.minute()) as u16;
        let today = local.weekday().num_days_from_monday();
        self.is_empty() || self.0.iter().any(|window| window.open_at(today, minute))
    }
}

impl Window {
    fn open_at(self, today: u32, minute: u16) -> bool {
        let begins_on = |day: u32| self.days & 1 << (day % 7) != 0;
        if self.from < self.to {
            begins_on(today) && (self.from..self.to).contains(&minute)
        } else {
            begins_on(today) && (self.from..DAY).contains(&minute)
                || begins_on(today + 6) && (0..self.to).contains(&minute)
        }
    }
}
