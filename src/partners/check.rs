//! From a declared partner to a checked one, or to every fault with file, line and key.

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;

use super::catalog::{Band, CatalogOffer};
use super::declared::{self, DeclaredPartner, Eligibility};
use super::eligibility::{Condition, MAX_ALTERNATIVES, Rule, Test, days};
use super::facts::Subject;
use super::partner::{Identity, Seat, SeatText, Simulate};
use super::text::{Ending, Text};
use crate::declaration::{Fault, HumanDuration, Source};
use crate::model::{
    AttributeKind, CreditCardOfferDetails, Originator, OriginatorImage, Partner, ProductSubType, ProductType,
    ProvidedCreditRating, Timestamp,
};

/// Most offers a seat may have, terms counted.
pub const MAX_OFFERS: usize = 100_000;

/// What is filled into a landing url.
const LANDING_MACROS: [&str; 2] = ["clickId", "leadUuid"];

/// Longest time in a partner file.
const LONGEST: Duration = Duration::from_secs(3600);

/// The seats of a partner file.
///
/// # Errors
/// Every fault of the file.
pub fn seats(key: &str, source: &Source) -> Result<Vec<Seat>, Vec<Fault>> {
    let mut check = Checker { source, path: Vec::new(), faults: Vec::new() };
    check.key_of_file(key);
    let (declared, faults) = crate::declaration::read::<DeclaredPartner>(source);
    check.faults.extend(faults);
    let Some(declared) = declared else { return Err(check.faults) };

    let identity = check.within("partner", |check| check.identity(key, &declared.partner));
    let mut seats = Vec::new();
    for (product_type, product) in &declared.products {
        let place = format!("products.{}", product_type.as_str());
        seats.extend(check.within(&place, |check| check.seat(&identity, *product_type, product)));
    }
    if declared.products.is_empty() {
        check.at("products", "must have at least one product type");
    }
    if check.faults.is_empty() { Ok(seats) } else { Err(check.faults) }
}

/// Collects the faults of one partner file; knows the place that is being checked.
pub(super) struct Checker<'a> {
    source: &'a Source,
    path: Vec<String>,
    faults: Vec<Fault>,
}

impl Checker<'_> {
    /// Checks something that stands under `key`.
    fn within<T>(&mut self, key: &str, what: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key.to_owned());
        let result = what(self);
        self.path.pop();
        result
    }

    /// Notes a fault at `key`.
    pub fn at(&mut self, key: &str, message: impl Into<String>) {
        let mut path = self.path.join(".");
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
        self.faults.push(self.source.fault(&path, message.into()));
    }

    /// Wants something to be given.
    pub fn given(&mut self, key: &str, given: bool) {
        if !given {
            self.at(key, "is missing");
        }
    }

    /// Wants a figure within bounds, both included.
    pub fn between(&mut self, key: &str, figure: Option<f64>, min: f64, max: f64) {
        if let Some(figure) = figure.filter(|figure| !(min..=max).contains(figure)) {
            self.at(key, format!("must be from {min} to {max}, got {figure}"));
        }
    }

    /// Wants a time that somebody may really wait for.
    fn duration(&mut self, key: &str, duration: HumanDuration) -> Duration {
        let duration = Duration::from(duration);
        if duration.is_zero() || duration > LONGEST {
            self.at(key, format!("must be more than 0s and at most {LONGEST:?}, got {duration:?}"));
        }
        duration.min(LONGEST)
    }

    /// Wants a name that can stand in a file name, a metric and a path.
    pub fn key(&mut self, key: &str, name: &str) {
        if !is_key(name) {
            self.at(key, format!("must be lower-case letters, digits, `-` and `_`, got `{name}`"));
        }
    }

    fn key_of_file(&mut self, name: &str) {
        if !is_key(name) {
            let message =
                format!("the file's name must be lower-case letters, digits, `-` and `_`, got `{name}`");
            self.faults.push(self.source.fault("", message));
        }
    }

    /// Wants an absolute URL.
    pub fn url(&mut self, key: &str, url: &str) {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
        if host.is_empty() || url.contains(char::is_whitespace) {
            self.at(key, format!("must be an absolute http or https URL, got `{url}`"));
        }
    }

    /// Wants an absolute URL with no other macros than those that are filled in.
    pub fn landing_url(&mut self, url: &str) {
        self.url("landing_url", url);
        for macro_name in url.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
            if !LANDING_MACROS.contains(&macro_name) {
                let known = LANDING_MACROS.map(|name| format!("`{{{name}}}`")).join(", ");
                self.at("landing_url", format!("has no macro `{{{macro_name}}}`; there are {known}"));
            }
        }
    }

    /// Wants one of some sub-types.
    pub fn sub_type(
        &mut self,
        found: Option<ProductSubType>,
        wanted: &[ProductSubType],
    ) -> Option<ProductSubType> {
        let names: Vec<&str> = wanted.iter().map(|sub_type| sub_type.as_str()).collect();
        match found {
            Some(sub_type) if wanted.contains(&sub_type) => return found,
            Some(sub_type) => {
                self.at(
                    "sub_type",
                    format!("must be one of {}, got `{}`", names.join(", "), sub_type.as_str()),
                );
            }
            None => self.at("sub_type", format!("is missing: one of {}", names.join(", "))),
        }
        None
    }

    /// Wants a range that is not empty, inside bounds; open ends take the bounds' values.
    pub fn range(
        &mut self,
        key: &str,
        range: Option<declared::Range>,
        least: f64,
        greatest: f64,
    ) -> Option<(f64, f64)> {
        let Some(range) = range else {
            self.at(key, "is missing");
            return None;
        };
        let (min, max) = (range.min.unwrap_or(least), range.max.unwrap_or(greatest));
        if min > max {
            self.at(key, format!("is empty: from {min} to {max}"));
            return None;
        }
        self.between(key, Some(min), least, greatest);
        self.between(key, Some(max), least, greatest);
        Some((min, max))
    }

    /// Wants an instant.
    pub fn timestamp(&mut self, key: &str, text: Option<&str>) -> Option<Timestamp> {
        let Some(text) = text else {
            self.at(key, "is missing");
            return None;
        };
        let parsed = Timestamp::parse(text);
        if parsed.is_none() {
            self.at(key, format!("must be an instant such as `2026-11-01T00:00:00Z`, got `{text}`"));
        }
        parsed
    }

    /// Checks bands; each with the terms that it is for. `amount` is what a band without an amount is for.
    pub fn bands(&mut self, bands: &[declared::Band], amount: (f64, f64)) -> Vec<(Band, Option<Vec<i32>>)> {
        let checked = bands.iter().enumerate().map(|(nth, band)| {
            self.within(&format!("bands[{nth}]"), |check| (check.band(band, amount), band.terms.clone()))
        });
        checked.collect()
    }

    fn band(&mut self, band: &declared::Band, amount: (f64, f64)) -> Band {
        let ratings = band.ratings.as_deref().unwrap_or(ProvidedCreditRating::ALL);
        let own_amount = band.amount.and_then(|range| self.range("amount", Some(range), amount.0, amount.1));
        let loan_to_value =
            band.loan_to_value.and_then(|range| self.range("loan_to_value", Some(range), 0.0, 1000.0));
        let rate = self.span("rate", band.rate, 0.0, 400.0);
        let fee_rate = band.fee_rate.map_or((0.0, 0.0), |fee| self.span("fee_rate", fee, 0.0, 50.0));
        self.between("fee_fixed", band.fee_fixed, 0.0, own_amount.unwrap_or(amount).0.max(1.0) / 2.0);
        self.between("price_adjustment", band.price_adjustment, -10.0, 10.0);
        Band {
            ratings: ratings.iter().fold(0, |all, rating| all | 1 << rating.ordinal()),
            amount: own_amount.unwrap_or(amount),
            loan_to_value: loan_to_value.unwrap_or((0.0, f64::INFINITY)),
            rate,
            fee_rate,
            fee_fixed: band.fee_fixed.unwrap_or(0.0),
            price_adjustment: band.price_adjustment.unwrap_or(0.0),
        }
    }

    fn span(&mut self, key: &str, figures: declared::Figures, least: f64, greatest: f64) -> (f64, f64) {
        let (low, high) = figures.span();
        if low > high {
            self.at(key, format!("is empty: from {low} to {high}"));
        }
        self.between(key, Some(low), least, greatest);
        self.between(key, Some(high), least, greatest);
        (low, high)
    }

    /// Reads card details in the specification's words. `decided` are the keys that the service itself fills in.
    pub fn card(&mut self, table: &toml::Table, decided: &[&str]) -> Option<CreditCardOfferDetails> {
        let mut table = table.clone();
        for key in decided {
            if table.insert((*key).to_owned(), false.into()).is_some() {
                self.at(&format!("card.{key}"), "is decided for each lead; leave it out");
            }
        }
        let details = match serde_path_to_error::deserialize::<_, CreditCardOfferDetails>(table.clone()) {
            Ok(details) => details,
            Err(error) => {
                let path = error.path().to_string();
                let key = if path == "." { "card".to_owned() } else { format!("card.{path}") };
                self.at(&key, error.into_inner().message().trim().to_owned());
                return None;
            }
        };
        self.unknown_card_keys(&table, &details);
        self.url("card.cardImageUrl", &details.card_image_url);
        Some(details)
    }

    /// Keys of the table that the details did not take in.
    fn unknown_card_keys(&mut self, table: &toml::Table, details: &CreditCardOfferDetails) {
        let taken = serde_json::to_value(details).unwrap_or_default();
        for key in table.keys().filter(|key| taken.get(key).is_none()) {
            self.at(&format!("card.{key}"), "is not an attribute of CreditCardOfferDetails");
        }
    }

    fn identity(&mut self, key: &str, declared: &declared::Identity) -> Identity {
        self.url("image_url", &declared.image_url);
        for (size, url) in &declared.images {
            self.url(&format!("images.{size}"), url);
        }
        let institution = declared.financial_institution_uuid.unwrap_or(declared.uuid);
        let mut images: Vec<OriginatorImage> = declared
            .images
            .iter()
            .map(|(size_key, url)| OriginatorImage { size_key: size_key.clone(), url: url.clone() })
            .collect();
        if images.is_empty() {
            images.push(OriginatorImage { size_key: "default".to_owned(), url: declared.image_url.clone() });
        }
        Identity {
            key: key.to_owned(),
            partner: Partner {
                uuid: declared.uuid,
                name: declared.name.clone(),
                description: declared.description.clone(),
                disclaimer: declared.disclaimer.clone(),
                supports_pre_select: declared.supports_pre_select,
                should_display_pre_select: declared.should_display_pre_select,
                supports_personalized_offers: declared.supports_personalized_offers,
                image_url: declared.image_url.clone(),
                subtext_override: declared.subtext_override.clone(),
            },
            originator: Originator {
                key: key.to_owned(),
                name: declared.name.clone(),
                description: Some(declared.description.clone()),
                images,
                disclaimer: Some(declared.disclaimer.clone()),
                company_uuid: declared.company_uuid,
                financial_institution_uuid: Some(institution),
            },
            sub_account_id: declared.sub_account_id,
            institution,
            featured: declared.featured,
        }
    }

    fn seat(
        &mut self,
        identity: &Identity,
        product_type: ProductType,
        product: &declared::Product,
    ) -> Option<Seat> {
        if product.second_look && product_type != ProductType::Other {
            self.at("second_look", "is for `products.other` only");
        }
        let simulate = product
            .simulate
            .as_ref()
            .map(|simulate| self.within("simulate", |check| check.simulate(simulate)));
        let rule = self.needs(&product.needs).and_all(&[asks_for(product_type)]);
        let rule = self.rule(&product.eligibility).map(|own| rule.and(&own));

        let mut offers = Vec::new();
        let mut keys = std::collections::BTreeSet::new();
        for (nth, offer) in product.offers.iter().enumerate() {
            self.within(&format!("offers[{nth}]"), |check| {
                if !keys.insert(offer.key.as_str()) {
                    check.at("key", format!("`{}` stands twice", offer.key));
                }
                let rule = rule.clone().unwrap_or_else(Rule::always);
                offers.extend(CatalogOffer::declared(offer, product_type, identity, &rule, check));
            });
        }
        if product.offers.is_empty() {
            self.at("offers", "must have at least one offer");
        }
        if offers.len() > MAX_OFFERS {
            self.at("offers", format!("must be at most {MAX_OFFERS}, terms counted, got {}", offers.len()));
        }

        let text = SeatText {
            key: identity.key.clone(),
            product_type,
            second_look: product.second_look,
            partner: identity.partner.clone(),
            originator: identity.originator.clone(),
            sub_account_id: identity.sub_account_id,
            institution: identity.institution,
        };
        Some(Seat {
            identity: identity.clone(),
            product_type,
            second_look: product.second_look,
            paused: product.paused,
            timeout: self.duration("timeout", product.timeout),
            rule: rule?,
            simulate,
            offers,
            text: Text::new(Ending::Whole, &text, None),
            known_as: Arc::new(text),
        })
    }

    fn simulate(&mut self, simulate: &declared::Simulate) -> Simulate {
        self.between("failure_rate", Some(simulate.failure_rate), 0.0, 1.0);
        let delay = self.duration("delay", simulate.delay);
        let delay_max = simulate.delay_max.map_or(delay, |longest| self.duration("delay_max", longest));
        if delay_max < delay {
            self.at("delay_max", "must not be shorter than `delay`");
        }
        Simulate { delay, delay_max, failure_rate: simulate.failure_rate, failure: simulate.failure }
    }

    fn needs(&mut self, needs: &[String]) -> Rule {
        let mut conditions = Vec::new();
        for (nth, path) in needs.iter().enumerate() {
            if let Some(subject) = self.subject(&format!("needs[{nth}]"), path) {
                conditions.push(Condition::new(subject, Test::Present));
            }
        }
        Rule::always().and_all(&conditions)
    }

    /// Checks an eligibility table standing under `eligibility`; `None` when it has faults.
    pub fn rule(&mut self, eligibility: &Eligibility) -> Option<Rule> {
        let before = self.faults.len();
        let rule = self.within("eligibility", |check| check.conjunction(eligibility));
        (self.faults.len() == before).then_some(rule)
    }

    fn conjunction(&mut self, eligibility: &Eligibility) -> Rule {
        let mut conditions = Vec::new();
        for (path, condition) in &eligibility.all {
            let key = format!("\"{path}\"");
            let key = if path.contains('.') { key.as_str() } else { path.as_str() };
            if let Some(subject) = self.subject(key, path) {
                conditions.extend(self.within(key, |check| check.condition(subject, condition)));
            }
        }
        let mut rule = Rule::always().and_all(&conditions);
        let mut either = Vec::new();
        for (nth, one) in eligibility.any.iter().enumerate() {
            either.push(self.within(&format!("any[{nth}]"), |check| check.conjunction(one)));
        }
        if !either.is_empty() {
            let either = Rule::any(either);
            let unfolded = rule.alternatives().len() * either.alternatives().len();
            if unfolded > MAX_ALTERNATIVES {
                self.at(
                    "any",
                    format!("unfolds to {unfolded} alternatives, at most {MAX_ALTERNATIVES} are kept"),
                );
                return rule;
            }
            rule = rule.and(&either);
        }
        rule
    }

    fn subject(&mut self, key: &str, path: &str) -> Option<Subject> {
        let subject = Subject::named(path);
        if subject.is_none() {
            let near = Subject::paths()
                .map(|known| (strsim::jaro_winkler(path, known), known))
                .max_by(|one, two| one.0.total_cmp(&two.0))
                .filter(|(likeness, _)| *likeness > 0.8);
            let hint = near.map_or_else(String::new, |(_, known)| format!("; did you mean `{known}`?"));
            self.at(key, format!("`{path}` is no attribute of a lead{hint}"));
        }
        subject
    }

    /// The tests of one declared condition.
    fn condition(&mut self, subject: Subject, declared: &declared::Condition) -> Vec<Condition> {
        let mut tests = Vec::new();
        let kind = subject.kind();
        if declared.present {
            tests.push(Test::Present);
        }
        match kind {
            AttributeKind::Category(names) => {
                tests.extend(self.mask("in", declared.r#in.as_ref(), names).map(Test::Category));
                tests.extend(
                    self.mask("not_in", declared.not_in.as_ref(), names)
                        .map(|mask| Test::Category(!mask & every(names))),
                );
            }
            AttributeKind::Text => {
                tests.extend(self.texts("in", declared.r#in.as_ref()).map(Test::Text));
                tests.extend(self.texts("not_in", declared.not_in.as_ref()).map(Test::NotText));
            }
            AttributeKind::Set(names) => {
                tests.extend(self.mask("any_of", declared.any_of.as_ref(), names).map(Test::AnyOf));
                tests.extend(self.mask("none_of", declared.none_of.as_ref(), names).map(Test::NoneOf));
            }
            AttributeKind::Flag => tests.extend(declared.is.map(Test::Flag)),
            AttributeKind::Number | AttributeKind::Date => {
                let min = self.bound("min", declared.min.as_ref(), kind);
                let max = self.bound("max", declared.max.as_ref(), kind);
                if min.is_some() || max.is_some() {
                    let (min, max) = (min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY));
                    if min > max {
                        self.at("min", "is greater than `max`, so no value fits");
                    }
                    tests.push(Test::Range { min, max });
                }
            }
        }
        self.wrong_words(kind, declared);
        if tests.is_empty() {
            self.at("present", format!("must have a condition: {}", words_for(kind).join(", ")));
        }
        tests.into_iter().map(|test| Condition { subject, test, or_missing: declared.or_missing }).collect()
    }

    /// Faults for words that do not go with the kind of attribute.
    fn wrong_words(&mut self, kind: AttributeKind, declared: &declared::Condition) {
        let given = [
            ("in", declared.r#in.is_some()),
            ("not_in", declared.not_in.is_some()),
            ("any_of", declared.any_of.is_some()),
            ("none_of", declared.none_of.is_some()),
            ("is", declared.is.is_some()),
            ("min", declared.min.is_some()),
            ("max", declared.max.is_some()),
        ];
        let wanted = words_for(kind);
        for (word, _) in given.iter().filter(|(word, given)| *given && !wanted.contains(word)) {
            self.at(word, format!("does not go with this attribute; wanted: {}", wanted.join(", ")));
        }
    }

    fn mask(&mut self, key: &str, values: Option<&Vec<String>>, names: &[&str]) -> Option<u64> {
        let values = values?;
        let mut mask = 0;
        for (nth, value) in values.iter().enumerate() {
            match names.iter().position(|name| name == value) {
                Some(ordinal) => mask |= 1_u64 << ordinal,
                None => self.at(
                    &format!("{key}[{nth}]"),
                    format!("must be one of {}, got `{value}`", names.join(", ")),
                ),
            }
        }
        if values.is_empty() {
            self.at(key, "is empty, so it means nothing");
        }
        Some(mask)
    }

    fn texts(&mut self, key: &str, values: Option<&Vec<String>>) -> Option<Vec<String>> {
        let values = values?;
        if values.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
            self.at(key, "must be texts that are not empty");
        }
        Some(values.iter().map(|value| value.to_lowercase()).collect())
    }

    fn bound(&mut self, key: &str, value: Option<&toml::Value>, kind: AttributeKind) -> Option<f64> {
        let value = value?;
        let number = match (kind, value) {
            (AttributeKind::Number, toml::Value::Integer(number)) => Some(*number as f64),
            (AttributeKind::Number, toml::Value::Float(number)) if number.is_finite() => Some(*number),
            (AttributeKind::Date, value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.parse::<NaiveDate>().ok().map(days)
            }
            _ => None,
        };
        if number.is_none() {
            let wanted = if matches!(kind, AttributeKind::Date) { "a date `YYYY-MM-DD`" } else { "a number" };
            self.at(key, format!("must be {wanted}, got `{value}`"));
        }
        number
    }
}

/// The condition that the lead asks for a product type.
fn asks_for(product_type: ProductType) -> Condition {
    Condition::or_missing(Subject::of("productTypes"), Test::AnyOf(1 << product_type.ordinal()))
}

fn every(names: &[&str]) -> u64 {
    u64::MAX >> (64 - names.len())
}

fn words_for(kind: AttributeKind) -> &'static [&'static str] {
    match kind {
        AttributeKind::Category(_) | AttributeKind::Text => &["in", "not_in", "present"],
        AttributeKind::Set(_) => &["any_of", "none_of", "present"],
        AttributeKind::Flag => &["is", "present"],
        AttributeKind::Number | AttributeKind::Date => &["min", "max", "present"],
    }
}

fn is_key(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_lowercase());
    starts
        && name
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter))
}
