//! Mortgages: purchase and refinance.

use super::super::declared::Offer;
use super::super::eligibility::{ConditionTest, EligibilityRule, bits};
use super::super::facts::Facts;
use super::super::finance;
use super::super::identity::PartnerIdentity;
use super::super::json_object::JsonObjectWriter;
use super::super::quote::{MortgageTerms, QuoteTerms};
use super::{
    Quoted, STATIC_SUITABILITY, TermsBand, at_standing, common_text, hundredths, if_given, rated, rating_bit,
    standing, thousandths,
};
use crate::check::checker::PartnerFileChecker as Checker;
use offerd_model::MortgageType::{Purchase, Refinance};
use offerd_model::{MortgageAdjustmentType, MortgageLoanType, ProductSubType, ProductType};

/// A mortgage of one kind.
#[derive(Debug)]
pub struct Mortgage {
    sub_type: ProductSubType,
    loan_type: MortgageLoanType,
    amount: (f64, f64),
    /// Dollars assumed for a lead that names no amount.
    pub(super) reference_amount: f64,
    closing_costs: f64,
    bands: Vec<TermsBand>,
}

const SUB_TYPES: &[ProductSubType] = &[ProductSubType::Purchase, ProductSubType::Refinance];

/// Points or credit in percent of the amount, up to which a mortgage counts as par.
const NEAR_PAR: f64 = 0.125;

pub(super) fn declared(offer: &Offer, is_priced: bool, check: &mut Checker) -> Option<Mortgage> {
    let sub_type = check.sub_type(offer, SUB_TYPES);
    let amount = check.range("amount", offer.amount, (1.0, 100_000_000.0));
    check.given("loan_type", offer.loan_type.is_some());
    check.filled("bands", !offer.bands.is_empty() || !is_priced);
    check.given("reference_amount", offer.reference_amount.is_some());
    check.between("reference_amount", offer.reference_amount.map(f64::from), 1.0, 100_000_000.0);
    let bands = check.bands(&offer.bands, amount.unwrap_or_default(), true);
    Some(Mortgage {
        sub_type: sub_type?,
        loan_type: offer.loan_type?,
        amount: amount?,
        reference_amount: f64::from(offer.reference_amount?),
        closing_costs: offer.closing_costs.unwrap_or(0.0),
        bands,
    })
}

impl Mortgage {
    /// Eligibility by kind of offer: the requested mortgage type, and an amount within range.
    pub(super) fn rule(&self) -> EligibilityRule {
        let wanted = if self.sub_type == ProductSubType::Refinance { Refinance } else { Purchase };
        let (min, max) = self.amount;
        let mut conditions = vec![
            if_given("mortgageInformation.mortgageType", ConditionTest::Category(bits([wanted]))),
            if_given("mortgageLoanAmount", ConditionTest::Range { min, max }),
        ];
        conditions.extend(rated(&self.bands));
        EligibilityRule::always().and_all(&conditions)
    }

    pub(super) fn text(&self, text: &mut JsonObjectWriter<'_>, offer: &Offer, identity: &PartnerIdentity) {
        common_text(text, ProductType::Mortgage, offer, identity);
    }

    /// Prices the lead's amount, or the reference amount if the lead names none.
    pub(super) fn quote(&self, facts: &Facts) -> Option<Quoted> {
        let known = facts.mortgage_loan_amount();
        let amount = known.unwrap_or(self.reference_amount);
        let (rating, loan_to_value) = (rating_bit(facts), facts.loan_to_value());
        let band = self.bands.iter().find(|band| band.fits(rating, known, loan_to_value))?;

        let months = self.months();
        let rate = thousandths(at_standing(band.rate, standing(facts, band)));
        let payment = finance::monthly_payment(amount, rate, months);
        let share = (band.price_adjustment + band.fee_rate.0) / 100.0;
        let net_closing_costs = self.closing_costs + band.fee_fixed + amount * share;
        let terms = MortgageTerms {
            interest_rate: rate,
            price_adjustment: band.price_adjustment,
            monthly_payment: hundredths(payment),
            net_closing_costs: hundredths(net_closing_costs),
            // A lender credit beyond the costs is not a negative finance charge.
            apr: thousandths(finance::apr(amount - net_closing_costs.max(0.0), payment, months)),
            adjustment_type: adjustment(band.price_adjustment),
            ..self.terms()
        };
        Some((QuoteTerms::Mortgage(terms), STATIC_SUITABILITY, Some(amount)))
    }

    pub(super) fn terms(&self) -> MortgageTerms {
        MortgageTerms {
            interest_rate: 0.0,
            loan_type: self.loan_type,
            price_adjustment: 0.0,
            monthly_payment: 0.0,
            net_closing_costs: self.closing_costs,
            apr: 0.0,
            loan_term: self.months() as i32,
            adjustment_type: MortgageAdjustmentType::Par,
        }
    }

    fn months(&self) -> u32 {
        match self.loan_type {
            MortgageLoanType::TenYearFixed => 120,
            MortgageLoanType::FifteenYearFixed => 180,
            MortgageLoanType::TwentyYearFixed => 240,
            MortgageLoanType::FortyYearFixed => 480,
            _ => 360,
        }
    }
}

/// The adjustment type for points paid or credit received, in percent.
pub(super) fn adjustment(price_adjustment: f64) -> MortgageAdjustmentType {
    match price_adjustment {
        points if points > NEAR_PAR => MortgageAdjustmentType::Points,
        credit if credit < -NEAR_PAR => MortgageAdjustmentType::Credits,
        _ => MortgageAdjustmentType::Par,
    }
}
