//! Offers whose figures a partner answers: the catalog has their templates, the partner says what they are for one person.

use std::collections::BTreeMap;

use super::{
    CatalogOffer, PRE_APPROVED_SUITABILITY, PRE_QUALIFIED_SUITABILITY, PRE_SELECTED_SUITABILITY, Pricing,
    STATIC_SUITABILITY, hundredths, thousandths,
};
use crate::model::{ProductType, Timestamp};
use crate::partners::Facts;
use crate::partners::base_url::SAMPLE_PAGES;
use crate::partners::checker::is_absolute_url;
use crate::partners::finance;
use crate::partners::quote::{CardTerms, LoanTerms, MortgageTerms, Quote, SavingsTerms, Spread, Terms};

/// A figure that a partner may answer for an offer.
#[derive(Debug, Clone, Copy)]
struct Figure {
    name: &'static str,
    kind: Kind,
    /// The product types whose offers have it; none stands for all.
    of: &'static [ProductType],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A number within bounds, both included.
    Number(i64, i64),
    Flag,
    Text,
    /// A point in time, kept as Unix milliseconds.
    Instant,
}

const LOAN: &[ProductType] = &[ProductType::Loan];
const MORTGAGE: &[ProductType] = &[ProductType::Mortgage];
const SAVINGS: &[ProductType] = &[ProductType::Savings];
const CARD: &[ProductType] = &[ProductType::CreditCard];
const LENT: &[ProductType] = &[ProductType::Loan, ProductType::Mortgage];
const FIRM: &[ProductType] = &[ProductType::Loan, ProductType::CreditCard];
const DOLLARS: Kind = Kind::Number(0, 100_000_000);
const PERCENT: Kind = Kind::Number(0, 400);

/// Every figure there is.
#[rustfmt::skip]
const FIGURES: &[Figure] = &[
    // Which offer of the catalog it is; the only one where there is one.
    Figure { name: "key", kind: Kind::Text, of: &[] },
    // Which of its terms.
    Figure { name: "term", kind: Kind::Number(0, 600), of: LOAN },
    // Where a click leads, in place of the offer's `landing_url`.
    Figure { name: "landing_url", kind: Kind::Text, of: &[] },
    // Until when it stands, where that is not as long as others do.
    Figure { name: "expires_at", kind: Kind::Instant, of: &[] },
    Figure { name: "pre_approved", kind: Kind::Flag, of: FIRM },
    Figure { name: "pre_qualified", kind: Kind::Flag, of: FIRM },
    Figure { name: "pre_selected", kind: Kind::Flag, of: CARD },
    // Dollars that are lent; what the lead asks for where only one or none is given.
    Figure { name: "min_amount", kind: DOLLARS, of: LOAN },
    Figure { name: "max_amount", kind: DOLLARS, of: LOAN },
    // APR in percent: one figure, or its ends.
    Figure { name: "apr", kind: PERCENT, of: LENT },
    Figure { name: "min_apr", kind: PERCENT, of: LOAN },
    Figure { name: "max_apr", kind: PERCENT, of: LOAN },
    // Origination fee, percent of the amount, and dollars.
    Figure { name: "fee_rate", kind: Kind::Number(0, 50), of: LOAN },
    Figure { name: "fee_fixed", kind: DOLLARS, of: LOAN },
    // Dollars a month; computed from the APR where it is not given.
    Figure { name: "monthly_payment", kind: DOLLARS, of: LENT },
    // Percent a year.
    Figure { name: "interest_rate", kind: PERCENT, of: MORTGAGE },
    Figure { name: "price_adjustment", kind: Kind::Number(-10, 10), of: MORTGAGE },
    Figure { name: "net_closing_costs", kind: Kind::Number(-10_000_000, 10_000_000), of: MORTGAGE },
    Figure { name: "rate", kind: PERCENT, of: SAVINGS },
    Figure { name: "annual_percent_yield", kind: PERCENT, of: SAVINGS },
];

/// The figures that an offer cannot do without, each in any of its ways.
const REQUIRED: &[(ProductType, &[&str])] = &[
    (ProductType::Loan, &["apr", "min_apr", "max_apr"]),
    (ProductType::Mortgage, &["interest_rate"]),
    (ProductType::Savings, &["rate"]),
];

/// Why figures make no quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// Why, without what they say.
    pub reason: String,
    /// Why, with what they say: for whoever may see it.
    pub detail: String,
}

impl From<String> for Unfit {
    fn from(reason: String) -> Self {
        Self { detail: reason.clone(), reason }
    }
}

impl From<&str> for Unfit {
    fn from(reason: &str) -> Self {
        reason.to_owned().into()
    }
}

/// The figures of one offer, as a partner answers them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    texts: BTreeMap<&'static str, String>,
    flags: BTreeMap<&'static str, bool>,
    numbers: BTreeMap<&'static str, f64>,
}

impl Figures {
    /// The name of a figure that offers of a product type have.
    pub fn named(name: &str, product_type: ProductType) -> Option<&'static str> {
        Self::names(product_type).find(|known| *known == name)
    }

    /// The names of the figures that offers of a product type have.
    pub fn names(product_type: ProductType) -> impl Iterator<Item = &'static str> {
        let has = move |figure: &&Figure| figure.of.is_empty() || figure.of.contains(&product_type);
        FIGURES.iter().filter(has).map(|figure| figure.name)
    }

    /// The figures of which offers of a product type need one.
    pub fn required(product_type: ProductType) -> &'static [&'static str] {
        REQUIRED.iter().find(|(known, _)| *known == product_type).map_or(&[], |(_, figures)| figures)
    }

    /// Takes in a figure.
    ///
    /// # Errors
    /// What is wanted, without what was found.
    pub fn set(&mut self, name: &'static str, text: &str) -> Result<(), String> {
        let figure = FIGURES.iter().find(|figure| figure.name == name);
        match figure.map(|figure| figure.kind) {
            Some(Kind::Text) => drop(self.texts.insert(name, text.to_owned())),
            Some(Kind::Flag) => {
                let flag = text.to_ascii_lowercase().parse().map_err(|_| "must be true or false")?;
                self.flags.insert(name, flag);
            }
            Some(Kind::Instant) => {
                let instant = Timestamp::parse(text.trim()).ok_or("must be an ISO 8601 date-time")?;
                self.numbers.insert(name, instant.millis() as f64);
            }
            Some(Kind::Number(least, most)) => {
                let number = text
                    .trim()
                    .parse()
                    .ok()
                    .filter(|number: &f64| (least as f64..=most as f64).contains(number));
                let number = number.ok_or_else(|| format!("must be a number from {least} to {most}"))?;
                self.numbers.insert(name, number);
            }
            None => return Err("is no figure of an offer".to_owned()),
        }
        Ok(())
    }

    /// The quote that they make with the offer of the catalog that they name, of those that are for the lead. `keys` are
    /// those of the whole catalog.
    ///
    /// # Errors
    /// Why they make none.
    pub fn quote(&self, facts: &Facts, offers: &[&CatalogOffer], keys: &[String]) -> Result<Quote, Unfit> {
        let mut named = offers.iter().filter(|offer| self.name(offer));
        let offer = named.next().ok_or_else(|| self.names_none(offers, keys))?;
        if named.next().is_some() {
            return Err("it names several offers of the file; `key` and `term` tell them apart".into());
        }
        let (terms, suitability, amount) = match &offer.pricing {
            Pricing::Loan(loan) => {
                let (mut terms, amount) = self.loan(facts, loan.months(), loan.amount())?;
                terms.payout = offer.payout.dollars(Some(amount));
                let suitability = firmness(terms.pre_approved, terms.pre_qualified, false);
                (Terms::Loan(terms), suitability, Some(amount))
            }
            Pricing::Card(_) => {
                let terms = CardTerms {
                    pre_qualified: self.flag("pre_qualified"),
                    pre_approved: self.flag("pre_approved"),
                    pre_selected: self.flag("pre_selected"),
                };
                let suitability = firmness(terms.pre_approved, terms.pre_qualified, terms.pre_selected);
                (Terms::Card(terms), suitability, None)
            }
            Pricing::Mortgage(mortgage) => {
                let (terms, amount) = self.mortgage(facts, mortgage.terms(), mortgage.reference_amount())?;
                (Terms::Mortgage(terms), STATIC_SUITABILITY, Some(amount))
            }
            Pricing::Savings(savings) => {
                let rate = self.number("rate").ok_or("it has no rate")?;
                let given = self.number("annual_percent_yield");
                let computed = || finance::annual_percentage_yield(rate, savings.compounding());
                let annual_percent_yield = hundredths(given.unwrap_or_else(computed));
                let terms = SavingsTerms { rate: thousandths(rate), annual_percent_yield };
                (Terms::Savings(terms), STATIC_SUITABILITY, None)
            }
            Pricing::Special(special) => {
                (Terms::Special(special.quote(offer.payout.dollars(None))), STATIC_SUITABILITY, None)
            }
        };
        let mut quote = offer.scored(terms, suitability, amount);
        quote.landing_url = self.landing_url(offer)?;
        quote.expires_at = self.number("expires_at").map(|millis| millis as i64);
        Ok(quote)
    }

    /// Why they name no offer.
    fn names_none(&self, offers: &[&CatalogOffer], keys: &[String]) -> Unfit {
        let there = |names: &[String]| match names {
            [one] => format!("there is {one}"),
            names => format!("there are {}", names.join(", ")),
        };
        let key = self.texts.get("key");
        if let Some(key) = key.filter(|key| !keys.contains(key)) {
            return Unfit {
                reason: format!("its key is no offer of the file; {}", there(keys)),
                detail: format!("`{key}` is no offer of the file; {}", there(keys)),
            };
        }
        let of_key = offers.iter().filter(|offer| key.is_none_or(|key| offer.key() == key));
        let terms: Vec<String> =
            of_key.filter_map(|offer| offer.term()).map(|term| term.to_string()).collect();
        match (key, &terms[..]) {
            (_, [_, ..]) => format!("its term is none of the file for the lead; {}", there(&terms)).into(),
            (Some(key), []) => format!("`{key}` is not for the lead: its conditions do not hold").into(),
            (None, []) => "no offer of the file is for the lead: their conditions do not hold".into(),
        }
    }

    /// Whether they name an offer; what they leave out fits every offer.
    fn name(&self, offer: &CatalogOffer) -> bool {
        self.texts.get("key").is_none_or(|wanted| offer.key() == wanted)
            && self.number("term").is_none_or(|wanted| offer.term().map(f64::from) == Some(wanted))
    }

    fn loan(
        &self,
        facts: &Facts,
        months: Option<u32>,
        declared: (f64, f64),
    ) -> Result<(LoanTerms, f64), String> {
        let requested = facts.loan_amount();
        let max_amount = self.number("max_amount").or(requested).unwrap_or(declared.1);
        let min_amount = self.number("min_amount").unwrap_or(max_amount.min(declared.0));
        let apr = self.spread("apr", "min_apr", "max_apr").ok_or("it has no APR")?;
        if min_amount > max_amount || apr.min > apr.max {
            return Err("its ends are the wrong way round".to_owned());
        }
        // Who is offered less than they asked for is shown what that costs.
        let amount = requested.map_or(max_amount, |requested| requested.min(max_amount));
        let payment = match (self.number("monthly_payment"), months) {
            (Some(payment), _) => Some(Spread::exactly(hundredths(payment))),
            (None, Some(months)) => Some(Spread {
                min: hundredths(finance::monthly_payment(amount, apr.min, months)),
                max: hundredths(finance::monthly_payment(amount, apr.max, months)),
            }),
            (None, None) => None,
        };
        let total = payment.zip(months).map(|(payment, months)| Spread {
            min: hundredths(payment.min * f64::from(months)),
            max: hundredths(payment.max * f64::from(months)),
        });
        let terms = LoanTerms {
            pre_qualified: self.flag("pre_qualified"),
            pre_approved: self.flag("pre_approved"),
            min_amount: min_amount as i32,
            max_amount: max_amount as i32,
            apr,
            fee_rate: Spread::exactly(self.number("fee_rate").unwrap_or(0.0)),
            fee_fixed: self.number("fee_fixed").map(Spread::exactly),
            monthly_payment: payment,
            total_payment: total,
            payout: 0.0,
        };
        Ok((terms, amount))
    }

    fn mortgage(
        &self,
        facts: &Facts,
        declared: MortgageTerms,
        reference_amount: f64,
    ) -> Result<(MortgageTerms, f64), String> {
        let amount = facts.mortgage_loan_amount().unwrap_or(reference_amount);
        let interest_rate = self.number("interest_rate").ok_or("it has no interest rate")?;
        let price_adjustment = self.number("price_adjustment").unwrap_or(declared.price_adjustment);
        let months = declared.loan_term.unsigned_abs();
        let payment = || finance::monthly_payment(amount, interest_rate, months);
        let monthly_payment = hundredths(self.number("monthly_payment").unwrap_or_else(payment));
        let net_closing_costs = self.number("net_closing_costs").unwrap_or(declared.net_closing_costs);
        let apr = || finance::apr(amount - net_closing_costs.max(0.0), monthly_payment, months);
        let terms = MortgageTerms {
            interest_rate: thousandths(interest_rate),
            price_adjustment,
            monthly_payment,
            net_closing_costs: hundredths(net_closing_costs),
            apr: thousandths(self.number("apr").unwrap_or_else(apr)),
            adjustment_type: super::mortgage::adjustment(price_adjustment),
            ..declared
        };
        Ok((terms, amount))
    }

    /// Where a click leads: an absolute URL or, of a sample partner, the page that stands for it and that its file names.
    fn landing_url(&self, offer: &CatalogOffer) -> Result<Option<String>, String> {
        let Some(url) = self.texts.get("landing_url") else { return Ok(None) };
        let page = |url: &str| {
            url.split('?').next().filter(|page| page.starts_with(SAMPLE_PAGES)).map(str::to_owned)
        };
        let declared = offer.text.imprint.as_ref().map(|imprint| imprint.landing_url.as_str());
        if is_absolute_url(url) || page(url).is_some_and(|own| declared.and_then(page) == Some(own)) {
            return Ok(Some(url.clone()));
        }
        Err("its landing url is no absolute http or https URL".to_owned())
    }

    fn spread(&self, one: &str, low: &str, high: &str) -> Option<Spread> {
        let (one, low, high) = (self.number(one), self.number(low), self.number(high));
        Some(Spread { min: low.or(one).or(high)?, max: high.or(one).or(low)? })
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }

    fn flag(&self, name: &str) -> bool {
        self.flags.get(name).copied().unwrap_or(false)
    }
}

fn firmness(pre_approved: bool, pre_qualified: bool, pre_selected: bool) -> f64 {
    match (pre_approved, pre_qualified, pre_selected) {
        (true, _, _) => PRE_APPROVED_SUITABILITY,
        (_, true, _) => PRE_QUALIFIED_SUITABILITY,
        (_, _, true) => PRE_SELECTED_SUITABILITY,
        _ => STATIC_SUITABILITY,
    }
}
