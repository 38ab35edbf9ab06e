//! Filters of the rate table search: reads them from an address, and fills the form.

use chrono::{Days, NaiveDate};

use super::counted::{COUNTED, CountedSearch};
use super::search::{ENDED, TableSearch, TableSearchResult, search};
use crate::console::prelude::*;
use offerd_base::config::{ReportSettings, Settings};
use offerd_store::entities::CompanyRecord;

/// Choices of the minimum duration: seconds and label.
const SLOW: [(&str, &str); 4] =
    [("1", "over 1 s"), ("3", "over 3 s"), ("5", "over 5 s"), ("10", "over 10 s")];

/// Parameters of reports, which the form has no fields for.
const KEPT: [&str; 4] = ["counted", "leads", "offer", "zone"];

/// How far the clock may have been ahead when a table was created, milliseconds.
const CLOCK_STEPS_MS: i64 = 60 * 60 * 1000;

/// Runs the search of an address; returns the tables, and the form with the filters and the progress. An
/// invalid filter yields no tables.
pub(super) fn sought(
    engine: &MatchingEngine,
    settings: &Settings,
    asked: &[(String, String)],
) -> Result<(Vec<Uuid>, Value), RecordUnavailable> {
    let companies = Tokens::of(engine.records.store.clone()).companies();
    let mut reader = Reader { asked, faults: Vec::new() };
    let days = reader.days();
    let wish = reader.wish(&companies, days, &settings.reports);
    let faults = reader.faults;
    let is_told = |(name, value): &&(String, String)| name != "before" && !value.is_empty();
    let told: Vec<_> = asked.iter().filter(is_told).cloned().collect();
    let sought = if faults.is_empty() {
        let now_ms = Utc::now().timestamp_millis() + CLOCK_STEPS_MS;
        search(engine, &wish, &settings.console, now_ms)?
    } else {
        TableSearchResult::default()
    };
    let next = sought.next.map(|table| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&told).append_pair("before", &table.to_string()).finish()
    });
    let [from, to] = days.map(|day| day.map(|day| day.to_string()).unwrap_or_default());
    let book = engine.book();
    let mut partners = book.partners();
    partners.sort_by(|one, other| one.partner.name.cmp(&other.partner.name));
    // A removed partner still has tables; it stays selected.
    let gone = wish.partner.iter().filter(|key| partners.iter().all(|one| one.key != **key));
    let gone = gone.map(|key| (key.clone(), format!("{key} (has no file)")));
    let partners = partners.iter().map(|one| (one.key.clone(), one.partner.name.clone())).chain(gone);
    let company = wish.company.map(|uuid| uuid.to_string());
    let fields = fields! {
        without_offers => wish.without_offers,
        // A client tag of the lead with its value, such as `campaign=spring`.
        tag => value(asked, "tag").unwrap_or_default(),
        // What a report has counted here, of which page this is the first.
        counted => wish.counted.as_ref().map(|counted| fields! {
            figure => counted.figure.heading().to_lowercase(), total => sought.total, more => sought.total_is_least,
            test => counted.test, offer => counted.offer.as_deref(),
        }),
        // Kept by the form.
        kept => told.iter().filter(|(name, _)| KEPT.contains(&name.as_str())).collect::<Vec<_>>(),
        zone => value(asked, "zone").unwrap_or(settings.reports.usual_zone().name()),
        from, to, faults, chosen => !told.is_empty(), later => wish.before.is_some(),
        looked_at => sought.looked_at, stopped_at => sought.stopped_at, next,
        companies => choices(companies.into_iter().map(|one| (one.uuid, one.name)), company.as_deref()),
        products => products(wish.product),
        partners => choices(partners, wish.partner.as_deref()),
        outcomes => choices(ENDED.map(|(word, words, _)| (word, words)), wish.outcome.map(|(word, ..)| word)),
        slow => choices(SLOW, value(asked, "slow")),
    };
    Ok((sought.tables, fields))
}

fn value<'a>(asked: &'a [(String, String)], name: &str) -> Option<&'a str> {
    asked.iter().find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| value.as_str())
}

struct Reader<'a> {
    asked: &'a [(String, String)],
    faults: Vec<String>,
}

impl<'a> Reader<'a> {
    /// The parsed value of a parameter, if given; records a fault if it is invalid.
    fn read<T>(&mut self, name: &str, wanted: &str, meaning: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        let value = value(self.asked, name)?;
        let meant = meaning(value);
        if meant.is_none() {
            self.faults.push(format!("{name} must be {wanted}, got `{value}`"));
        }
        meant
    }

    fn days(&mut self) -> [Option<NaiveDate>; 2] {
        let day = |text: &str| text.parse().ok();
        let days = ["from", "to"].map(|name| self.read(name, "a day, such as 2026-11-24", day));
        if let [Some(from), Some(to)] = days
            && from > to
        {
            self.faults.push(format!("from must be no later than to, got {from} and {to}"));
        }
        days
    }

    fn tags(&mut self) -> Vec<(String, String)> {
        let given = self.asked.iter().filter(|(name, value)| name == "tag" && !value.trim().is_empty());
        let mut tags = Vec::new();
        for (_, text) in given {
            match text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
                Some((name, value)) if !name.is_empty() => tags.push((name.to_owned(), value.to_owned())),
                _ => self.faults.push(format!(
                    "tag must be a client tag and its value, such as campaign=spring, got `{text}`"
                )),
            }
        }
        tags
    }

    /// What a report counted, if the address comes from one.
    fn counted(&mut self, reports: &ReportSettings) -> Option<CountedSearch> {
        let figure = |text: &str| COUNTED.into_iter().find(|(word, _)| *word == text);
        let (_, figure) = self.read("counted", &one_of(COUNTED.iter().map(|(word, _)| *word)), figure)?;
        let leads = |text: &str| ["live", "test"].iter().position(|word| *word == text);
        let test = self.read("leads", "live or test", leads) == Some(1);
        let offer = value(self.asked, "offer").map(str::to_owned);
        Some(CountedSearch { figure, test, offer, tags_counted: reports.tags.clone() })
    }

    fn wish(
        &mut self,
        companies: &[CompanyRecord],
        [from, to]: [Option<NaiveDate>; 2],
        reports: &ReportSettings,
    ) -> TableSearch {
        let zones = one_of(reports.zones.iter().map(|zone| zone.name()));
        let zone = self.read("zone", &zones, |name| reports.zone(name)).unwrap_or(reports.usual_zone());
        let begins = |day: NaiveDate| figures::begins(day, zone);
        let company = |text: &str| {
            let uuid = text.parse::<Uuid>().ok()?;
            companies.iter().any(|one| one.uuid == uuid).then_some(uuid)
        };
        let outcome = |text: &str| ENDED.into_iter().find(|(word, ..)| *word == text);
        let slow = |text: &str| SLOW.iter().any(|(known, _)| *known == text).then(|| text.parse().ok())?;
        let products = || ProductType::ALL.iter().map(|one| one.as_str());
        TableSearch {
            company: self.read("company", "the uuid of a company", company),
            product: self.read("product", &one_of(products()), ProductType::from_wire),
            // A removed partner still has tables.
            partner: value(self.asked, "partner").map(str::to_owned),
            outcome: self.read("outcome", &one_of(ENDED.iter().map(|(word, ..)| *word)), outcome),
            without_offers: value(self.asked, "none").is_some(),
            tags: self.tags(),
            slow: self
                .read("slow", &format!("{} seconds", one_of(SLOW.iter().map(|(known, _)| *known))), slow)
                .map(Duration::from_secs),
            from_ms: from.map_or(0, begins),
            to_ms: to.and_then(|day| day.checked_add_days(Days::new(1))).map(begins),
            counted: self.counted(reports),
            before: self.read("before", "the uuid of a rate table", |text| text.parse().ok()),
        }
    }
}

fn one_of<'w>(words: impl Iterator<Item = &'w str>) -> String {
    format!("one of {}", words.collect::<Vec<_>>().join(", "))
}
