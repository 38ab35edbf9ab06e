//! By what rate tables are looked for: what an address says, and what stands in the form.

use std::time::Duration;

use chrono::{Days, NaiveDate, NaiveTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use super::search::{Ended, Wish, search};
use crate::matching::Engine;
use crate::model::ProductType;
use crate::partners::Identity;

use crate::records::Unavailable;
use crate::store::entities::CompanyRecord;
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
        let mut faults = Vec::new();
        let days = ["from", "to"].map(|name| day(asked, name, &mut faults));
        let wish = wish(asked, days);
        let companies = Tokens::of(engine.records.store.clone()).companies().into_iter();
        let company = |one: CompanyRecord| (one.uuid.to_string(), one.name, wish.company == Some(one.uuid));
        let product = |one: &ProductType| {
            (one.as_str().to_owned(), one.as_str().replace('_', " "), wish.product == Some(*one))
        };
        let book = engine.book();
        let partner = |one: &&Identity| {
            (one.key.clone(), one.partner.name.clone(), wish.partner.as_ref() == Some(&one.key))
        };
        let mut partners = book.partners();
        partners.sort_by(|one, other| one.partner.name.cmp(&other.partner.name));
        let outcome = |(one, word, words): &(Ended, &str, &str)| {
            ((*word).to_owned(), (*words).to_owned(), wish.outcome == Some(*one))
        };
        let slow = |(seconds, words): &(&str, &str)| {
            ((*seconds).to_owned(), (*words).to_owned(), value(asked, "slow") == Some(*seconds))
        };
        let is_told = |(name, value): &&(String, String)| name != "before" && !value.is_empty();
        let told: Vec<_> = asked.iter().filter(is_told).cloned().collect();
        let [from, to] = days.map(|day| day.map(|day| day.to_string()).unwrap_or_default());
        Self {
            companies: choices(companies.map(company)),
            products: choices(ProductType::ALL.iter().map(product)),
            partners: choices(partners.iter().map(partner)),
            outcomes: choices(Ended::ALL.iter().map(outcome)),
            slow: choices(SLOW.iter().map(slow)),
            without_offers: wish.without_offers,
            from,
            to,
            faults,
            chosen: !told.is_empty(),
            later: wish.before.is_some(),
            looked_at: 0,
            stopped_at: None,
            next: None,
            asked: told,
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

/// The first value of a name that is not empty.
fn value<'a>(asked: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = asked.iter().find(|(known, value)| known == name && !value.is_empty());
    found.map(|(_, value)| value.as_str())
}

/// A day, or a fault.
fn day(asked: &[(String, String)], name: &str, faults: &mut Vec<String>) -> Option<NaiveDate> {
    let day = value(asked, name)?.parse().ok();
    if day.is_none() {
        faults.push(format!("`{name}` must be a day, such as 2026-11-24."));
    }
    day
}

/// What is looked for, with its first and its last day.
fn wish(asked: &[(String, String)], [from, to]: [Option<NaiveDate>; 2]) -> Wish {
    let value = |name: &str| value(asked, name);
    let begins = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc().timestamp_millis();
    let outcome = Ended::ALL.iter().find(|(_, word, _)| value("outcome") == Some(word));
    Wish {
        company: value("company").and_then(|text| text.parse().ok()),
        product: value("product").and_then(ProductType::from_wire),
        partner: value("partner").map(str::to_owned),
        outcome: outcome.map(|(ended, ..)| *ended),
        without_offers: value("none").is_some(),
        slow: value("slow").and_then(|text| text.parse().ok()).map(Duration::from_secs),
        from_ms: from.map_or(0, begins),
        to_ms: to.and_then(|day| day.checked_add_days(Days::new(1))).map(begins),
        before: value("before").and_then(|text| text.parse::<Uuid>().ok()),
    }
}

/// Things to choose: value, words, and whether it is chosen.
fn choices(all: impl Iterator<Item = (String, String, bool)>) -> Vec<Choice> {
    all.map(|(value, words, chosen)| Choice { value, words, chosen }).collect()
}
