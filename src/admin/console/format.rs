//! How figures are written for people: the filters of the templates. A figure that is not known is a dash.

use chrono::{DateTime, SecondsFormat, Utc};
use minijinja::HtmlEscape;
use minijinja::value::Value;

/// Stands for what is not known.
const UNKNOWN: &str = "–";

/// `12 345`: a whole number, in groups of three digits.
pub(super) fn count(value: &Value) -> String {
    number(value).map_or_else(unknown, |number| grouped(number.round() as i64))
}

/// `1 rule`, `12 rules`: a number of things that have a plural of their own letter.
pub(super) fn counted(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(&Value::from(number)))
}

/// A number with as many decimals as matter: `0.02`, `3.4`, `120`.
pub(super) fn rate(value: &Value) -> String {
    number(value).map_or_else(unknown, |number| match number.abs() {
        0.0 => "0".to_owned(),
        small if small < 1.0 => format!("{number:.2}"),
        middling if middling < 100.0 => format!("{number:.1}"),
        _ => grouped(number.round() as i64),
    })
}

/// A time given in seconds, in the unit that suits it: `350 µs`, `4.2 ms`, `1.25 s`, `3 min`.
pub(super) fn seconds(value: &Value) -> String {
    number(value).map_or_else(unknown, |seconds| match seconds.abs() {
        0.0 => "0 s".to_owned(),
        tiny if tiny < 0.001 => format!("{:.0} µs", seconds * 1e6),
        small if small < 0.01 => format!("{} ms", short((seconds * 1e4).round() / 10.0)),
        middling if middling < 1.0 => format!("{:.0} ms", seconds * 1e3),
        large if large < 10.0 => format!("{} s", short(seconds)),
        larger if larger < 120.0 => format!("{seconds:.0} s"),
        long if long < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        longer if longer < 172_800.0 => format!("{:.0} h", seconds / 3_600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    })
}

/// A share of one, in percent: `99.2 %`.
pub(super) fn percent(value: &Value) -> String {
    number(value).map_or_else(unknown, |share| match share {
        whole if whole <= 0.0 || whole >= 1.0 => format!("{:.0} %", whole * 100.0),
        // What is not all is never rounded to all.
        share => format!("{:.1} %", (share * 100.0).clamp(0.1, 99.9)),
    })
}

/// An amount of dollars, with cents unless there are none: `$1,234.50`, `−$95`.
pub(super) fn dollars(value: &Value) -> String {
    number(value).map_or_else(unknown, |dollars| {
        let cents = (dollars.abs() * 100.0).round() as i64;
        let sign = if dollars < 0.0 && cents > 0 { "−" } else { "" };
        let fraction = if cents % 100 == 0 { String::new() } else { format!(".{:02}", cents % 100) };
        format!("{sign}${}{fraction}", grouped(cents / 100))
    })
}

/// Words in which names stand between backticks, with the names as code.
pub(super) fn code(words: &str) -> Value {
    let mut html = String::new();
    for (nth, part) in words.split('`').enumerate() {
        let part = HtmlEscape(part);
        html.push_str(&if nth % 2 == 1 { format!("<code>{part}</code>") } else { part.to_string() });
    }
    Value::from_safe_string(html)
}

/// A size given in bytes: `1.4 GiB`.
pub(super) fn bytes(value: &Value) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    number(value).map_or_else(unknown, |bytes| {
        let (mut size, mut unit) = (bytes, "B");
        for larger in UNITS {
            if size < 1024.0 {
                break;
            }
            (size, unit) = (size / 1024.0, larger);
        }
        if unit == "B" { format!("{size:.0} B") } else { format!("{size:.1} {unit}") }
    })
}

/// The time of day of a moment in Unix milliseconds, UTC.
pub(super) fn clock(value: &Value) -> String {
    time(value).map_or_else(unknown, |time| time.format("%H:%M:%S").to_string())
}

/// A moment in Unix milliseconds, as ISO 8601 has it.
pub(super) fn moment(value: &Value) -> String {
    time(value).map_or_else(unknown, |time| time.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// A number with two decimals at most.
fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Of Unix milliseconds, or of what is written as ISO 8601 has it.
fn time(value: &Value) -> Option<DateTime<Utc>> {
    if let Some(text) = value.as_str() {
        return text.parse().ok();
    }
    number(value).and_then(|millis| DateTime::from_timestamp_millis(millis as i64))
}

fn number(value: &Value) -> Option<f64> {
    f64::try_from(value.clone()).ok().filter(|number| number.is_finite())
}

fn unknown() -> String {
    UNKNOWN.to_owned()
}

/// Groups of three digits.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_for_people() {
        let of = |filter: fn(&Value) -> String, number: f64| filter(&Value::from(number));
        assert_eq!(of(count, 1_234_567.0), "1,234,567");
        assert_eq!(of(count, -1_000.0), "−1,000");
        assert_eq!(
            (of(rate, 0.0), of(rate, 0.021), of(rate, 3.44)),
            ("0".into(), "0.02".into(), "3.4".into())
        );
        assert_eq!((of(seconds, 0.00035), of(seconds, 0.0042)), ("350 µs".into(), "4.2 ms".into()));
        assert_eq!((of(seconds, 0.35), of(seconds, 15.0)), ("350 ms".into(), "15 s".into()));
        assert_eq!((of(dollars, 1_234.5), of(dollars, -95.0)), ("$1,234.50".into(), "−$95".into()));
        assert_eq!((of(bytes, 512.0), of(bytes, 1.5 * 1024.0 * 1024.0)), ("512 B".into(), "1.5 MiB".into()));
        assert_eq!(of(moment, 0.0), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn names_are_code_and_what_is_written_stays_text() {
        assert_eq!(code("`a<b>` from 1").to_string(), "<code>a&lt;b&gt;</code> from 1");
        assert_eq!(code("<i>").to_string(), "&lt;i&gt;");
    }

    #[test]
    fn what_is_nearly_all_is_not_all() {
        assert_eq!(percent(&Value::from(0.99999)), "99.9 %");
        assert_eq!(percent(&Value::from(0.00001)), "0.1 %");
        assert_eq!(percent(&Value::from(1.0)), "100 %");
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        for filter in [count, rate, seconds, percent, dollars, bytes, clock, moment] {
            assert_eq!(filter(&Value::from(())), UNKNOWN);
            assert_eq!(filter(&Value::from(f64::NAN)), UNKNOWN);
        }
    }
}
