//! Formats values for people, in commands and on pages.

use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

/// Shown for an unknown value.
pub const UNKNOWN: &str = "–";

/// Formats a known value; a dash otherwise.
pub fn known<T>(value: Option<T>, write: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), write)
}

/// A whole number, in groups of three digits: `12,345`.
pub fn count(number: f64) -> String {
    grouped(number.round() as i64)
}

/// A count with its noun, whose plural takes an s: `1 offer`, `2 offers`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A number with as many decimals as matter: `0.02`, `3.4`, `120`.
pub fn rate(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        small if small < 1.0 => format!("{number:.2}"),
        middling if middling < 100.0 => format!("{number:.1}"),
        _ => count(number),
    }
}

/// A duration given in seconds, in a suitable unit: `350 µs`, `4.2 ms`, `1.25 s`, `3 min`.
pub fn seconds(seconds: f64) -> String {
    match seconds.abs() {
        0.0 => "0 s".to_owned(),
        tiny if tiny < 0.001 => format!("{:.0} µs", seconds * 1e6),
        small if small < 0.01 => format!("{} ms", short((seconds * 1e4).round() / 10.0)),
        middling if middling < 1.0 => format!("{:.0} ms", seconds * 1e3),
        large if large < 10.0 => format!("{} s", short(seconds)),
        larger if larger < 120.0 => format!("{seconds:.0} s"),
        long if long < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        longer if longer < 172_800.0 => format!("{:.0} h", seconds / 3_600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

/// A share in percent: `99.2 %`.
pub fn percent(share: f64) -> String {
    match share {
        whole if whole <= 0.0 || whole >= 1.0 => format!("{:.0} %", whole * 100.0),
        // A partial share is never rounded to all or none.
        share => format!("{:.1} %", (share * 100.0).clamp(0.1, 99.9)),
    }
}

/// An amount in dollars, with cents unless they are zero: `$1,234.50`, `−$95`.
pub fn dollars(dollars: f64) -> String {
    let cents = (dollars.abs() * 100.0).round() as i64;
    let sign = if dollars < 0.0 && cents > 0 { "−" } else { "" };
    let fraction = if cents % 100 == 0 { String::new() } else { format!(".{:02}", cents % 100) };
    format!("{sign}${}{fraction}", grouped(cents / 100))
}

/// A size given in bytes: `1.4 GiB`.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut size, mut unit) = (bytes, "B");
    for larger in UNITS {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    if unit == "B" { format!("{size:.0} B") } else { format!("{size:.1} {unit}") }
}

fn at(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap_or_default()
}

/// The day of a time in Unix milliseconds, in a time zone.
pub fn day(ms: i64, zone: Tz) -> NaiveDate {
    at(ms).with_timezone(&zone).date_naive()
}

/// When a day begins in a time zone, in Unix milliseconds; where clocks skip midnight, after the gap.
pub fn begins(day: NaiveDate, zone: Tz) -> i64 {
    const STEP_MINUTES: i64 = 15;
    let midnight = day.and_time(NaiveTime::MIN);
    let steps = (0..24 * 60 / STEP_MINUTES).map(|nth| midnight + TimeDelta::minutes(nth * STEP_MINUTES));
    let first = steps.into_iter().find_map(|local| zone.from_local_datetime(&local).earliest());
    first.map_or_else(|| midnight.and_utc().timestamp_millis(), |first| first.timestamp_millis())
}

/// The UTC time of day of a time in Unix milliseconds.
pub fn clock(ms: i64) -> String {
    at(ms).format("%H:%M:%S").to_string()
}

/// The time to the minute: `2026-11-20 10:00 UTC`.
pub fn minute(ms: i64) -> String {
    at(ms).format("%Y-%m-%d %H:%M UTC").to_string()
}

/// The time to the second, in ISO 8601.
pub fn moment(ms: i64) -> String {
    at(ms).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// The time to the millisecond, in ISO 8601.
pub fn instant(ms: i64) -> String {
    at(ms).to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    format!("{}{}", if number < 0 { "−" } else { "" }, groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!(count(-1_000.0), "−1,000");
        assert_eq!((rate(0.0), rate(0.021), rate(3.44)), ("0".into(), "0.02".into(), "3.4".into()));
        assert_eq!((seconds(0.00035), seconds(0.0042)), ("350 µs".into(), "4.2 ms".into()));
        assert_eq!((seconds(0.35), seconds(15.0)), ("350 ms".into(), "15 s".into()));
        assert_eq!((dollars(1_234.5), dollars(-95.0)), ("$1,234.50".into(), "−$95".into()));
        assert_eq!((bytes(512.0), bytes(1.5 * 1024.0 * 1024.0)), ("512 B".into(), "1.5 MiB".into()));
        assert_eq!(moment(0), "1970-01-01T00:00:00Z");
        assert_eq!((minute(0), clock(61_000)), ("1970-01-01 00:00 UTC".into(), "00:01:01".into()));
    }

    #[test]
    fn what_is_nearly_all_is_not_all() {
        assert_eq!(percent(0.99999), "99.9 %");
        assert_eq!(percent(0.00001), "0.1 %");
        assert_eq!(percent(1.0), "100 %");
    }
}
