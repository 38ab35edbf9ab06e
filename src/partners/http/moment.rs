//! Dates and times in mappings: formatted and parsed in any format and time zone.

use chrono::format::StrftimeItems;
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;
use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind};

use super::truth::plain;
use offerd_model::Timestamp;

/// The fault of an invalid date format.
pub(super) const NO_FORMAT: &str = "has an invalid date format; use one such as `'%m/%d/%Y'`";

pub(super) const NO_ZONE: &str = "names an unknown time zone; use one such as `'America/New_York'`";

pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("date", written);
    environment.add_filter("read_date", read);
}

/// `"1990-02-28"|date("%m/%d/%Y")` is `02/28/1990`; `now|date("%s")` is Unix seconds, and `now|date("%H:%M",
/// "America/New_York")` is the local time of day. A date-time is in UTC by default; a date has no zone. Other
/// values are undefined.
fn written(text: &Value, format: &str, zone: Option<&str>) -> Result<Value, Error> {
    let items = StrftimeItems::new(format).parse().map_err(|_| unfit(NO_FORMAT))?;
    let zone = zone_of(zone)?;
    let text = plain(text);
    let Some(text) = text.as_str() else { return Ok(Value::UNDEFINED) };
    let midnight = |day: NaiveDate| day.and_time(chrono::NaiveTime::MIN).and_utc().with_timezone(&Tz::UTC);
    let moment = match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        Ok(day) => Some(midnight(day)),
        Err(_) => Timestamp::parse(text).map(|time| time.to_utc().with_timezone(&zone)),
    };
    Ok(moment
        .map_or(Value::UNDEFINED, |moment| Value::from(moment.format_with_items(items.iter()).to_string())))
}

/// `"11/30/2026 5:00 PM"|read_date("%m/%d/%Y %I:%M %p", "America/New_York")` is `2026-11-30T22:00:00.000Z`;
/// without a time of day it is a date. Text that does not match the format is undefined.
fn read(text: &Value, format: &str, zone: Option<&str>) -> Result<Value, Error> {
    StrftimeItems::new(format).parse().map_err(|_| unfit(NO_FORMAT))?;
    let zone = zone_of(zone)?;
    let text = text.to_string();
    let text = text.trim();
    let whole = || DateTime::parse_from_str(text, format).ok().map(|moment| moment.with_timezone(&Utc));
    let local = || {
        let moment = NaiveDateTime::parse_from_str(text, format).ok()?;
        // A repeated local time is the first of both; a skipped one is undefined.
        Some(zone.from_local_datetime(&moment).earliest()?.with_timezone(&Utc))
    };
    let written = |moment: DateTime<Utc>| Value::from(Timestamp::from(moment).to_string());
    let day = || NaiveDate::parse_from_str(text, format).ok().map(|day| Value::from(day.to_string()));
    Ok(whole().or_else(local).map(written).or_else(day).unwrap_or(Value::UNDEFINED))
}

fn zone_of(name: Option<&str>) -> Result<Tz, Error> {
    name.map_or(Ok(Tz::UTC), |name| name.parse().map_err(|_| unfit(NO_ZONE)))
}

fn unfit(cause: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, cause)
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use serde_json::json;

    use super::super::expression::Expression;
    use super::*;

    fn run(text: &str) -> serde_json::Value {
        let context = Value::from(Serde(json!({"now": "2026-11-21T23:30:05.250Z", "born": "1990-02-28"})));
        let value = Expression::compile(text).unwrap().run(&context).unwrap();
        serde_json::to_value(&value).unwrap()
    }

    #[test]
    fn moments_are_written_as_a_partner_wants_them() {
        for (text, made) in [
            ("born|date('%m/%d/%Y')", json!("02/28/1990")),
            ("now|date('%Y%m%d')", json!("20261121")),
            ("now|date('%s')|int", json!(1_795_303_805)),
            ("now|date('%Y-%m-%dT%H:%M:%S%.3fZ')", json!("2026-11-21T23:30:05.250Z")),
            ("now|date('%I:%M %p %Z', 'America/New_York')", json!("06:30 PM EST")),
            ("born|date('%d.%m.%Y', 'Asia/Tokyo')", json!("28.02.1990")),
            ("'11/30/2026'|read_date('%m/%d/%Y')", json!("2026-11-30")),
            (
                "'11/30/2026 5:00 PM'|read_date('%m/%d/%Y %I:%M %p', 'America/New_York')",
                json!("2026-11-30T22:00:00.000Z"),
            ),
            ("1795303805|read_date('%s')", json!("2026-11-21T23:30:05.000Z")),
            ("'soon'|read_date('%m/%d/%Y')|default('none')", json!("none")),
            ("7|date('%Y')|default('none')", json!("none")),
        ] {
            assert_eq!(run(text), made, "{text}");
        }
    }

    #[test]
    fn formats_and_zones_that_there_are_not_are_told_when_they_are_compiled() {
        for (text, fault) in [
            ("now|date('%Q')", NO_FORMAT),
            ("now|date('%H', 'Mars/Base')", NO_ZONE),
            ("'1'|read_date('%Q')", NO_FORMAT),
        ] {
            assert_eq!(Expression::compile(text).unwrap_err(), fault, "{text}");
        }
    }
}
