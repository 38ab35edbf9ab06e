//! Today's figures next to yesterday's up to the same time; money first.

use std::collections::VecDeque;

use chrono::{Datelike, Utc};
use minijinja::value::Value;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::super::AdminState;
use super::templates::fields;
use offerd_insight::reports::Reports;
use offerd_insight::sheet::figures;

const DAY_MS: i64 = 24 * 3600 * 1000;

/// Tolerance for a reading at the same time yesterday, milliseconds.
const NEAR_MS: i64 = 10 * 60 * 1000;

/// Totals of a day so far, of live leads, from the reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Today {
    /// The day, as days from the common era, in the first time zone of `reports.zones`.
    pub(super) day: i32,
    pub(super) leads: i64,
    pub(super) clicks: i64,
    /// Payouts less reversals, in dollars.
    pub(super) payouts: f64,
}

/// Totals of the last days, by the minute, oldest first.
#[derive(Debug, Default)]
pub(super) struct DailyTotals(Mutex<VecDeque<(i64, Today)>>);

impl Today {
    pub(super) fn now(app: &AdminState) -> Option<Self> {
        let reports: &Reports = app.reports.as_ref()?;
        let zone = *reports.rules.zones.first()?;
        let today = Utc::now().with_timezone(&zone).date_naive();
        let pairs = [("from", today.to_string()), ("to", today.to_string()), ("by", "day".to_owned())];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
        let total = reports.totals(&reports.query(&pairs).ok()?)?;
        let (day, payouts) = (today.num_days_from_ce(), total.payouts.unwrap_or_default());
        Some(Self { day, leads: total.leads, clicks: total.clicks, payouts })
    }
}

impl DailyTotals {
    pub(super) fn recall(&self, kept: impl Iterator<Item = (i64, Today)>) {
        self.0.lock().extend(kept);
    }

    pub(super) fn add(&self, at: i64, today: Today) {
        let mut days = self.0.lock();
        days.push_back((at, today));
        while days.front().is_some_and(|(first, _)| at - first > DAY_MS * 2) {
            days.pop_front();
        }
    }

    /// The newest reading and its time.
    pub(super) fn last(&self) -> Option<(i64, Today)> {
        self.0.lock().back().copied()
    }

    /// Today's figures next to yesterday's up to the same time, and the time of the reading.
    pub(super) fn compared(&self) -> Option<(i64, Vec<Value>)> {
        let days = self.0.lock();
        let (at, today) = *days.back()?;
        let wanted = at - DAY_MS;
        let of_yesterday = days
            .iter()
            .filter(|(before, day)| day.day + 1 == today.day && (before - wanted).abs() <= NEAR_MS);
        Some((at, compared(today, of_yesterday.min_by_key(|(before, _)| (before - wanted).abs()).copied())))
    }
}

fn compared(today: Today, yesterday: Option<(i64, Today)>) -> Vec<Value> {
    let figure = |name, of: fn(Today) -> f64, write: fn(f64) -> String| {
        let (now, before) = (of(today), yesterday.map(|(_, day)| of(day)));
        let change = before.filter(|before| *before > 0.0).map(|before| (now - before) / before * 100.0);
        let words = |percent: f64| format!("{}{:.0} %", if percent < 0.0 { "−" } else { "+" }, percent.abs());
        fields! {
            name, today => write(now),
            yesterday => before.map(write).zip(yesterday.map(|(at, _)| at)),
            change => change.map(words),
            class => match change {
                Some(less) if less <= -20.0 => "bad",
                Some(less) if less < 0.0 => "warn",
                Some(_) => "good",
                None => "idle",
            },
        }
    };
    vec![
        figure("Payouts", |day| day.payouts, figures::dollars),
        figure("Leads", |day| day.leads as f64, figures::count),
        figure("Clicks", |day| day.clicks as f64, figures::count),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(day: i32, payouts: f64) -> Today {
        Today { day, leads: 10, clicks: 0, payouts }
    }

    #[test]
    fn money_is_held_against_yesterday_until_the_same_hour() {
        let days = DailyTotals::default();
        let noon = DAY_MS * 100 + DAY_MS / 2;
        days.add(noon - DAY_MS - 3_600_000, at(1, 50.0));
        days.add(noon - DAY_MS, at(1, 100.0));
        days.add(noon - DAY_MS / 2 - 60_000, at(1, 400.0));
        days.add(noon, at(2, 75.0));
        let (when, compared) = days.compared().unwrap();
        assert_eq!(when, noon);
        let compared = serde_json::to_value(compared).unwrap();
        let payouts = &compared[0];
        assert_eq!(payouts["today"], "$75");
        assert_eq!(payouts["yesterday"], json!(["$100", noon - DAY_MS]));
        assert_eq!((&payouts["change"], &payouts["class"]), (&json!("−25 %"), &json!("bad")));
        assert_eq!(compared[1]["change"], "+0 %");
    }

    #[test]
    fn without_a_yesterday_nothing_is_more_or_less() {
        let days = DailyTotals::default();
        assert!(days.compared().is_none());
        days.add(0, at(2, 75.0));
        let (_, compared) = days.compared().unwrap();
        assert_eq!(serde_json::to_value(compared).unwrap()[0].get("yesterday"), Some(&json!(null)));
    }

    #[test]
    fn two_days_are_kept() {
        let days = DailyTotals::default();
        (0..4 * 1440).for_each(|minute| days.add(minute * 60_000, at(1, 0.0)));
        assert!(days.0.lock().len() <= 2 * 1440 + 1);
    }
}
