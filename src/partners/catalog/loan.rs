//! Loans: personal, secured, student refinance, co-applicant, lines of credit.

use std::collections::BTreeSet;

use super::super::declared::{Band, Firmness, Offer};
use super::super::eligibility::{ConditionTest, EligibilityCondition, EligibilityRule, bits};
use super::super::facts::{Facts, Subject};
use super::super::finance;
use super::super::identity::PartnerIdentity;
use super::super::json_object::{JsonObjectWriter, Plain};
use super::super::offer_json::money;
use super::super::quote::{LoanTerms, QuoteTerms, Spread};
use super::{Quoted, TermsBand, at_standing, hundredths, if_given, rated, rating_bit, standing, suitability};
use crate::check::checker::PartnerFileChecker as Checker;
use offerd_model::{AprType, LoanPurpose, ProductSubType, ProductType, TermUnit};

/// A loan of one term.
#[derive(Debug)]
pub struct Loan {
    sub_type: ProductSubType,
    /// Length in `unit`; 0 when open.
    pub term: i32,
    unit: TermUnit,
    /// Amount that can be borrowed, dollars.
    pub(super) amount: (f64, f64),
    firmness: Firmness,
    bands: Vec<TermsBand>,
}

const DAYS_A_MONTH: u32 = 30;

#[rustfmt::skip]
const SUB_TYPES: &[ProductSubType] = &[
    ProductSubType::PersonalLoan, ProductSubType::SecuredLoan, ProductSubType::StudentLoanRefinance,
    ProductSubType::CoApplicantLoan, ProductSubType::LineOfCredit, ProductSubType::AutomobileRefinance,
    ProductSubType::HomeEquityLineOfCredit, ProductSubType::InstallmentLoans, ProductSubType::BuyNowPayLater,
    ProductSubType::CashAdvance,
];

const SECURED: &[ProductSubType] = &[
    ProductSubType::SecuredLoan,
    ProductSubType::AutomobileRefinance,
    ProductSubType::HomeEquityLineOfCredit,
];

pub(super) fn declared(offer: &Offer, is_priced: bool, check: &mut Checker) -> Vec<Loan> {
    let sub_type = check.sub_type(offer, SUB_TYPES);
    let amount = check.range("amount", offer.amount, (1.0, 10_000_000.0));
    let unit = offer.term_unit.unwrap_or(TermUnit::Month);
    check.given("apr_type", offer.apr_type.is_some());
    check.filled("terms", !offer.terms.is_empty());
    check.filled("bands", !offer.bands.is_empty() || !is_priced);
    if sub_type.is_some_and(|one| one == ProductSubType::LineOfCredit || SECURED.contains(&one)) {
        check.given("sub_type_disclaimer", offer.sub_type_disclaimer.is_some());
    }
    let (shortest, longest) = if unit == TermUnit::Open { (0.0, 0.0) } else { (1.0, 600.0) };
    let mut seen = BTreeSet::new();
    for term in &offer.terms {
        check.between("terms", Some(f64::from(*term)), shortest, longest);
        if !seen.insert(*term) {
            check.at("terms", format!("{term} appears twice"));
        }
    }

    let bands = check.bands(&offer.bands, amount.unwrap_or_default(), true);
    let of_term = |term: i32| -> Vec<TermsBand> {
        let is_of_term = |declared: &Band| declared.terms.as_ref().is_none_or(|terms| terms.contains(&term));
        let of_term = offer.bands.iter().zip(&bands).filter(|(declared, _)| is_of_term(declared));
        of_term.map(|(_, band)| *band).collect()
    };
    for term in offer.terms.iter().filter(|term| !bands.is_empty() && of_term(**term).is_empty()) {
        check.at("terms", format!("{term} is in none of the bands"));
    }
    let (Some(sub_type), Some(amount)) = (sub_type, amount) else { return Vec::new() };
    let firmness = offer.firmness;
    let loan = |term: &i32| Loan { sub_type, term: *term, unit, amount, firmness, bands: of_term(*term) };
    offer.terms.iter().map(loan).filter(|loan| !loan.bands.is_empty() || !is_priced).collect()
}

impl Loan {
    /// Eligibility that follows from the kind of offer.
    pub(super) fn rule(&self) -> EligibilityRule {
        let (min, max) = self.amount;
        let mut conditions = vec![if_given("loanInformation.loanAmount", ConditionTest::Range { min, max })];
        conditions.extend(rated(&self.bands));

        let purpose = Subject::of("loanInformation.purpose");
        let student = bits([LoanPurpose::StudentLoan, LoanPurpose::StudentLoanRefi]);
        let present = |path| EligibilityCondition::new(Subject::of(path), ConditionTest::Present);
        if self.sub_type == ProductSubType::StudentLoanRefinance {
            conditions.push(EligibilityCondition::new(purpose, ConditionTest::Category(student)));
            let evidence = [
                "refinanceLoans",
                "educationInformation.universityAttended",
                "educationInformation.graduateUniversityAttended",
                "educationInformation.undergraduateUniversityAttended",
            ];
            let either = evidence.map(|path| EligibilityRule::always().and_all(&[present(path)]));
            let either = EligibilityRule::any(either.to_vec());
            return EligibilityRule::always().and_all(&conditions).and(&either);
        }
        conditions.push(EligibilityCondition::or_missing(purpose, ConditionTest::Category(!student)));
        if self.sub_type == ProductSubType::CoApplicantLoan {
            let required = [
                "coApplicantInformation.firstName",
                "coApplicantInformation.lastName",
                "coApplicantInformation.dateOfBirth",
                "coApplicantInformation.streetAddress1",
                "coApplicantInformation.annualIncome",
            ];
            conditions.extend(required.map(present));
        }
        EligibilityRule::always().and_all(&conditions)
    }

    pub(super) fn text(&self, text: &mut JsonObjectWriter<'_>, offer: &Offer, identity: &PartnerIdentity) {
        text.set("productType", &ProductType::Loan)
            .set("productSubType", &self.sub_type)
            .set_some("productSubTypeDisclaimer", offer.sub_type_disclaimer.as_deref())
            .set("originator", &identity.originator)
            .set("originatorId", &identity.originator.key)
            .set("secured", &SECURED.contains(&self.sub_type))
            .set("coApplicant", &(self.sub_type == ProductSubType::CoApplicantLoan))
            .set("sponsored", &offer.sponsored)
            .set("termLength", &self.term)
            .set("termUnit", &self.unit)
            .set_some("displayTermUnit", (self.unit != TermUnit::Open).then_some(self.unit))
            .set_some("termDescription", offer.term_description.as_deref())
            .set("aprType", &offer.apr_type.unwrap_or(AprType::Fixed))
            .set_some("aprDescription", offer.apr_description.as_deref())
            .set("allowPrepayment", &offer.allow_prepayment.unwrap_or(true))
            .set("prepaymentFee", &money(offer.prepayment_fee.unwrap_or(0.0)))
            .set_some("monthlyPaymentDescription", offer.monthly_payment_description.as_deref())
            .set_some("terms", offer.terms_text.as_deref())
            .set_some("amountPrefix", offer.amount_prefix.as_deref())
            .set("conversionProbability", &Plain(offer.conversion_probability));
    }

    /// Exact terms if amount and rating are known and the answer is personal; else the spread over bands.
    pub(super) fn quote(&self, facts: &Facts, may_be_personal: bool) -> Option<Quoted> {
        let rating = rating_bit(facts);
        let requested = facts.loan_amount();
        let fitting: Vec<_> = self.bands.iter().filter(|band| band.fits(rating, requested, None)).collect();
        let best = *fitting.first()?;

        let known = rating.is_some() && requested.is_some();
        let personal = may_be_personal && self.firmness != Firmness::Static && known;
        let amount = requested.unwrap_or_else(|| f64::midpoint(best.amount.0, best.amount.1));
        let (shown, priced) = if personal {
            let standing = standing(facts, best);
            let (rate, fee_rate) = (at_standing(best.rate, standing), at_standing(best.fee_rate, standing));
            (&fitting[..1], vec![self.priced(best, amount, rate, fee_rate)])
        } else {
            (&fitting[..], fitting.iter().flat_map(|band| self.ends(band, amount)).collect())
        };

        let spread = |of: fn(&Priced) -> f64| Spread::covering(priced.iter().map(of).map(Spread::exactly));
        let has_fee = fitting.iter().any(|band| band.fee_fixed > 0.0);
        let is_repaid_monthly = requested.is_some() && self.months().is_some();
        let terms = LoanTerms {
            pre_qualified: personal && self.firmness == Firmness::PreQualified,
            pre_approved: personal && self.firmness == Firmness::PreApproved,
            min_amount: shown.iter().map(|band| band.amount.0).fold(f64::INFINITY, f64::min) as i32,
            max_amount: shown.iter().map(|band| band.amount.1).fold(0.0, f64::max) as i32,
            apr: spread(|one| one.apr)?,
            fee_rate: spread(|one| one.fee_rate)?,
            fee_fixed: has_fee.then(|| spread(|one| one.fee_fixed)).flatten(),
            monthly_payment: is_repaid_monthly.then(|| spread(|one| one.payment)).flatten(),
            total_payment: is_repaid_monthly.then(|| spread(|one| one.total)).flatten(),
            payout: 0.0,
        };
        let suitability = suitability(terms.pre_approved, terms.pre_qualified, false);
        Some((QuoteTerms::Loan(terms), suitability, Some(amount)))
    }

    /// Prices a band at its lowest and at its highest figures.
    fn ends(&self, band: &TermsBand, amount: f64) -> [Priced; 2] {
        [(band.rate.0, band.fee_rate.0), (band.rate.1, band.fee_rate.1)]
            .map(|(rate, fee_rate)| self.priced(band, amount, rate, fee_rate))
    }

    fn priced(&self, band: &TermsBand, amount: f64, rate: f64, fee_rate: f64) -> Priced {
        let rate = hundredths(rate);
        let fee_rate = hundredths(fee_rate);
        let fee = amount * fee_rate / 100.0 + band.fee_fixed;
        // Payments are shown for loans that are repaid monthly only.
        let (payment, total, apr) = match (self.unit, self.months()) {
            (TermUnit::Open, _) => (0.0, 0.0, rate),
            (_, Some(months)) => {
                let payment = hundredths(finance::monthly_payment(amount, rate, months));
                (payment, payment * f64::from(months), finance::apr(amount - fee, payment, months))
            }
            (_, None) => {
                let days = self.term.unsigned_abs();
                let interest = amount * rate / 100.0 * f64::from(days) / 365.0;
                (0.0, 0.0, finance::single_payment_apr(amount - fee, interest + fee, days))
            }
        };
        let (total, apr) = (hundredths(total), hundredths(apr));
        Priced { fee_rate, fee_fixed: band.fee_fixed, payment, total, apr }
    }

    /// The cost of each band that fits the amount; without an amount, at the middle of each band.
    pub fn costs(&self, amount: Option<f64>) -> impl Iterator<Item = LoanCost> {
        let months = match self.unit {
            TermUnit::Day => self.term.unsigned_abs().div_ceil(DAYS_A_MONTH),
            _ => self.months().unwrap_or_default(),
        };
        self.bands.iter().filter(move |band| band.fits(None, amount, None)).map(move |band| {
            let amount = amount.unwrap_or_else(|| f64::midpoint(band.amount.0, band.amount.1));
            let [low, high] = self.ends(band, amount).map(|end| end.apr);
            LoanCost { ratings: band.ratings, apr: Spread { min: low.min(high), max: low.max(high) }, months }
        })
    }

    /// Likelihood of approval of a person who meets the conditions, by firmness.
    pub fn likelihood(&self) -> f64 {
        suitability(self.firmness == Firmness::PreApproved, self.firmness == Firmness::PreQualified, false)
    }

    /// Number of monthly payments; `None` if the term is open or in days.
    pub(super) fn months(&self) -> Option<u32> {
        match self.unit {
            TermUnit::Month => Some(self.term.unsigned_abs()),
            TermUnit::Year => Some(self.term.unsigned_abs() * 12),
            TermUnit::Day | TermUnit::Open => None,
        }
    }
}

/// The cost of a band of a loan, for any person.
#[derive(Debug, Clone, Copy)]
pub struct LoanCost {
    /// Credit ratings that the band applies to, one bit per ordinal.
    pub ratings: u64,
    /// APR including fees, percent.
    pub apr: Spread,
    /// Term in months; 0 when open.
    pub months: u32,
}

struct Priced {
    fee_rate: f64,
    fee_fixed: f64,
    payment: f64,
    total: f64,
    apr: f64,
}
