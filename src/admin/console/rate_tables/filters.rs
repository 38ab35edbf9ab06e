//! By what rate tables are looked for: what an address says, and what stands in the form.

use std::time::Duration;

use chrono::{Days, NaiveDate, NaiveTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use super::search::{Ended, Wish, search};
use crate::matching::Engine;
use crate::model::ProductType;
use crate::records::Unavailable;
use crate::store::tokens::Tokens;

/// How slow, in seconds, and in words.
const SLOW: [(&str, &str); 4] =
    [("1", "over 1 s"), ("3", "over 3 s"), ("5", "over 5 s"), ("10", "over 10 s")];

/// How far ahead the clock may have been when a table was made, milliseconds.
const CLOCK_STEPS_MS: i64 = 60 * 60 * 1000;

/// The form with what was chosen, and what came of the search.
#[derive(Debug, Serialize)]
pub(super) struct Filters {
    companies: Vec<Choice>,
    products: Vec<Choice>,
    partners: Vec<Choice>,
    outcomes: Vec<Choice>,
    slow: Vec<Choice>,
    without_offers: bool,
    from: String,
    to: String,
    /// What is wrong with what was asked.
    faults: Vec<String>,
    /// Whether anything is looked for.
    chosen: bool,
    /// Whether this is not the first page.
    later: bool,
    /// How many tables were looked at.
    looked_at: usize,
    /// When the last one was made that was looked at, where a limit ended the search, Unix milliseconds.
    stopped_at: Option<i64>,
    /// Where the search goes on.
    next: Option<String>,
    #[serde(skip)]
    asked: Vec<(String, String)>,
    #[serde(skip)]
    wish: Wish,
}

/// Something to choose.
#[derive(Debug, Serialize)]
struct Choice {
    value: String,
    words: String,
    chosen: bool,
}

impl Filters {
    /// Reads what an address asks for.
    pub(super) fn read(engine: &Engine, asked: &[(String, String)]) -> Self {
        let value = |name: &str| {
            let found = asked.iter().find(|(known, value)| known == name && !value.is_empty());
            found.map(|(_, value)| value.as_str())
        };
        let mut faults = Vec::new();
        let mut day = |name: &str| {
            let day = value(name).map(str::parse::<NaiveDate>);
            if let Some(Err(_)) = day {
                faults.push(format!("`{name}` must be a day, such as 2026-11-24."));
            }
            day.and_then(Result::ok)
        };
        let (from, to) = (day("from"), day("to"));
        let begins = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc().timestamp_millis();
        let wish = Wish {
            company: value("company").and_then(|text| text.parse().ok()),
            product: value("product").and_then(ProductType::from_wire),
            partner: value("partner").map(str::to_owned),
            outcome: Ended::ALL
                .iter()
                .find(|(_, word, _)| value("outcome") == Some(word))
                .map(|(ended, ..)| *ended),
            without_offers: value("none").is_some(),
            slow: value("slow").and_then(|text| text.parse().ok()).map(Duration::from_secs),
            from_ms: from.map_or(0, begins),
            to_ms: to.and_then(|day| day.checked_add_days(Days::new(1))).map(begins),
            before: value("before").and_then(|text| text.parse::<Uuid>().ok()),
        };
        let choice = |value: &str, words: &str, chosen: bool| Choice {
            value: value.to_owned(),
            words: words.to_owned(),
            chosen,
        };
        let companies = Tokens::of(engine.records.store.clone()).companies().into_iter();
        let book = engine.book();
        let mut partners: Vec<(String, String)> = book
            .partners()
            .iter()
            .map(|partner| (partner.partner.name.clone(), partner.key.clone()))
            .collect();
        partners.sort();
        Self {
            companies: companies
                .map(|one| choice(&one.uuid.to_string(), &one.name, wish.company == Some(one.uuid)))
                .collect(),
            products: ProductType::ALL
                .iter()
                .map(|one| choice(one.as_str(), &one.as_str().replace('_', " "), wish.product == Some(*one)))
                .collect(),
            partners: partners
                .iter()
                .map(|(name, key)| choice(key, name, wish.partner.as_ref() == Some(key)))
                .collect(),
            outcomes: Ended::ALL
                .iter()
                .map(|(one, word, words)| choice(word, words, wish.outcome == Some(*one)))
                .collect(),
            slow: SLOW
                .iter()
                .map(|(seconds, words)| choice(seconds, words, value("slow") == Some(seconds)))
                .collect(),
            without_offers: wish.without_offers,
            from: from.map(|day| day.to_string()).unwrap_or_default(),
            to: to.map(|day| day.to_string()).unwrap_or_default(),
            faults,
            chosen: asked.iter().any(|(name, value)| name != "before" && !value.is_empty()),
            later: wish.before.is_some(),
            looked_at: 0,
            stopped_at: None,
            next: None,
            asked: asked
                .iter()
                .filter(|(name, value)| name != "before" && !value.is_empty())
                .cloned()
                .collect(),
            wish,
        }
    }

    /// The tables that fit; it is noted how far the search has come.
    ///
    /// # Errors
    /// [`Unavailable`], once reported, when a record cannot be read.
    pub(super) fn search(&mut self, engine: &Engine) -> Result<Vec<Uuid>, Unavailable> {
        let sought = search(engine, &self.wish, Utc::now().timestamp_millis() + CLOCK_STEPS_MS)?;
        (self.looked_at, self.stopped_at) = (sought.looked_at, sought.stopped_at);
        self.next = sought.next.map(|table| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(&self.asked).append_pair("before", &table.to_string()).finish()
        });
        Ok(sought.tables)
    }

    /// What is wrong with what was asked.
    pub(super) fn trouble(&self) -> Option<String> {
        (!self.faults.is_empty()).then(|| self.faults.join(" "))
    }
}
