//! Points in time.

use std::borrow::Cow;
use std::fmt;

use chrono::{DateTime, FixedOffset, NaiveDateTime, SecondsFormat, SubsecRound, TimeDelta, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;

use super::input::{from_scalar, text};
use super::input_kinds::has_shape;
use super::schema;

/// The shape of a date-time to the second.
const SECONDS: &str = "0000-00-00T00:00:00";

/// A point in time to the millisecond, written in UTC: `2026-11-21T00:15:55.887Z`.
///
/// Parsing is more lenient: the offset may lack its colon, have a space for its `+`, or be missing, which
/// means UTC. Up to nine fractional digits are accepted, and truncated to milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, format = DateTime)]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    /// Parses an ISO 8601 date-time.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_exact(text).map(Self::from)
    }

    /// Parses an ISO 8601 date-time without truncation.
    pub fn parse_exact(text: &str) -> Option<DateTime<Utc>> {
        let (seconds, rest) = text.split_at_checked(SECONDS.len())?;
        let shaped = has_shape(seconds, SECONDS) || has_shape(seconds, "0000-00-00 00:00:00");
        if !shaped {
            return None;
        }
        let (fraction, offset) = split_fraction(rest)?;
        let local = NaiveDateTime::parse_from_str(&seconds.replace(' ', "T"), "%Y-%m-%dT%H:%M:%S").ok()?;
        let utc = local.checked_add_signed(fraction)?.checked_sub_signed(offset_of(offset)?)?;
        Some(utc.and_utc())
    }

    /// Whether the text of a date-time says no offset from UTC.
    pub fn lacks_offset(text: &str) -> bool {
        text.get(SECONDS.len()..)
            .is_some_and(|rest| rest.trim_end().chars().all(|c| c == '.' || c.is_ascii_digit()))
    }

    /// The time `millis` milliseconds after the start of 1970; `None` outside chrono's range.
    pub fn from_millis(millis: i64) -> Option<Self> {
        DateTime::from_timestamp_millis(millis).map(Self)
    }

    /// Like [`from_millis`](Self::from_millis) for a recorded time; the start of 1970 outside chrono's range.
    pub fn at(millis: i64) -> Self {
        Self::from_millis(millis).unwrap_or_default()
    }

    /// The milliseconds since the start of 1970.
    pub fn millis(self) -> i64 {
        self.0.timestamp_millis()
    }

    /// The time as a chrono type.
    pub const fn to_utc(self) -> DateTime<Utc> {
        self.0
    }
}

/// Splits off the fraction of a second: `.887852+0000` is 887 ms and the offset `+0000`.
fn split_fraction(rest: &str) -> Option<(TimeDelta, &str)> {
    const DIGITS_MAX: usize = 9;
    let Some(fraction) = rest.strip_prefix('.') else {
        return Some((TimeDelta::zero(), rest));
    };
    let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, offset) = fraction.split_at(length);
    if !(1..=DIGITS_MAX).contains(&length) {
        return None;
    }
    let nanoseconds: i64 = format!("{digits:0<DIGITS_MAX$}").parse().ok()?;
    Some((TimeDelta::nanoseconds(nanoseconds), offset))
}

/// Parses an offset from UTC; empty means UTC. A query without percent-encoding has a space for the `+`.
fn offset_of(offset: &str) -> Option<TimeDelta> {
    let given = offset.trim_start();
    let is_east = given != offset && given.starts_with(|first: char| first.is_ascii_digit());
    let offset = if is_east { Cow::from(format!("+{given}")) } else { given.into() };
    if matches!(&*offset, "" | "Z" | "z") {
        return Some(TimeDelta::zero());
    }
    let digits = offset.strip_prefix(['+', '-'])?;
    let shaped = has_shape(digits, "00:00") || has_shape(digits, "0000");
    let ahead: FixedOffset = offset.parse().ok().filter(|_| shaped)?;
    Some(TimeDelta::seconds(ahead.local_minus_utc().into()))
}

impl From<DateTime<Utc>> for Timestamp {
    /// Truncates to milliseconds, so that a time equals itself after it was written and read.
    fn from(time: DateTime<Utc>) -> Self {
        Self(time.trunc_subsecs(3))
    }
}

from_scalar! {
    Timestamp, "an ISO 8601 date-time", None,
    describe: components => schema::reference::<Self>(components),
    read: found => text(found, crate::fault::FaultKind::Date, Self::parse),
    show: _ => None,
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("must be an ISO 8601 date-time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_clients_write_is_read() {
        for text in [
            "2026-11-21T00:15:55.887Z",
            "2026-11-21T00:15:55.887852+0000",
            "2026-11-21T00:15:55.887852+00:00",
            "2026-11-21T00:15:55.887852999",
            "2026-11-21T02:15:55.887+0200",
            "2026-11-20T19:15:55.887-05:00",
            "2026-11-21 00:15:55.887z",
            "2026-11-21T02:15:55.887 02:00",
            "2026-11-21T02:15:55.887 +0200",
        ] {
            let time = Timestamp::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(time.to_string(), "2026-11-21T00:15:55.887Z", "{text}");
        }
        for (offset, lacks) in
            [("", true), (".887", true), ("Z", false), (".8+0200", false), (" 0200", false)]
        {
            assert_eq!(Timestamp::lacks_offset(&format!("2026-11-21T00:15:55{offset}")), lacks, "{offset}");
        }
        assert_eq!(Timestamp::parse("2020-08-01T00:00:00").unwrap().to_string(), "2020-08-01T00:00:00.000Z");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "2026-11-21",
            "2026-13-21T00:00:00Z",
            "2026-11-21T25:00:00Z",
            "2026-11-21T00:00:00.Z",
            "2026-11-21T00:00:00.1234567890Z",
            "2026-11-21T00:00:00+24:00",
            "2026-11-21T00:00:00+1",
            "now",
            "2026-11-21T00:00:00Zulu",
            "2026-11-21T00:00:0é",
            "2026-11-21T00:00:00é",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_time_round_trips(millis in 0_i64..253_402_300_800_000) {
            let time = Timestamp::from_millis(millis).unwrap();
            let json = serde_json::to_string(&time).unwrap();
            prop_assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), time);
            prop_assert_eq!(time.millis(), millis);
        }

        #[test]
        fn no_text_panics(text in "[0-9TZ:.+ -]{0,40}|.{0,40}") {
            let _ = Timestamp::parse(&text);
        }
    }
}
