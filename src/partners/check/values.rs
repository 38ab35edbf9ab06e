//! Checks of single values: names, figures, URLs, bands, card details.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::base_url::{BASE_URL, LOGO, PICTURE, SAMPLES, absolute, url_fault};
use crate::catalog::{TermsBand, is_fraction};
use crate::check::checker::PartnerFileChecker;
use crate::check::conditions::in_percent;
use crate::declared::{Band, FigureRange, Offer, Range};
use crate::eligibility::bits;
use offerd_base::config::shown_address;
use offerd_model::{CreditCardOfferDetails, LifeInsuranceOfferDetails, ProductSubType, ProvidedCreditRating};

/// Names that a landing URL may have in braces.
const FILLED_IN: [&str; 2] = ["clickId", "leadUuid"];

impl PartnerFileChecker<'_> {
    /// Checks a URL: absolute, or on the daemon's own address; the daemon must serve a sample URL.
    pub fn url(&mut self, key: &str, url: &str) {
        let path = url.strip_prefix(BASE_URL);
        let misplaced = path.filter(|path| !path.starts_with('/')).map(|_| "must be an absolute URL");
        if let Some(fault) = misplaced.or_else(|| url_fault(&absolute(url, "http://daemon"))) {
            let found = shown_address(url).escape_debug().to_string();
            let or = if fault.contains("absolute") {
                format!(", or begin with `{BASE_URL}/`")
            } else {
                String::new()
            };
            self.at(key, format!("{fault}{or}, got `{found}`"));
        }
        // Answered values have no file behind them.
        let is_of_file = !self.source.file().as_os_str().is_empty();
        if let Some(sample) = path.and_then(|path| path.strip_prefix(SAMPLES)).filter(|_| is_of_file) {
            self.sample(key, sample.split(['?', '#']).next().unwrap_or_default());
        }
    }

    /// Checks that the daemon serves this sample path for the partner.
    fn sample(&mut self, key: &str, sample: &str) {
        let file = self.file_name();
        let partner = file.strip_suffix(".toml").unwrap_or(&file);
        let page = sample.strip_prefix(partner).and_then(|rest| rest.strip_prefix('/'));
        let served = page
            .is_some_and(|page| page == LOGO || self.has_offer(page.strip_suffix(PICTURE).unwrap_or(page)));
        if !served {
            let (of_partner, found) = (format!("{BASE_URL}{SAMPLES}{partner}"), sample.escape_debug());
            let fault = format!(
                "the daemon serves `{of_partner}/{LOGO}` and, by the key of each offer in this file, `{of_partner}/KEY` and \
                 `{of_partner}/KEY{PICTURE}`, got `{found}`"
            );
            self.at(key, fault);
        }
    }

    fn has_offer(&self, key: &str) -> bool {
        let products = self.source.table().get("products").and_then(toml::Value::as_table);
        let offers =
            products.into_iter().flatten().filter_map(|(_, product)| product.get("offers")?.as_array());
        offers.flatten().any(|offer| offer.get("key").and_then(toml::Value::as_str) == Some(key))
    }

    /// Checks a landing URL, including the names that are filled in.
    pub fn landing_url(&mut self, url: &str) {
        self.url("landing_url", url);
        let path = url.strip_prefix(BASE_URL).unwrap_or(url);
        for name in path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
            if !FILLED_IN.contains(&name) {
                let known = FILLED_IN.map(|name| format!("`{{{name}}}`")).join(", ");
                self.at(
                    "landing_url",
                    format!("uses `{{{name}}}`, which offerd does not fill in; known: {known}"),
                );
            }
        }
    }

    /// Checks a sub-type against the allowed ones.
    pub fn sub_type(&mut self, offer: &Offer, wanted: &[ProductSubType]) -> Option<ProductSubType> {
        let names = wanted.iter().map(|sub_type| sub_type.as_str()).collect::<Vec<_>>().join(", ");
        match offer.sub_type {
            Some(sub_type) if wanted.contains(&sub_type) => return offer.sub_type,
            Some(sub_type) => self.at("sub_type", format!("must be one of {names}, got `{sub_type}`")),
            None => self.at("sub_type", format!("is missing: one of {names}")),
        }
        None
    }

    /// Checks that both or neither of two keys are set.
    pub fn together(&mut self, (one, other): (&str, &str), are_set: (bool, bool)) {
        let (set, unset) = match are_set {
            (true, false) => (one, other),
            (false, true) => (other, one),
            _ => return,
        };
        self.at(set, format!("must be set together with `{unset}`: both or neither"));
    }

    /// Checks that a range is non-empty and within bounds; missing ends default to the bounds.
    pub fn range(&mut self, key: &str, range: Option<Range>, bounds: (f64, f64)) -> Option<(f64, f64)> {
        self.given(key, range.is_some());
        let range = range?;
        let (min, max) = (range.min.unwrap_or(bounds.0), range.max.unwrap_or(bounds.1));
        if min > max {
            self.at(key, format!("must have its lowest at or below its highest, got {min} and {max}"));
            return None;
        }
        self.both_between(key, (min, max), bounds);
        Some((min, max))
    }

    /// Checks bands. `amount` is the default range of each, and money is lent or deposited.
    pub(crate) fn bands(&mut self, bands: &[Band], amount: (f64, f64), is_lent: bool) -> Vec<TermsBand> {
        let check =
            |(nth, band)| self.within(&format!("bands[{nth}]"), |check| check.band(band, amount, is_lent));
        bands.iter().enumerate().map(check).collect()
    }

    fn band(&mut self, band: &Band, amount: (f64, f64), is_lent: bool) -> TermsBand {
        let ratings = band.ratings.as_deref().unwrap_or(ProvidedCreditRating::ALL);
        let own_amount = band.amount.and_then(|range| self.range("amount", Some(range), amount));
        let loan_to_value =
            band.loan_to_value.and_then(|range| self.range("loan_to_value", Some(range), (0.0, 1000.0)));
        let of_value = band.loan_to_value.unwrap_or_default();
        self.percentage("loan_to_value.min", of_value.min);
        self.percentage("loan_to_value.max", of_value.max);
        let rate = self.span("rate", band.rate, (0.0, 400.0));
        let low = [rate.0, rate.1].into_iter().find(|rate| is_fraction(*rate));
        if let Some(low) = low.filter(|_| is_lent && !band.low_apr) {
            let percent = in_percent(low);
            let fault = format!(
                "is {low} percent, like a fraction: write {percent}, or set `low_apr = true` in the band if it is meant"
            );
            self.at("rate", fault);
        }
        let fee_rate = band.fee_rate.map_or((0.0, 0.0), |fee| self.span("fee_rate", fee, (0.0, 50.0)));
        self.between("fee_fixed", band.fee_fixed, 0.0, own_amount.unwrap_or(amount).0.max(1.0) / 2.0);
        self.between("price_adjustment", band.price_adjustment, -10.0, 10.0);
        TermsBand {
            ratings: bits(ratings.iter().copied()),
            amount: own_amount.unwrap_or(amount),
            loan_to_value: loan_to_value.unwrap_or((0.0, f64::INFINITY)),
            rate,
            fee_rate,
            fee_fixed: band.fee_fixed.unwrap_or(0.0),
            price_adjustment: band.price_adjustment.unwrap_or(0.0),
        }
    }

    fn span(&mut self, key: &str, figures: FigureRange, bounds: (f64, f64)) -> (f64, f64) {
        let (low, high) = figures.span();
        if low > high {
            self.at(key, format!("must have its lowest at or below its highest, got {low} and {high}"));
        }
        self.both_between(key, (low, high), bounds);
        (low, high)
    }

    /// Checks that two figures are within bounds. Equal figures are reported once.
    fn both_between(&mut self, key: &str, (low, high): (f64, f64), (least, greatest): (f64, f64)) {
        self.between(key, Some(low), least, greatest);
        if high.to_bits() != low.to_bits() {
            self.between(key, Some(high), least, greatest);
        }
    }

    /// Parses card details in the specification's attribute names. `decided` keys are set per lead, not here.
    pub fn card(&mut self, table: &toml::Table, decided: &[&str]) -> Option<CreditCardOfferDetails> {
        let mut table = table.clone();
        for key in decided {
            if table.insert((*key).to_owned(), false.into()).is_some() {
                self.at(&format!("card.{key}"), "is decided for each lead; leave it out");
            }
        }
        let details: CreditCardOfferDetails = self.details("card", "CreditCardOfferDetails", &table)?;
        self.url("card.cardImageUrl", &details.card_image_url);
        if let Some(url) = details.rates_url.as_ref().filter(|url| url.starts_with(BASE_URL)) {
            self.url("card.ratesUrl", url);
        }
        Some(details)
    }

    /// Parses the details of a life insurance policy in the API's own attribute names.
    pub fn policy(&mut self, table: &toml::Table) -> Option<LifeInsuranceOfferDetails> {
        let details: LifeInsuranceOfferDetails =
            self.details("policy", "LifeInsuranceOfferDetails", table)?;
        self.between("policy.policyAmount", Some(details.policy_amount as f64), 1.0, 1e9);
        self.between("policy.monthlyPremiumAmount", Some(details.monthly_premium_amount.to_f64()), 0.01, 1e8);
        let term = (details.term_length.is_some(), details.term_unit.is_some());
        self.together(("policy.termLength", "policy.termUnit"), term);
        Some(details)
    }

    /// Parses the details under `key` in the API's own attribute names.
    fn details<T>(&mut self, key: &str, noun: &str, table: &toml::Table) -> Option<T>
    where
        T: DeserializeOwned + Serialize,
    {
        let details = match serde_path_to_error::deserialize::<_, T>(table.clone()) {
            Ok(details) => details,
            Err(error) => {
                let path = error.path().to_string();
                let at = if path == "." { key.to_owned() } else { format!("{key}.{path}") };
                self.at(&at, error.into_inner().message().trim().to_owned());
                return None;
            }
        };
        let taken = serde_json::to_value(&details).unwrap_or_default();
        self.unknown_keys(key, noun, &toml::Value::Table(table.clone()), &taken);
        Some(details)
    }

    /// Reports keys that parsing ignored, at any depth.
    fn unknown_keys(&mut self, key: &str, noun: &str, given: &toml::Value, taken: &serde_json::Value) {
        match given {
            toml::Value::Table(table) => {
                for (name, within) in table {
                    let at = format!("{key}.{name}");
                    match taken.get(name) {
                        Some(taken) => self.unknown_keys(&at, noun, within, taken),
                        None => self.at(&at, format!("is not an attribute of {noun}")),
                    }
                }
            }
            toml::Value::Array(elements) => {
                for (nth, element) in elements.iter().enumerate() {
                    self.unknown_keys(&format!("{key}[{nth}]"), noun, element, &taken[nth]);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::Book;

    const FILE: &str = r#"[partner]
uuid = "3f0c1a52-6d5e-4b8e-9f43-7a1d0a2b3c4d"
name = "Lender"
description = "One."
disclaimer = "None."
image_url = "https://lender.example/logo.png"
sub_account_id = 1
[products.loan]
timeout = "5s"
eligibility = {}
[[products.loan.offers]]
key = "one"
sub_type = "personal_loan"
landing_url = "https://lender.example/"
payout = { on = "click", fixed = 1.0 }
conversion_probability = 0.5
amount = { min = 1000, max = 5000 }
apr_type = "fixed"
terms = [36]
bands = [{ rate = 8.9 }]
"#;

    /// The faults of the file with one part replaced.
    fn faults(part: &str, other: &str) -> Vec<String> {
        assert!(FILE.contains(part), "{part}");
        let loaded = Book::from_texts([(PathBuf::from("lender.toml"), FILE.replace(part, other))]);
        loaded.err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_fault_of_a_list_or_a_figure_is_named_once_and_as_what_it_is() {
        assert!(faults("terms = [36]", "terms = [36, 60]").is_empty());
        assert!(faults("rate = 8.9", "rate = [8.9, 12]").is_empty());
        assert!(faults("rate = 8.9", "rate = [0, 0.9], low_apr = true").is_empty());
        assert!(faults("rate = 8.9", "rate = 0").is_empty());
        for (part, other, fault) in [
            ("terms = [36]", "terms = [36, 60, 36]", "36 appears twice"),
            ("terms = [36]", "terms = []", "must not be empty"),
            (
                "terms = [36]",
                &format!("terms = {:?}", Vec::from_iter(1..=100_001)),
                "must be at most 100000, terms counted, got 100001",
            ),
            ("terms = [36]", "", "is missing"),
            (
                "terms = [36]",
                "terms = [9223372036854775807]",
                "must be an integer from -2147483648 to 2147483647, got integer `9223372036854775807`",
            ),
            ("bands = [{ rate = 8.9 }]", "bands = []", "must not be empty"),
            ("bands = [{ rate = 8.9 }]", "", "is missing"),
            (
                "rate = 8.9",
                "rate = 0.089",
                "bands[0].rate` is 0.089 percent, like a fraction: write 8.9, or set `low_apr = true` in the band if it is meant",
            ),
            (
                "rate = 8.9",
                "rate = [0.089, 9]",
                "like a fraction: write 8.9, or set `low_apr = true` in the band if it is meant",
            ),
            (
                "rate = 8.9",
                "rate = 8.9, loan_to_value = { max = 0.8 }",
                "max` is in percent, and 0.8 is like a fraction: write 80",
            ),
            ("rate = 8.9", "rate = -8.9", "must be from 0 to 400, got -8.9"),
            ("rate = 8.9", "rate = nan", "must be from 0 to 400, got NaN"),
            ("rate = 8.9", "rate = [8.9, 900]", "must be from 0 to 400, got 900"),
        ] {
            let found = faults(part, other);
            assert!(found.len() == 1 && found[0].ends_with(fault), "{other}: {found:?}");
        }
        assert_eq!(faults("rate = 8.9", "rate = [-1, 900]").len(), 2);
    }

    #[test]
    fn a_sub_type_is_never_unknown() {
        for (other, meant) in [("unknown", ""), ("persnal_loan", "; did you mean `personal_loan`?")] {
            let found = faults("\"personal_loan\"", &format!("\"{other}\""));
            let names = "`products.loan.offers[0].sub_type` must be one of `credit_card`, `secured_card`, ";
            assert!(found.len() == 1 && found[0].contains(names) && found[0].ends_with(meant), "{found:?}");
            assert!(!found[0].contains("`unknown`"), "{found:?}");
        }
    }

    #[test]
    fn texts_that_are_shown_are_of_a_length_that_can_be_and_control_nothing() {
        assert!(faults("One.", r"One.\nAnd another.").is_empty());
        let name = |length: usize| faults("Lender", &"x".repeat(length));
        let text = |length: usize| faults("None.", &"ä".repeat(length));
        assert!(name(200).is_empty() && text(10_000).is_empty());
        for (found, fault) in [
            (name(0), "`partner.name` must not be empty"),
            (name(201), "`partner.name` must have 200 characters at most, got 201"),
            (text(10_001), "`partner.disclaimer` must have 10000 characters at most, got 10001"),
            (
                faults("One.", r"One.\u001b[2J"),
                "`partner.description` must have no control characters other than line breaks",
            ),
            (
                faults("apr_type", "apr_description = \"\\u0000\"\napr_type"),
                "`products.loan.offers[0].apr_description` must have no control characters other than line breaks",
            ),
        ] {
            assert!(found.len() == 1 && found[0].ends_with(fault), "{found:?}");
        }
    }

    #[test]
    fn a_condition_that_none_or_every_lead_meets_is_a_fault() {
        for (wrong, fault) in [
            ("any = []", "any` is empty, so it means nothing"),
            ("any = [{ age = { min = 18 } }, {}]", "any[1]` has no condition, so every lead meets `any`"),
            (
                "\"personalInformation.state\" = { in = [\"CA\", \"NY\"], not_in = [\"NY\"] }",
                "not_in` has `NY`, which `in` has too; leave it out of one",
            ),
            (
                "\"clientTags.a\" = { any_of = [\"Web\"], none_of = [\"web\"] }",
                "none_of` has `web`, which `any_of` has too; leave it out of one",
            ),
            (
                "\"personalInformation.zipcode\" = { prefix_in = [\"94\"], prefix_not_in = [\"94\"] }",
                "prefix_not_in` has `94`, which `prefix_in` has too; leave it out of one",
            ),
            (
                "\"mortgageInformation.mortgageType\" = { not_in = [\"purchase\", \"refinance\"] }",
                "not_in` has every value, so no lead fits",
            ),
            (
                "age = { present = true, or_missing = true }",
                "undoes `present`, so every lead fits; leave one out",
            ),
            ("creditScore = { min = 6400 }", "creditScore.min` must be from 300 to 850, got 6400"),
            (
                "\"creditInformation.providedNumericCreditScore\" = { max = 85 }",
                "max` must be from 300 to 850, got 85",
            ),
            ("debtToIncome = { max = 0.43 }", "max` is in percent, and 0.43 is like a fraction: write 43"),
            ("loanToValue = { min = 0.295 }", "min` is in percent, and 0.295 is like a fraction: write 29.5"),
        ] {
            let found = faults("eligibility = {}", &format!("eligibility = {{ {wrong} }}"));
            assert!(found.len() == 1 && found[0].ends_with(fault), "{wrong}: {found:?}");
        }
        for right in [
            "\"personalInformation.zipcode\" = { prefix_in = [\"94\"], prefix_not_in = [\"941\"] }",
            "\"personalInformation.state\" = { in = [\"CA\"], not_in = [\"NY\"] }",
            "debtToIncome = { min = 0, max = 43 }, loanToValue = { max = 97.5 }, creditScore = { min = 300, max = 850 }",
            "any = [{ age = { min = 18 } }]",
        ] {
            let found = faults("eligibility = {}", &format!("eligibility = {{ {right} }}"));
            assert!(found.is_empty(), "{right}: {found:?}");
        }
    }

    #[test]
    fn an_attribute_that_is_not_known_is_named_before_what_is_wrong_in_its_condition() {
        let found = faults("eligibility = {}", r#"eligibility = { "nope.x" = { is = 1 } }"#);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`nope.x` is not an attribute of a lead"), "{found:?}");
        assert!(found[1].contains("must be a boolean"), "{found:?}");
    }
}
