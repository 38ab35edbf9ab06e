//! What a partner answers: quotes, each the part of an offer that depends on the lead, beside the fingerprint of the
//! template that does not.
//!
//! A quote is what a rate table keeps and stores (about 100 bytes); its template (about 1.5 KB) is prepared when the book is
//! loaded, stored once under its fingerprint, and joined to the quote when the table is shown. See [`super::template`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use super::ranking::Ranked;
use super::template::Template;
use offerd_model::{MortgageAdjustmentType, MortgageLoanType};

/// One offer to one lead, before it has an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quote {
    /// The template it completes.
    pub text: Fingerprint,
    /// Expected value in dollars: conversion probability × payout × suitability (facts, Firmness); or what a ranking makes of it.
    pub score: f64,
    /// What depends on the lead.
    pub terms: Terms,
    /// Where a click leads, when the partner has a place of its own for this person; else where the template says.
    pub landing_url: Option<String>,
    /// Until when it stands, Unix milliseconds, when the partner says so of this person's. The record of its answer keeps it aside
    /// (`rate_table::record`).
    #[serde(skip)]
    pub expires_at: Option<i64>,
    /// The template in place of `text`, when the partner's answer has words of its own. The record of the answer keeps it aside too.
    #[serde(skip)]
    pub own: Option<Arc<Template>>,
    /// What may be wrong with it although it is shown, without what it says; told when it is answered, and kept nowhere.
    #[serde(skip)]
    pub doubt: Option<&'static str>,
    /// Why it has its score, where the settings name a ranking. The record of the answer keeps it aside too.
    #[serde(skip)]
    pub ranked: Option<Box<Ranked>>,
}

impl Quote {
    /// Of a partner that pays for the lead itself: what it pays is what is expected of the offer.
    pub fn sold_for(&mut self, dollars: f64) {
        self.score = dollars;
        if let Some(ranked) = &mut self.ranked {
            ranked.sold_for(dollars);
            self.score = ranked.score();
        }
        self.terms.pay(dollars);
    }
}

/// The part of an offer that depends on the lead, by the array of the rate table it stands in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Terms {
    /// In `loanOffers`.
    Loan(LoanTerms),
    /// In `creditCardOffers`.
    Card(CardTerms),
    /// In `mortgageOffers`.
    Mortgage(MortgageTerms),
    /// In `savingsOffers`.
    Savings(SavingsTerms),
    /// In `specialOffers`.
    Special(SpecialTerms),
}

impl Terms {
    /// Whether the institution itself answered for this person: pre-approved or pre-qualified.
    pub fn personal(&self) -> bool {
        match self {
            Self::Loan(terms) => terms.pre_qualified || terms.pre_approved,
            Self::Card(terms) => terms.pre_qualified || terms.pre_approved,
            Self::Mortgage(_) | Self::Savings(_) | Self::Special(_) => false,
        }
    }

    /// Has them say what the offer earns, where clients see that.
    pub(super) fn pay(&mut self, dollars: f64) {
        match self {
            Self::Loan(terms) => terms.payout = dollars,
            Self::Special(terms) => terms.payout = dollars,
            Self::Card(_) | Self::Mortgage(_) | Self::Savings(_) => {}
        }
    }
}

/// Terms of a loan. Percent for rates, dollars for amounts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoanTerms {
    /// 80 % likely to be approved.
    pub pre_qualified: bool,
    /// 95 % likely to be approved.
    pub pre_approved: bool,
    /// Least amount.
    pub min_amount: i32,
    /// Greatest amount.
    pub max_amount: i32,
    /// APR.
    pub apr: Spread,
    /// Origination fee, percent of the amount.
    pub fee_rate: Spread,
    /// Origination fee in dollars.
    pub fee_fixed: Option<Spread>,
    /// Monthly payment, when the amount is known and the term is not open.
    pub monthly_payment: Option<Spread>,
    /// Sum of all payments.
    pub total_payment: Option<Spread>,
    /// Payout in dollars.
    pub payout: f64,
}

/// Lowest and highest of a figure; equal for a personal offer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Lowest.
    pub min: f64,
    /// Highest.
    pub max: f64,
}

impl Spread {
    /// A single figure.
    pub fn exactly(figure: f64) -> Self {
        Self { min: figure, max: figure }
    }

    /// Halfway between.
    pub fn mean(self) -> f64 {
        f64::midpoint(self.min, self.max)
    }

    /// The spread that covers all; `None` of none.
    pub fn covering(figures: impl IntoIterator<Item = Self>) -> Option<Self> {
        figures.into_iter().reduce(|one, two| Self { min: one.min.min(two.min), max: one.max.max(two.max) })
    }
}

/// Terms of a credit card.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardTerms {
    /// 80 % likely to be approved.
    pub pre_qualified: bool,
    /// 95 % likely to be approved.
    pub pre_approved: bool,
    /// The service itself judges the person more likely to be approved.
    pub pre_selected: bool,
}

/// Terms of a mortgage: the whole of the specification's MortgageOfferDetails.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MortgageTerms {
    /// Yearly rate in percent.
    pub interest_rate: f64,
    /// Kind of mortgage.
    pub loan_type: MortgageLoanType,
    /// Points paid (above 0) or credit received, percent of the amount.
    pub price_adjustment: f64,
    /// Principal and interest, dollars.
    pub monthly_payment: f64,
    /// Closing costs after points and credit, dollars.
    pub net_closing_costs: f64,
    /// APR with the closing costs, percent.
    pub apr: f64,
    /// Months.
    pub loan_term: i32,
    /// Credits, par or points.
    pub adjustment_type: MortgageAdjustmentType,
}

/// Terms of a savings product for one deposit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SavingsTerms {
    /// Yearly rate in percent, before compounding.
    pub rate: f64,
    /// Yield in percent.
    pub annual_percent_yield: f64,
}

/// Terms of a special offer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpecialTerms {
    /// Payout in dollars.
    pub payout: f64,
    /// The auction it stands in, for second-look partners: one wins per product sub-type. Ordinal of the sub-type.
    pub lot: Option<u16>,
}
