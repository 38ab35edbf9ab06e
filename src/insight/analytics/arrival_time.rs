//! The arrival time of a record, by which feeds are ordered.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Serialize};

use offerd_model::Timestamp;

/// A time in microseconds since 1970: finer than a [`Timestamp`], since a page may end within a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ArrivalTime(pub u64);

impl ArrivalTime {
    /// 2020-08-01: the earliest arrival (specification, Limits 4).
    pub const FIRST: Self = Self(1_596_240_000_000_000);

    /// The last microsecond of the year 9999; later times have another notation.
    const LAST: Self = Self(253_402_300_799_999_999);

    /// Parses a time from a client. Times before 1970 count as 1970, times after 9999 as the end of 9999.
    pub fn parse(text: &str) -> Option<Self> {
        let micros = Timestamp::parse_exact(text)?.timestamp_micros();
        Some(Self(u64::try_from(micros).unwrap_or(0)).min(Self::LAST))
    }

    /// The time this much later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(micros(span)))
    }

    /// The time this much earlier.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(micros(span)))
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// In UTC, with all six digits: `2026-11-21T00:15:55.887852Z`.
impl fmt::Display for ArrivalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = i64::try_from(self.0).unwrap_or(i64::MAX);
        let time = DateTime::from_timestamp_micros(micros).unwrap_or(DateTime::<chrono::Utc>::MAX_UTC);
        f.write_str(&time.to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn history_begins_in_august_2020() {
        assert_eq!(ArrivalTime::FIRST.to_string(), "2020-08-01T00:00:00.000000Z");
    }

    #[test]
    fn microseconds_are_read_however_the_offset_is_written() {
        let time = ArrivalTime::parse("2026-11-21T00:15:55.887852Z").unwrap();
        assert_eq!(time.0 % 1_000_000, 887_852);
        for text in ["2026-11-21T00:15:55.887852", "2026-11-21T00:15:55.887852+0000"] {
            assert_eq!(ArrivalTime::parse(text), Some(time), "{text}");
        }
        assert_eq!(ArrivalTime::parse("1066-10-14T09:00:00Z"), Some(ArrivalTime(0)));
        assert_eq!(ArrivalTime::parse("9999-12-31T23:59:60Z"), Some(ArrivalTime::LAST), "a leap second");
        assert_eq!(ArrivalTime::parse("yesterday"), None);
    }

    proptest! {
        #[test]
        fn every_time_round_trips(micros in 0_u64..253_402_300_800_000_000) {
            let time = ArrivalTime(micros);
            prop_assert_eq!(ArrivalTime::parse(&time.to_string()), Some(time));
        }
    }
}
