//! `[products.<type>.limits]` and `exclusive`, as an operator writes them.

use chrono::NaiveDate;
use chrono_tz::Tz;

use super::Schedule;
use offerd_base::declaration::{Refusal, if_any, is_key};
use offerd_base::table;

table! {
    /// `[products.<type>.limits]`: when and how often the partner is asked.
    ///
    /// Asks are counted when a lead's rate table is stored with the partner among those who are asked, and for second look
    /// when it begins. Leads of test tokens are not counted, and only a pause, an exclusive partner
    /// or a suppression list keeps them from one.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Limits {
        /// Most asks in one minute of the clock.
        per_minute: Option<u32> = if_any(cap) => optional,
        /// Most asks in one day of `time_zone`.
        per_day: Option<u32> = if_any(cap) => optional,
        /// Most asks in one week of `time_zone`, from Monday.
        per_week: Option<u32> = if_any(cap) => optional,
        /// Most asks in one month of `time_zone`.
        per_month: Option<u32> = if_any(cap) => optional,
        /// Dollars of payouts booked in one day of `time_zone` from which on it is not asked that day. A payout that is taken
        /// back counts no more on the day on which it was booked.
        per_day_budget: Option<f64> = if_any(cents) => optional,
        /// Share of the leads that it is asked about, above 0 and at most 1: 0.25 is one in four. Which they are follows from the
        /// uuids of the leads, so that a lead that comes again, or is replayed, is among them or is not, as before.
        share: Option<f64> = share => optional,
        /// First day of `time_zone` on which it is asked, such as `2026-12-01`.
        starts_on: Option<NaiveDate> = if_any(day) => optional,
        /// Last day of `time_zone` on which it is asked.
        ends_on: Option<NaiveDate> = if_any(day) => optional,
        /// Whose days and hours these are, by its IANA name such as `America/New_York`; `UTC` when absent.
        time_zone: Tz = time_zone => or(Tz::UTC),
        /// When it is asked, by the clock on the wall; always when absent.
        schedule: Vec<Window> => optional,
        .. pub hours: Schedule
    }

    /// One window of `schedule`: `{ days = ["mon..fri", "sun"], from = "08:00", to = "20:00" }`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Window {
        /// Days on which it begins, each one or a span; every day when absent.
        days: Option<Vec<String>>,
        /// When it begins; midnight when absent.
        from: Option<String>,
        /// When it ends, `24:00` when absent; not after `from` means on the next day.
        to: Option<String>,
    }
}

/// A number of asks. Nobody is asked more often than the greatest, so that is none.
fn cap(asks: i64) -> Result<u32, Refusal> {
    if asks < 1 {
        return Err(vec!["must be at least 1; `paused = true` takes the partner out".to_owned()]);
    }
    Ok(u32::try_from(asks).unwrap_or(u32::MAX))
}

/// Cents, of dollars.
fn cents(dollars: f64) -> Result<f64, Refusal> {
    let is_some = dollars.is_finite() && dollars > 0.0;
    is_some.then_some(dollars * 100.0).ok_or_else(|| vec![format!("must be dollars above 0, got {dollars}")])
}

/// A share of the leads; all of them is none.
fn share(share: f64) -> Result<Option<f64>, Refusal> {
    if !(share > 0.0 && share <= 1.0) {
        let wanted = "must be above 0 and at most 1";
        return Err(vec![format!("{wanted}, got {share}; `paused = true` takes the partner out")]);
    }
    Ok(Some(share).filter(|share| *share < 1.0))
}

/// A day, as a text or as TOML's own.
fn day(value: toml::Value) -> Result<NaiveDate, Refusal> {
    date(&value).ok_or_else(|| vec![format!("must be a date `YYYY-MM-DD`, got `{value}`")])
}

/// A day, as a text or as TOML's own.
pub fn date(value: &toml::Value) -> Option<NaiveDate> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.parse().ok()
}

fn time_zone(name: String) -> Result<Tz, Refusal> {
    name.parse().map_err(|_| {
        // People write the city: `New York` is meant to be `America/New_York`.
        let wanted = name.to_lowercase().replace(' ', "_");
        let likeness = |known: &str| {
            let known = known.to_lowercase();
            let city = known.rsplit('/').next().unwrap_or_default();
            let own_city = wanted.rsplit('/').next().unwrap_or_default();
            let whole = strsim::jaro_winkler(&wanted, &known);
            ((strsim::jaro_winkler(own_city, city) + whole) * 1000.0) as u32
        };
        let zones = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
        let nearest = zones.max_by_key(|known| likeness(known)).unwrap_or("America/New_York");
        vec![format!("must be an IANA time zone, got `{name}`; did you mean `{nearest}`?")]
    })
}

/// `exclusive`: among whom a seat takes a lead alone.
///
/// Of those who fit a lead, are asked together and are let through by their limits, the exclusive one is asked alone:
/// with `true` among all of its product type, with a name only among those who name the same group. Of several the first
/// by key takes the lead. The others are asked when it cannot: paused, closed, or at a limit. They are not asked
/// afterwards, whatever it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exclusive {
    /// Among all seats of its product type.
    Product,
    /// Among the seats of its product type that name this group too.
    Group(String),
}

/// Reads `exclusive`: `true`, `false` or the name of a group.
///
/// # Errors
/// That it is none of them.
pub fn exclusive(value: toml::Value) -> Result<Option<Exclusive>, Refusal> {
    match value {
        toml::Value::Boolean(alone) => Ok(alone.then_some(Exclusive::Product)),
        toml::Value::String(group) if is_key(&group) => Ok(Some(Exclusive::Group(group))),
        toml::Value::String(group) => {
            Err(vec![format!("must be lower-case letters, digits, `-` and `_`, got `{group}`")])
        }
        _ => Err(vec!["must be `true`, `false` or the name of a group".to_owned()]),
    }
}
