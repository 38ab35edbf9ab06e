//! Quotes: the part of an offer that depends on the lead (about 100 bytes), with the fingerprint of the
//! [template](super::template) that does not (about 1.5 KB).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use super::ranking::ScoreBreakdown;
use super::template::Template;
use offerd_model::{MortgageAdjustmentType, MortgageLoanType};

/// One offer to one lead, before it has an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quote {
    /// Fingerprint of the template that it completes.
    pub text: Fingerprint,
    /// Score: the expected value in dollars, conversion probability × payout × suitability,
    /// or that of a ranking.
    pub score: f64,
    /// The terms for this lead.
    pub terms: QuoteTerms,
    /// URL that a click leads to, if the partner answered one for this person; otherwise the template has it.
    pub landing_url: Option<String>,
    /// Expiry in Unix milliseconds, if the partner answered one; the record stores it separately.
    #[serde(skip)]
    pub expires_at: Option<i64>,
    /// The template that replaces `text` when the answer has texts of its own; stored separately, too.
    #[serde(skip)]
    pub own: Option<Arc<Template>>,
    /// A doubt about an offer that is shown nevertheless, without its values; never stored.
    #[serde(skip)]
    pub doubt: Option<&'static str>,
    /// The ranking behind the score, where the settings name one; stored separately, too.
    #[serde(skip)]
    pub ranked: Option<Box<ScoreBreakdown>>,
}

impl Quote {
    /// Sets what the partner pays for the lead itself as the payout and as the offer's expected value.
    pub fn sold_for(&mut self, dollars: f64) {
        self.score = dollars;
        if let Some(ranked) = &mut self.ranked {
            ranked.sold_for(dollars);
            self.score = ranked.score();
        }
        self.terms.pay(dollars);
    }
}

/// The part of an offer that depends on the lead, by the array of the rate table that it belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum QuoteTerms {
    /// An item of `loanOffers`.
    Loan(LoanTerms),
    /// An item of `creditCardOffers`.
    Card(CardTerms),
    /// An item of `mortgageOffers`.
    Mortgage(MortgageTerms),
    /// An item of `savingsOffers`.
    Savings(SavingsTerms),
    /// An item of `specialOffers`.
    Special(SpecialTerms),
}

impl QuoteTerms {
    /// Whether the institution answered for this person: pre-approved or pre-qualified.
    pub fn personal(&self) -> bool {
        match self {
            Self::Loan(terms) => terms.pre_qualified || terms.pre_approved,
            Self::Card(terms) => terms.pre_qualified || terms.pre_approved,
            Self::Mortgage(_) | Self::Savings(_) | Self::Special(_) => false,
        }
    }

    /// Sets the payout in the kinds that show it to clients.
    pub(super) fn pay(&mut self, dollars: f64) {
        match self {
            Self::Loan(terms) => terms.payout = dollars,
            Self::Special(terms) => terms.payout = dollars,
            Self::Card(_) | Self::Mortgage(_) | Self::Savings(_) => {}
        }
    }
}

/// Terms of a loan. Rates in percent, amounts in dollars.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoanTerms {
    /// 80 % likely to be approved.
    pub pre_qualified: bool,
    /// 95 % likely to be approved.
    pub pre_approved: bool,
    /// Minimum amount.
    pub min_amount: i32,
    /// Maximum amount.
    pub max_amount: i32,
    /// APR.
    pub apr: Spread,
    /// Origination fee, percent of the amount.
    pub fee_rate: Spread,
    /// Origination fee in dollars.
    pub fee_fixed: Option<Spread>,
    /// Monthly payment; `None` when the amount is unknown or the term is open.
    pub monthly_payment: Option<Spread>,
    /// Sum of all payments.
    pub total_payment: Option<Spread>,
    /// Payout in dollars.
    pub payout: f64,
}

/// Lowest and highest value of a figure; equal for a personal offer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Lowest.
    pub min: f64,
    /// Highest.
    pub max: f64,
}

impl Spread {
    /// A spread of one value.
    pub fn exactly(figure: f64) -> Self {
        Self { min: figure, max: figure }
    }

    /// The midpoint.
    pub fn mean(self) -> f64 {
        f64::midpoint(self.min, self.max)
    }

    /// The smallest spread that covers all `figures`; `None` when there are none.
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
    /// The service itself considers approval more likely for this person.
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
    /// Ordinal of its product sub-type: of second-look offers with the same, only the best is shown.
    #[serde(rename = "lot")]
    pub competes_as: Option<u16>,
}
