//! Builds the terms of a quote from answered figures.

use super::super::{Quoted, STATIC_SUITABILITY, hundredths, mortgage, suitability, thousandths};
use super::AnsweredFigures;
use super::money::{fees, range_shown};
use super::unfit::Unfit;
use crate::finance;
use crate::quote::{CardTerms, LoanTerms, MortgageTerms, QuoteTerms, SavingsTerms, Spread};
use offerd_model::{CompoundingMethod, MortgageAdjustmentType};

impl AnsweredFigures<'_> {
    /// The terms of a loan, and the amount that they are for; `declared` is the amount range of the file.
    pub(super) fn loan(&self, months: Option<u32>, declared: Option<(f64, f64)>) -> Result<Quoted, Unfit> {
        let requested = self.facts.loan_amount();
        let max_amount = self.number("max_amount").or(requested).or(declared.map(|(_, most)| most));
        let max_amount = max_amount.ok_or("it has no `max_amount`, and the lead names no amount")?;
        let is_lent = |(least, most): &(f64, f64)| (*least..=*most).contains(&max_amount);
        if let (Some(range), Some(_)) = (declared.filter(|range| !is_lent(range)), self.number("max_amount"))
        {
            let reason = format!("its `max_amount` is outside the file's `amount`, {}", range_shown(range));
            return Err(Unfit::told(reason.clone(), format!("{reason}, but {max_amount}")));
        }
        let least = declared.map_or(max_amount, |(least, _)| max_amount.min(least));
        let min_amount = self.number("min_amount").unwrap_or(least);
        let apr = self.spread("apr", "min_apr", "max_apr").ok_or("it has no APR")?;
        let fee_rate = self.spread("fee_rate", "min_fee_rate", "max_fee_rate");
        let fee_rate = fee_rate.unwrap_or(Spread::exactly(0.0));
        let fee_fixed = self.spread("fee_fixed", "min_fee_fixed", "max_fee_fixed");
        // A person offered less than requested sees the cost of the offered amount.
        let amount = requested.map_or(max_amount, |requested| requested.min(max_amount));
        let mut terms = LoanTerms {
            pre_qualified: self.flag("pre_qualified"),
            pre_approved: self.flag("pre_approved"),
            min_amount: min_amount as i32,
            max_amount: max_amount as i32,
            apr,
            fee_rate,
            fee_fixed,
            monthly_payment: self.spread("monthly_payment", "min_monthly_payment", "max_monthly_payment"),
            total_payment: self.spread("total_payment", "min_total_payment", "max_total_payment"),
            payout: 0.0,
        };
        if amount < 1.0 {
            return Err("it is for no amount".into());
        }
        if fees(&terms, amount).max >= amount {
            return Err("its fees are at least as high as its amount".into());
        }
        terms.monthly_payment = terms.monthly_payment.map(to_cents);
        if let Some(months) = months {
            if terms.monthly_payment.is_none() {
                terms.monthly_payment = Some(to_cents(self.rules.payment(&terms, amount, months)));
            }
            let months = f64::from(months);
            let total = |one: Spread| Spread { min: one.min * months, max: one.max * months };
            terms.total_payment = terms.total_payment.or(terms.monthly_payment.map(total));
        }
        terms.total_payment = terms.total_payment.map(to_cents);
        let spreads = [Some(apr), Some(fee_rate), fee_fixed, terms.monthly_payment, terms.total_payment];
        if min_amount > max_amount || spreads.into_iter().flatten().any(|spread| spread.min > spread.max) {
            return Err("its lower end is above its upper end".into());
        }
        let suitability = suitability(terms.pre_approved, terms.pre_qualified, false);
        Ok((QuoteTerms::Loan(terms), suitability, Some(amount)))
    }

    pub(super) fn card(&self) -> Quoted {
        let [pre_qualified, pre_approved, pre_selected] =
            ["pre_qualified", "pre_approved", "pre_selected"].map(|name| self.flag(name));
        let suitability = suitability(pre_approved, pre_qualified, pre_selected);
        (QuoteTerms::Card(CardTerms { pre_qualified, pre_approved, pre_selected }), suitability, None)
    }

    /// The terms of a mortgage, and the amount that they are for.
    pub(super) fn mortgage(&self, declared: MortgageTerms, reference: Option<f64>) -> Result<Quoted, Unfit> {
        let amount = self.facts.mortgage_loan_amount().or(reference);
        let amount = amount.ok_or("the lead names no amount, and the file has no `reference_amount`")?;
        let interest_rate = self.number("interest_rate").ok_or("it has no interest rate")?;
        let price_adjustment = self.number("price_adjustment").unwrap_or(declared.price_adjustment);
        let loan_term = self.term().unwrap_or(declared.loan_term);
        let months = loan_term.unsigned_abs();
        let payment = || finance::monthly_payment(amount, interest_rate, months);
        let monthly_payment = hundredths(self.number("monthly_payment").unwrap_or_else(payment));
        let net_closing_costs = self.number("net_closing_costs").unwrap_or(declared.net_closing_costs);
        let apr = || finance::apr(amount - net_closing_costs.max(0.0), monthly_payment, months);
        let adjustment = self.text("adjustment_type").and_then(MortgageAdjustmentType::from_wire);
        let terms = MortgageTerms {
            interest_rate: thousandths(interest_rate),
            price_adjustment,
            monthly_payment,
            net_closing_costs: hundredths(net_closing_costs),
            apr: thousandths(self.number("apr").unwrap_or_else(apr)),
            loan_term,
            adjustment_type: adjustment.unwrap_or_else(|| mortgage::adjustment(price_adjustment)),
            ..declared
        };
        Ok((QuoteTerms::Mortgage(terms), STATIC_SUITABILITY, Some(amount)))
    }

    pub(super) fn savings(&self, compounding: CompoundingMethod) -> Result<Quoted, Unfit> {
        let rate = self.number("rate").ok_or("it has no rate")?;
        let given = self.number("annual_percent_yield");
        let computed = || finance::annual_percentage_yield(rate, compounding);
        let annual_percent_yield = hundredths(given.unwrap_or_else(computed));
        let terms = SavingsTerms { rate: thousandths(rate), annual_percent_yield };
        Ok((QuoteTerms::Savings(terms), STATIC_SUITABILITY, None))
    }

    pub(super) fn spread(&self, one: &str, low: &str, high: &str) -> Option<Spread> {
        let (one, low, high) = (self.number(one), self.number(low), self.number(high));
        Some(Spread { min: low.or(one).or(high)?, max: high.or(one).or(low)? })
    }
}

fn to_cents(spread: Spread) -> Spread {
    Spread { min: hundredths(spread.min), max: hundredths(spread.max) }
}
