//! Checks of limits: caps, budgets, time zones, hours and groups.

use crate::check::checker::PartnerFileChecker;
use crate::limits::{Limits, WeekWindow, declared};

/// Weekdays as written in partner files, from Monday.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

const DAY: u16 = 24 * 60;

impl PartnerFileChecker<'_> {
    pub(super) fn limits(&mut self, declared: &Limits) -> Limits {
        if let (Some(first), Some(last)) = (declared.starts_on, declared.ends_on)
            && first > last
        {
            self.at("ends_on", format!("is before `starts_on`, {first}, so it is never asked"));
        }
        let windows = declared.schedule.iter().enumerate();
        let windows = windows
            .map(|(nth, window)| self.within(&format!("schedule[{nth}]"), |check| check.window(window)));
        let hours = windows.collect();
        Limits { schedule: Vec::new(), hours, ..declared.clone() }
    }

    fn window(&mut self, declared: &declared::Window) -> WeekWindow {
        let from = self.time_of_day("from", declared.from.as_deref(), 0);
        let to = self.time_of_day("to", declared.to.as_deref(), DAY);
        if from == DAY {
            self.at("from", "must be before 24:00");
        }
        if from == to {
            self.at("to", "must not be `from`; leave both out for the whole day");
        }
        if declared.days.as_ref().is_some_and(Vec::is_empty) {
            self.at("days", "must have at least one day");
        }
        let days = declared.days.iter().flatten().enumerate();
        let days = days.fold(0, |days, (nth, text)| days | self.days(&format!("days[{nth}]"), text));
        WeekWindow { days: if declared.days.is_some() { days } else { 0b111_1111 }, from, to }
    }

    /// Parses a day or a range of days, which may cross Sunday, to bits.
    fn days(&mut self, key: &str, text: &str) -> u8 {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let day = |name: &str| DAYS.iter().position(|day| *day == name);
        let (Some(first), Some(last)) = (day(first), day(last)) else {
            let wanted = DAYS.join(", ");
            self.at(key, format!("must be one of {wanted} or a span such as `mon..fri`, got `{text}`"));
            return 0;
        };
        let length = (last + 7 - first) % 7;
        (0..=length).fold(0, |days, nth| days | 1 << ((first + nth) % 7))
    }

    /// Parses a time of day to minutes since midnight.
    fn time_of_day(&mut self, key: &str, text: Option<&str>, default: u16) -> u16 {
        let Some(text) = text else { return default };
        let is_two_digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        let two_digits = |part: &str| part.parse::<u16>().ok().filter(|_| is_two_digits(part));
        let parts = text.split_once(':').and_then(|(hour, minute)| two_digits(hour).zip(two_digits(minute)));
        match parts.filter(|(hour, minute)| *minute < 60 && hour * 60 + minute <= DAY) {
            Some((hour, minute)) => hour * 60 + minute,
            None => {
                self.at(key, format!("must be a time from `00:00` to `24:00`, got `{text}`"));
                default
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::{Book, Limits};

    const FILE: &str = r#"[partner]
uuid = "3f0c1a52-6d5e-4b8e-9f43-7a1d0a2b3c4d"
name = "Lender"
description = "One."
disclaimer = "None."
image_url = "https://lender.example/logo.png"
sub_account_id = 1
[products.other]
timeout = "5s"
EXCLUSIVE
[products.other.limits]
LIMITS
[[products.other.offers]]
key = "one"
name = "One"
description = "One."
landing_url = "https://lender.example/"
payout = { on = "click", fixed = 1.0 }
conversion_probability = 1.0
"#;

    fn load(exclusive: &str, limits: &str) -> Result<Book, Vec<String>> {
        let text = FILE.replace("EXCLUSIVE", exclusive).replace("LIMITS", limits);
        let loaded = Book::from_texts([(PathBuf::from("lender.toml"), text)]);
        loaded.map_err(|faults| faults.iter().map(ToString::to_string).collect())
    }

    fn limits(text: &str) -> Limits {
        load("", text).unwrap().seats()[0].limits.clone()
    }

    #[test]
    fn hours_mean_what_they_say() {
        let limits = limits(
            "time_zone = 'Europe/Berlin'\nschedule = [ { days = ['sat..mon'], to = '08:00' }, { from = '22:00', to = '02:00' } ]",
        );
        let open = |text: &str| limits.open_at(text.parse().unwrap());
        assert!(open("2026-11-22T23:30:00Z") && open("2026-11-21T00:30:00Z") && open("2026-11-22T06:59:00Z"));
        assert!(!open("2026-11-22T07:00:00Z") && !open("2026-11-24T06:00:00Z"));
    }

    #[test]
    fn a_city_is_enough_to_be_told_its_time_zone() {
        for (written, meant) in [("New York", "America/New_York"), ("Berlin", "Europe/Berlin")] {
            let told = load("", &format!("time_zone = '{written}'")).unwrap_err();
            assert!(told[0].contains(&format!("did you mean `{meant}`?")), "{told:?}");
        }
    }

    #[test]
    fn days_are_dates_or_texts_and_faults_of_them_are_told() {
        let limits = limits("starts_on = 2026-12-01\nends_on = '2026-12-31'\nshare = 0.25");
        let days = (limits.starts_on.unwrap().to_string(), limits.ends_on.unwrap().to_string());
        assert_eq!(
            (days.0.as_str(), days.1.as_str(), limits.share),
            ("2026-12-01", "2026-12-31", Some(0.25))
        );
        assert_eq!(
            load("", "per_week = 0\nper_month = 0\nshare = 0.0\nstarts_on = 2026-12-32\n").unwrap_err().len(),
            1,
            "what is no TOML is told first"
        );
        assert_eq!(
            load("", "per_week = 0\nper_month = 0\nshare = 1.5\nstarts_on = 'soon'\nends_on = 12")
                .unwrap_err(),
            [
                "lender.toml:12: `products.other.limits.per_week` must be at least 1; `paused = true` \
                    pauses the partner",
                "lender.toml:13: `products.other.limits.per_month` must be at least 1; `paused = true` \
                    pauses the partner",
                "lender.toml:14: `products.other.limits.share` must be above 0 and at most 1, got 1.5; \
                    `paused = true` pauses the partner",
                "lender.toml:15: `products.other.limits.starts_on` must be a date `YYYY-MM-DD`, got `\"soon\"`",
                "lender.toml:16: `products.other.limits.ends_on` must be a date `YYYY-MM-DD`, got `12`",
            ]
        );
        let told = load("", "starts_on = 2026-12-02\nends_on = 2026-12-01").unwrap_err();
        assert!(
            told[0].contains("`products.other.limits.ends_on` is before `starts_on`, 2026-12-02"),
            "{told:?}"
        );
    }

    #[test]
    fn priority_and_weight_have_bounds() {
        assert_eq!(
            load("priority = 2000\nweight = 0.0", "").unwrap_err(),
            [
                "lender.toml:10: `products.other.priority` must be from -1000 to 1000, got 2000",
                "lender.toml:11: `products.other.weight` must be above 0 and at most 1000000, got 0",
            ]
        );
    }

    #[test]
    fn every_fault_is_told_with_its_line() {
        let bad = "per_minute = 0\nper_day = -1\nper_day_budget = 0\ntime_zone = 'America/New_Yrok'\nschedule = [\n{ days = ['mon..fry'], from = '8:00', to = '25:00' },\n{ from = '08:00', to = '08:00' },\n{ days = [] } ]\n";
        assert_eq!(
            load("exclusive = 'No Group'", bad).unwrap_err(),
            [
                "lender.toml:10: `products.other.exclusive` must be lower-case letters, digits, `-` and `_`, a letter first, got `No Group`",
                "lender.toml:12: `products.other.limits.per_minute` must be at least 1; `paused = true` \
                    pauses the partner",
                "lender.toml:13: `products.other.limits.per_day` must be at least 1; `paused = true` pauses \
                    the partner",
                "lender.toml:14: `products.other.limits.per_day_budget` must be dollars above 0, got 0",
                "lender.toml:15: `products.other.limits.time_zone` must be an IANA time zone, got `America/New_Yrok`; did you mean `America/New_York`?",
                "lender.toml:17: `products.other.limits.schedule[0].from` must be a time from `00:00` to `24:00`, got `8:00`",
                "lender.toml:17: `products.other.limits.schedule[0].to` must be a time from `00:00` to `24:00`, got `25:00`",
                "lender.toml:17: `products.other.limits.schedule[0].days[0]` must be one of mon, tue, wed, thu, fri, sat, sun or a span such as `mon..fri`, got `mon..fry`",
                "lender.toml:18: `products.other.limits.schedule[1].to` must not be `from`; leave both out for the whole day",
                "lender.toml:19: `products.other.limits.schedule[2].days` must have at least one day",
            ]
        );
    }
}
