//! Offers whose figures a partner answers: those of the quote ([`terms`]), and optionally replacements of
//! declared values ([`base`]). A partner's own offers have no catalog offer behind them. [`figure`] lists
//! what may be answered, [`kind`] parses it, and [`money`] checks its plausibility.

pub(super) mod base;
mod card;
mod figure;
mod kind;
mod money;
mod policy;
mod terms;
#[cfg(test)]
mod tests;
mod unfit;

use std::sync::Arc;

use serde_json::Value;

pub use figure::AnsweredFigure;
pub(crate) use money::is_fraction;
pub use money::{MoneyRules, PaymentBy, range_shown};
pub use unfit::Unfit;

use self::kind::number_of;
use super::{CatalogOffer, Pricing, Quoted};
use crate::Facts;
use crate::base_url::{SAMPLE_PAGES, url_fault};
use crate::quote::Quote;
use offerd_model::{ProductType, Timestamp};

/// The figures that an offer requires; any one of the alternatives suffices.
const REQUIRED: &[(ProductType, &[&str])] = &[
    (ProductType::Loan, &["apr", "min_apr", "max_apr"]),
    (ProductType::Mortgage, &["interest_rate"]),
    (ProductType::Savings, &["rate"]),
];

/// The answered figures of one offer.
#[derive(Debug, Clone)]
pub struct AnsweredFigures<'f> {
    rules: Arc<MoneyRules>,
    facts: &'f Facts<'f>,
    given: Vec<(AnsweredFigure, toml::Value)>,
}

impl<'f> AnsweredFigures<'f> {
    /// No figures yet, of an offer to a lead under the rules of a file.
    pub fn under(rules: Arc<MoneyRules>, facts: &'f Facts<'f>) -> Self {
        Self { rules, facts, given: Vec::new() }
    }

    /// The figures of which offers of a product type need one.
    pub fn required(product_type: ProductType) -> &'static [&'static str] {
        REQUIRED.iter().find(|(known, _)| *known == product_type).map_or(&[], |(_, figures)| figures)
    }

    /// Adds a figure; the error is the expected kind, worded to follow its name.
    pub fn set(&mut self, figure: AnsweredFigure, value: &Value) -> Result<(), Unfit> {
        self.given.push((figure, figure.kind().read(value)?));
        Ok(())
    }

    /// Builds the quote from the catalog offer that the figures select among `offers`, those for the lead, or
    /// says why there is none. `keys` are those of the whole catalog.
    pub fn quote(&self, offers: &[&CatalogOffer], keys: &[String]) -> Result<Quote, Unfit> {
        let mut named = offers.iter().filter(|offer| self.name(offer, offers));
        let offer = named.next().ok_or_else(|| self.names_none(offers, keys))?;
        if named.next().is_some() {
            return Err("it matches several offers of the file; distinguish them by `key` and `term`".into());
        }
        let completed = self.completed(offer)?;
        let declared = completed.as_ref().unwrap_or(offer);
        let quoted = self.quoted(&declared.pricing, offer.is_own())?;
        let doubt = self.judge(&quoted, &declared.pricing)?;
        let mut quote = offer.scored(self.facts, declared, quoted);
        quote.landing_url = self.landing_url(offer)?;
        quote.expires_at = self.text("expires_at").and_then(Timestamp::parse).map(Timestamp::millis);
        if quote.expires_at.is_some_and(|end| end <= self.facts.now.timestamp_millis()) {
            return Err("its `expires_at` is in the past".into());
        }
        quote.doubt = doubt;
        let own = completed.map(|completed| completed.text).filter(|text| *text != offer.text);
        quote.own = own.map(|text| self.rules.bounded(text)).transpose()?.map(Arc::new);
        Ok(quote)
    }

    /// The completed offer, if the figures go beyond a quote.
    fn completed(&self, offer: &CatalogOffer) -> Result<Option<CatalogOffer>, Unfit> {
        let is_loan = matches!(offer.pricing, Pricing::Loan(_));
        let is_wanted = offer.is_own()
            || self.given.iter().any(|(figure, _)| figure.is_of_offer())
            || is_loan && self.of_payment().is_some();
        let declaration = offer.declaration.as_ref().filter(|_| is_wanted);
        declaration.map(|declaration| offer.completed(declaration, self)).transpose()
    }

    fn put_into(&self, declaration: &mut toml::Table) {
        for (figure, value) in self.given.iter().filter(|(figure, _)| figure.is_of_offer()) {
            let name = figure.name;
            match (figure.attribute(), value) {
                (Some(key), value) => drop(table_in(declaration, name).insert(key.to_owned(), value.clone())),
                (None, toml::Value::Table(attributes)) => {
                    table_in(declaration, name).extend(attributes.clone())
                }
                (None, value) if name == "payout" => {
                    let payout = table_in(declaration, name);
                    payout.remove("percent");
                    payout.insert("fixed".to_owned(), value.clone());
                }
                (None, value) => drop(declaration.insert(name.to_owned(), value.clone())),
            }
        }
    }

    fn names_none(&self, offers: &[&CatalogOffer], keys: &[String]) -> Unfit {
        let there = |names: &[String]| match names {
            [] => "there is none".to_owned(),
            [one] => format!("there is {one}"),
            names => format!("there are {}", names.join(", ")),
        };
        let key = self.text("key").map(str::to_owned);
        if let Some(key) = key.as_ref().filter(|key| !keys.contains(key)) {
            let [reason, detail] = ["its key".to_owned(), format!("`{key}`")]
                .map(|named| format!("{named} is not an offer of the file; {}", there(keys)));
            return Unfit::told(reason, detail);
        }
        let of_key = offers.iter().filter(|offer| key.as_ref().is_none_or(|key| offer.key() == key));
        let terms: Vec<_> = of_key.filter_map(|offer| Some(offer.pricing.term()?.to_string())).collect();
        if !terms.is_empty() {
            return format!("the file has no such term for the lead; {}", there(&terms)).into();
        }
        Unfit::for_others(key.map_or_else(
            || "no offer of the file fits the lead: their conditions are not met".to_owned(),
            |key| format!("`{key}` does not fit the lead: its conditions are not met"),
        ))
    }

    /// Whether the figures select an offer: missing ones match all, and no key means a partner's own.
    fn name(&self, offer: &CatalogOffer, offers: &[&CatalogOffer]) -> bool {
        let Some(key) = self.text("key") else {
            return offer.is_own() || !offers.iter().any(|other| other.is_own()) && self.names_term_of(offer);
        };
        !offer.is_own() && offer.key() == key && self.names_term_of(offer)
    }

    fn names_term_of(&self, offer: &CatalogOffer) -> bool {
        self.term().zip(offer.pricing.term()).is_none_or(|(wanted, term)| wanted == term)
    }

    fn quoted(&self, pricing: &Pricing, is_own: bool) -> Result<Quoted, Unfit> {
        match pricing {
            Pricing::Loan(loan) => self.loan(loan.months(), (!is_own).then_some(loan.amount)),
            Pricing::Card(_) => Ok(self.card()),
            Pricing::Mortgage(one) => self.mortgage(one.terms(), (!is_own).then_some(one.reference_amount)),
            Pricing::Savings(savings) => self.savings(savings.compounding),
            Pricing::Special(special) => Ok(special.quote()),
            Pricing::Own => Err("it is not a complete offer".into()),
        }
    }

    /// The answered URL that a click leads to: absolute or, for a sample partner, the declared sample page.
    fn landing_url(&self, offer: &CatalogOffer) -> Result<Option<String>, Unfit> {
        let declared = offer.declared_url();
        let Some(url) = self.text("landing_url") else {
            let is_said = !declared.is_empty();
            let none =
                "it has no landing URL: `answer.offer.landing_url` finds none, nor does the file declare one";
            return is_said.then_some(None).ok_or(none.into());
        };
        let page = |url: &str| {
            url.split('?').next().filter(|page| page.starts_with(SAMPLE_PAGES)).map(str::to_owned)
        };
        match page(url) {
            Some(own) if page(declared).is_some_and(|declared| declared == own) => Ok(Some(url.to_owned())),
            Some(_) => Err("`answer.offer.landing_url` leads to the samples of another partner".into()),
            None => match url_fault(url) {
                Some(fault) => Err(format!("`answer.offer.landing_url` {fault}").into()),
                None => Ok(Some(url.to_owned())),
            },
        }
    }

    fn value(&self, name: &str) -> Option<&toml::Value> {
        let (name, attribute) = name.split_once('.').map_or((name, None), |(row, name)| (row, Some(name)));
        let mut of_name = self.given.iter().rev().filter(|(figure, _)| figure.name == name);
        of_name.find_map(|(figure, value)| match (attribute, figure.attribute()) {
            (wanted, found) if wanted == found => Some(value),
            (Some(attribute), None) => value.get(attribute),
            _ => None,
        })
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.value(name).and_then(number_of)
    }

    fn flag(&self, name: &str) -> bool {
        self.value(name).and_then(toml::Value::as_bool).unwrap_or(false)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.value(name).and_then(toml::Value::as_str)
    }

    fn term(&self) -> Option<i32> {
        self.value("term").and_then(toml::Value::as_integer).and_then(|term| term.try_into().ok())
    }
}

fn table_in<'t>(declaration: &'t mut toml::Table, key: &str) -> &'t mut toml::Table {
    let found = declaration.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if !found.is_table() {
        *found = toml::Value::Table(toml::Table::new());
    }
    found.as_table_mut().expect("it was made one")
}
