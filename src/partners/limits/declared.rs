//! `[products.<type>.limits]` and `exclusive`, as an operator writes them.

use std::ops::Range;

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, Weekday};
use chrono_tz::Tz;

use super::WeekWindow;
use offerd_base::declaration::{KEY_CHARS, ValueFaults, if_any, is_key};
use offerd_base::table;

table! {
    /// `[products.<type>.limits]`: when and how often the partner is asked.
    ///
    /// An ask counts when a lead's rate table is stored with the partner asked, or for second
    /// look when that begins. Leads of test tokens do not count, and no limit of this table and no breaker
    /// keeps them from a partner; a pause, an exclusive partner, a suppression list or an experiment does.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Limits {
        /// Maximum asks per minute of the clock.
        per_minute: Option<u32> = if_any(cap) => optional,
        /// Maximum asks per day of `time_zone`.
        per_day: Option<u32> = if_any(cap) => optional,
        /// Maximum asks per week of `time_zone`, starting on Monday.
        per_week: Option<u32> = if_any(cap) => optional,
        /// Maximum asks per month of `time_zone`.
        per_month: Option<u32> = if_any(cap) => optional,
        /// Budget in dollars of payouts booked per day of `time_zone`; once reached, the partner is not asked
        /// for the rest of the day. A reversed payout no longer counts on the day on which it was booked.
        per_day_budget: Option<f64> = if_any(cents) => optional,
        /// Share of leads that it is asked about, above 0 and at most 1: 0.25 is one in four. Chosen by lead
        /// uuid, so that a repeated or replayed lead gets the same choice.
        share: Option<f64> = share => optional,
        /// First day of `time_zone` on which it is asked, such as `2026-12-01`.
        starts_on: Option<NaiveDate> = if_any(day) => optional,
        /// Last day of `time_zone` on which it is asked.
        ends_on: Option<NaiveDate> = if_any(day) => optional,
        /// IANA time zone of these days and hours, such as `America/New_York`; `UTC` when absent.
        time_zone: Tz = time_zone => or(Tz::UTC),
        /// Opening hours in local time; always open when absent.
        schedule: Vec<Window> => optional,
        .. pub hours: Vec<WeekWindow>
    }

    /// One window of `schedule`: `{ days = ["mon..fri", "sun"], from = "08:00", to = "20:00" }`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Window {
        /// Days on which the window begins, each a day or a range; every day when absent.
        days: Option<Vec<String>>,
        /// Start; midnight when absent.
        from: Option<String>,
        /// End; `24:00` when absent. If not after `from`, it is on the next day.
        to: Option<String>,
    }
}

/// Declares the periods of caps, shortest first: the cap's key, the letter of its records, the days of the
/// longest one, the current one in words; and its first day and the first of the next, for a day in it.
macro_rules! periods {
    ($($(#[$doc:meta])+ $period:ident $cap:ident $letter:literal $days:literal $words:literal
        $begins:expr;)+) => {
        /// A period in which a cap counts asks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Period {
            $($(#[$doc])+ $period,)+
        }

        impl Period {
            /// Every period, shortest first.
            pub const ALL: [Self; [$($days),+].len()] = [$(Self::$period),+];

            /// The key of its cap.
            pub fn key(self) -> &'static str {
                match self { $(Self::$period => stringify!($cap),)+ }
            }

            /// The cap per period.
            pub fn cap(self, limits: &Limits) -> Option<u32> {
                match self { $(Self::$period => limits.$cap,)+ }
            }

            /// The period that contains `at`, all in Unix milliseconds.
            pub fn span(self, limits: &Limits, at: i64) -> Range<i64> {
                let at = DateTime::from_timestamp_millis(at).unwrap_or_default();
                let begins: fn(NaiveDate) -> (NaiveDate, Option<NaiveDate>) =
                    match self { $(Self::$period => $begins,)+ };
                let (first, next) = begins(at.with_timezone(&limits.time_zone).date_naive());
                limits.begin(first)..next.map_or(i64::MAX, |next| limits.begin(next))
            }

            /// A letter for the keys of its records.
            pub fn letter(self) -> u8 {
                match self { $(Self::$period => $letter,)+ }
            }

            /// The most days that it has.
            pub fn days(self) -> i64 {
                match self { $(Self::$period => $days,)+ }
            }

            /// The current one in words.
            pub fn words(self) -> &'static str {
                match self { $(Self::$period => $words,)+ }
            }
        }
    };
}

periods! {
    /// A local day, 23 to 25 hours long where clocks change.
    Day per_day b'd' 1 "today" |day: NaiveDate| (day, day.checked_add_days(Days::new(1)));
    /// A local week, from Monday.
    Week per_week b'w' 7 "this week" |day: NaiveDate| {
        let monday = day.week(Weekday::Mon).first_day();
        (monday, monday.checked_add_days(Days::new(7)))
    };
    /// A local month.
    Month per_month b'm' 31 "this month" |day: NaiveDate| {
        let first = day.with_day(1).unwrap_or(day);
        (first, first.checked_add_months(Months::new(1)))
    };
}

/// A cap on asks. Values above `u32::MAX` are clamped, which is as good as no cap.
fn cap(asks: i64) -> Result<u32, ValueFaults> {
    if asks < 1 {
        return Err(vec!["must be at least 1; `paused = true` pauses the partner".to_owned()]);
    }
    Ok(u32::try_from(asks).unwrap_or(u32::MAX))
}

/// Converts dollars to cents.
fn cents(dollars: f64) -> Result<f64, ValueFaults> {
    let is_some = dollars.is_finite() && dollars > 0.0;
    is_some.then_some(dollars * 100.0).ok_or_else(|| vec![format!("must be dollars above 0, got {dollars}")])
}

/// A share of the leads; `None` for all of them.
fn share(share: f64) -> Result<Option<f64>, ValueFaults> {
    if !(share > 0.0 && share <= 1.0) {
        let wanted = "must be above 0 and at most 1";
        return Err(vec![format!("{wanted}, got {share}; `paused = true` pauses the partner")]);
    }
    Ok(Some(share).filter(|share| *share < 1.0))
}

/// A date, as a text or as a TOML date.
fn day(value: toml::Value) -> Result<NaiveDate, ValueFaults> {
    date(&value).ok_or_else(|| vec![format!("must be a date `YYYY-MM-DD`, got `{value}`")])
}

/// A date, as a text or as a TOML date.
pub fn date(value: &toml::Value) -> Option<NaiveDate> {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned).parse().ok()
}

fn time_zone(name: String) -> Result<Tz, ValueFaults> {
    name.parse().map_err(|_| {
        // Suggests zones by city: `New York` matches `America/New_York`.
        let wanted = name.to_lowercase().replace(' ', "_");
        let likeness = |known: &str| {
            let known = known.to_lowercase();
            let city = known.rsplit('/').next().unwrap_or_default();
            let own_city = wanted.rsplit('/').next().unwrap_or_default();
            ((strsim::jaro_winkler(own_city, city) + strsim::jaro_winkler(&wanted, &known)) * 1000.0) as u32
        };
        let zones = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
        let nearest = zones.max_by_key(|known| likeness(known)).unwrap_or("America/New_York");
        vec![format!("must be an IANA time zone, got `{name}`; did you mean `{nearest}`?")]
    })
}

/// `exclusive`: the seats among which one takes a lead exclusively.
///
/// The exclusive seat is asked alone, instead of the other seats that fit a lead, are asked at the same time
/// and are within their limits: with `true` all seats of its product type, with a name only those of the same
/// group. Among several exclusive seats the first by key takes the lead. The others are asked when it is
/// paused, closed or at a limit. They are not asked later, whatever it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exclusive {
    /// Among all seats of its product type.
    Product,
    /// Among seats of its product type in this group.
    Group(String),
}

/// Parses `exclusive`: `true`, `false` or a group name.
pub fn exclusive(value: toml::Value) -> Result<Option<Exclusive>, ValueFaults> {
    match value {
        toml::Value::Boolean(alone) => Ok(alone.then_some(Exclusive::Product)),
        toml::Value::String(group) if is_key(&group) => Ok(Some(Exclusive::Group(group))),
        toml::Value::String(group) => Err(vec![format!("must be {KEY_CHARS}, got `{group}`")]),
        _ => Err(vec!["must be `true`, `false` or the name of a group".to_owned()]),
    }
}
