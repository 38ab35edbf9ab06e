//! Filters of the templates, for figures and code. An unknown figure becomes a dash.

use chrono::{DateTime, Utc};
use minijinja::HtmlEscape;
use minijinja::value::Value;

use offerd_insight::sheet::figures::known;

/// A filter that formats a number.
pub(super) fn figure(write: fn(f64) -> String) -> impl Fn(Value) -> String {
    move |value| known(number(&value), write)
}

/// A filter that formats a time, given in Unix milliseconds or as ISO 8601.
pub(super) fn time(write: fn(i64) -> String) -> impl Fn(Value) -> String {
    move |value| {
        let ms = match value.as_str() {
            Some(text) => text.parse::<DateTime<Utc>>().ok().map(|at| at.timestamp_millis()),
            None => number(&value).map(|ms| ms as i64),
        };
        known(ms, write)
    }
}

/// A text whose names in backticks become code.
pub(super) fn code(words: &str) -> Value {
    let mut html = String::new();
    for (nth, part) in words.split('`').enumerate() {
        let part = HtmlEscape(part);
        html.push_str(&if nth % 2 == 1 { format!("<code>{part}</code>") } else { part.to_string() });
    }
    Value::from_safe_string(html)
}

fn number(value: &Value) -> Option<f64> {
    f64::try_from(value.clone()).ok().filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_insight::sheet::figures::{
        UNKNOWN, bytes, clock, count, dollars, moment, percent, rate, seconds,
    };

    #[test]
    fn names_are_code_and_what_is_written_stays_text() {
        assert_eq!(code("`a<b>` from 1").to_string(), "<code>a&lt;b&gt;</code> from 1");
        assert_eq!(code("<i>").to_string(), "&lt;i&gt;");
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        for nothing in [Value::from(()), Value::from(f64::NAN)] {
            for write in [count, rate, seconds, percent, dollars, bytes] {
                assert_eq!(figure(write)(nothing.clone()), UNKNOWN);
            }
            for write in [clock, moment] {
                assert_eq!(time(write)(nothing.clone()), UNKNOWN);
            }
        }
    }

    #[test]
    fn a_moment_is_a_number_or_a_text() {
        let texts = [Value::from(0), Value::from("1970-01-01T00:00:00.5Z")].map(time(moment));
        assert_eq!(texts, ["1970-01-01T00:00:00Z"; 2]);
    }
}
