//! Plausibility of answered money: refuses what cannot be right, with the figure's name, and reports doubts.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::AnsweredFigures;
use super::unfit::Unfit;
use crate::catalog::{Pricing, Quoted};
use crate::quote::{LoanTerms, MortgageTerms, QuoteTerms, Spread};
use crate::template::Template;
use crate::{Facts, finance};
use offerd_model::State;

/// The plausibility rules of a partner file.
#[derive(Debug, Clone, PartialEq)]
pub struct MoneyRules {
    /// Whether an APR below one percent is taken literally.
    pub low_apr: bool,
    /// Minimum and maximum by figure name.
    pub bounds: BTreeMap<String, (f64, f64)>,
    /// Maximum APR by the lead's state, percent.
    pub rate_caps: BTreeMap<State, f64>,
    /// Rate from which a missing payment is computed; if set in the file, the offer states it.
    pub payment: Option<PaymentBy>,
    /// Maximum size of an offer's own texts in bytes.
    pub max_text_bytes: usize,
}

/// The rate from which the monthly payment of a loan is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaymentBy {
    /// The APR, as if it were interest on the whole amount, so that it includes the fees.
    #[default]
    Apr,
    /// The note rate that follows from APR and fees: fees are added to the amount and withheld from the sum.
    NoteRate,
}

impl PaymentBy {
    const fn description(self) -> &'static str {
        match self {
            Self::Apr => "Computed from the APR as the rate of the whole amount, with fees inside it.",
            Self::NoteRate => "Computed at the note rate that the APR and the fees make, with fees added.",
        }
    }
}

/// Relative difference between computed and answered payment from which a doubt is reported.
const PAYMENT_DOUBTED_BEYOND: f64 = 0.02;

/// Relative difference between computed and answered payment from which the offer is refused.
const PAYMENT_REFUSED_BEYOND: f64 = 0.10;

/// Percentage below which an APR looks like a fraction.
const LOW_APR: f64 = 1.0;

/// Percentage below which a fee looks like a fraction.
const LOW_FEE: f64 = 0.2;

const A_LOW_FEE: &str = "its `fee_rate` is above 0 and below 0.2 percent, like a fraction read as a percentage; \
    `answer.bounds.fee_rate` allows it";

const A_FRACTION: &str = "like a fraction read as a percentage";

const DOUBTED_PAYMENT: &str = "its monthly payment is more than 2 % off the one that its amount, rate and \
    term give";

const ALLOWED: &str = "`answer.low_apr = true` allows it";

/// Whether a rate in percent looks like a fraction of one.
pub(crate) fn is_fraction(rate: f64) -> bool {
    rate > 0.0 && rate < LOW_APR
}

impl MoneyRules {
    /// Default maximum size of an offer's own texts in bytes.
    pub const MAX_TEXT_BYTES: usize = 16 * 1024;

    /// Computes the monthly payment of a loan without an answered one.
    pub(super) fn payment(&self, terms: &LoanTerms, amount: f64, months: u32) -> Spread {
        let fees = match self.payment.unwrap_or_default() {
            PaymentBy::Apr => Spread::exactly(0.0),
            PaymentBy::NoteRate => fees(terms, amount),
        };
        Spread {
            min: finance::monthly_payment(amount - fees.max, terms.apr.min, months),
            max: finance::monthly_payment(amount - fees.min, terms.apr.max, months),
        }
    }

    /// Returns the text if it is within the size limit.
    pub(super) fn bounded(&self, text: Template) -> Result<Template, Unfit> {
        let (bytes, most) = (text.json.len(), self.max_text_bytes);
        let fault = || format!("its text has {bytes} bytes, and `answer.max_text_bytes` is {most}").into();
        if bytes <= most { Ok(text) } else { Err(fault()) }
    }
}

impl AnsweredFigures<'_> {
    /// Returns a doubt about an offer that is shown nevertheless, if any; an error for what cannot be right.
    pub(super) fn judge(&self, quoted: &Quoted, pricing: &Pricing) -> Result<Option<&'static str>, Unfit> {
        let (terms, _, amount) = quoted;
        let (rates, apr) = match terms {
            QuoteTerms::Loan(terms) => (vec![terms.apr], Some(terms.apr)),
            QuoteTerms::Mortgage(terms) => {
                let (interest_rate, apr) = (Spread::exactly(terms.interest_rate), Spread::exactly(terms.apr));
                (vec![interest_rate, apr], Some(apr))
            }
            QuoteTerms::Card(_) | QuoteTerms::Savings(_) | QuoteTerms::Special(_) => (Vec::new(), None),
        };
        self.not_a_fraction(&rates)?;
        self.within_bounds(apr)?;
        if let Some(apr) = apr {
            self.below_cap(apr, matches!(terms, QuoteTerms::Mortgage(_)))?;
        }
        let off = match (terms, pricing) {
            _ if !self.has_payment() => None,
            (QuoteTerms::Loan(terms), Pricing::Loan(loan)) => {
                amount.zip(loan.months()).map(|(amount, months)| loan_payment_off(terms, amount, months))
            }
            (QuoteTerms::Mortgage(terms), _) => amount.map(|amount| mortgage_payment_off(terms, amount)),
            _ => None,
        };
        match off {
            Some(off) if off > PAYMENT_REFUSED_BEYOND => {
                let made = "off the one that its amount, rate and term give";
                Err(Unfit::told(
                    format!("its monthly payment is more than 10 % {made}"),
                    format!("its monthly payment is {:.0} % {made}; at most 10 % is shown", off * 100.0),
                ))
            }
            Some(off) if off > PAYMENT_DOUBTED_BEYOND => Ok(Some(DOUBTED_PAYMENT)),
            _ => Ok(None),
        }
    }

    fn not_a_fraction(&self, rates: &[Spread]) -> Result<(), Unfit> {
        // Bounds of a fee say what it may be.
        let fees = ["fee_rate", "min_fee_rate", "max_fee_rate"].into_iter();
        let mut fees =
            fees.filter(|name| !self.rules.bounds.contains_key(*name)).filter_map(|name| self.number(name));
        if let Some(fee) = fees.find(|fee| *fee > 0.0 && *fee < LOW_FEE) {
            return Err(Unfit::told(A_LOW_FEE.to_owned(), format!("{A_LOW_FEE}; it is {fee} percent")));
        }
        match rates.iter().flat_map(|rate| [rate.min, rate.max]).find(|rate| is_fraction(*rate)) {
            Some(found) if !self.rules.low_apr => Err(Unfit::told(
                format!("its rate is above 0 and below 1 percent, {A_FRACTION}; {ALLOWED}"),
                format!("its rate is {found} percent, {A_FRACTION}; {ALLOWED}"),
            )),
            _ => Ok(()),
        }
    }

    fn within_bounds(&self, apr: Option<Spread>) -> Result<(), Unfit> {
        for (name, (least, most)) in &self.rules.bounds {
            let found = apr.filter(|_| name == "apr").or_else(|| self.number(name).map(Spread::exactly));
            let Some(found) = found.filter(|found| found.min < *least || found.max > *most) else { continue };
            let reason = format!("its `{name}` is outside `answer.bounds`, {}", range_shown((*least, *most)));
            let detail = format!("{reason}, but {}", range_shown((found.min, found.max)));
            return Err(Unfit::told(reason, detail));
        }
        Ok(())
    }

    fn below_cap(&self, apr: Spread, of_property: bool) -> Result<(), Unfit> {
        let caps = &self.rules.rate_caps;
        let state = (!caps.is_empty()).then(|| state(self.facts, of_property)).flatten();
        let capped = state.and_then(|state| Some((state, *caps.get(&state)?)));
        let Some((state, cap)) = capped.filter(|(_, cap)| apr.max > *cap) else { return Ok(()) };
        let detail = format!("its APR is {}, above the {cap} of `answer.rate_caps` for {state}", apr.max);
        let reason = "its APR is above that of `answer.rate_caps` for the lead's state";
        Err(Unfit { detail, ..Unfit::for_others(reason) })
    }

    /// The note on a computed monthly payment, if the file chooses the rate.
    pub(super) fn of_payment(&self) -> Option<&'static str> {
        self.rules.payment.filter(|_| !self.has_payment()).map(PaymentBy::description)
    }

    fn has_payment(&self) -> bool {
        self.spread("monthly_payment", "min_monthly_payment", "max_monthly_payment").is_some()
    }
}

pub(super) fn fees(terms: &LoanTerms, amount: f64) -> Spread {
    let fixed = terms.fee_fixed.unwrap_or_default();
    let of = |rate: f64, fixed: f64| amount * rate / 100.0 + fixed;
    Spread { min: of(terms.fee_rate.min, fixed.min), max: of(terms.fee_rate.max, fixed.max) }
}

/// Relative deviation of a loan payment: fees inside the rate or added, for the requested or maximum amount.
fn loan_payment_off(terms: &LoanTerms, amount: f64, months: u32) -> f64 {
    let Some(payment) = terms.monthly_payment else { return 0.0 };
    let off = [amount, f64::from(terms.max_amount)].map(|amount| {
        let paid_out = (amount - fees(terms, amount).max).max(0.0);
        let lowest = finance::monthly_payment(paid_out, terms.apr.min, months);
        let highest = finance::monthly_payment(amount, terms.apr.max, months);
        off(payment, Spread { min: lowest, max: highest })
    });
    off[0].min(off[1])
}

/// The same for a mortgage, whose payment may be based on its interest rate or, loosely, its APR.
fn mortgage_payment_off(terms: &MortgageTerms, amount: f64) -> f64 {
    let months = terms.loan_term.unsigned_abs();
    let (low, high) = (terms.interest_rate.min(terms.apr), terms.interest_rate.max(terms.apr));
    let payment = |rate| finance::monthly_payment(amount, rate, months);
    off(Spread::exactly(terms.monthly_payment), Spread { min: payment(low), max: payment(high) })
}

/// Relative distance of figures from a span; 0 within.
fn off(found: Spread, span: Spread) -> f64 {
    let below = if span.min > 0.0 { (span.min - found.min) / span.min } else { 0.0 };
    let above = if span.max > 0.0 { (found.max - span.max) / span.max } else { 0.0 };
    below.max(above).max(0.0)
}

fn state(facts: &Facts, of_property: bool) -> Option<State> {
    let lead = facts.lead;
    let property = lead.mortgage_information.as_ref().and_then(|mortgage| mortgage.property_state.as_deref());
    property.and_then(State::from_wire).filter(|_| of_property).or_else(|| facts.state())
}

/// A range in words.
pub fn range_shown((least, most): (f64, f64)) -> String {
    match (least == most, least.is_finite(), most.is_finite()) {
        (true, ..) => least.to_string(),
        (_, true, true) => format!("{least} to {most}"),
        (_, true, false) => format!("at least {least}"),
        (_, _, _) => format!("at most {most}"),
    }
}
