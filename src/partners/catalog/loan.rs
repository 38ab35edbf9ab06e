//! Loans: personal, secured, student refinance, co-applicant, lines of credit.

use serde::Serialize;

use super::super::declared::{self, Firmness};
use super::super::eligibility::{Condition, Rule, Test};
use super::super::facts::{Facts, Subject};
use super::super::finance;
use super::super::identity::Identity;
use super::super::quote::{LoanTerms, Spread};
use super::super::template::{Ending, Template, money};
use super::{
    Band, FiguresBy, PRE_APPROVED_SUITABILITY, PRE_QUALIFIED_SUITABILITY, Personal, STATIC_SUITABILITY,
    at_standing, hundredths, rated, rating_bit, standing,
};
use crate::declaration::Checker;
use crate::model::{
    AprType, LoanPurpose, Money, Originator, ProductSubType, ProductType, TermUnit, plain_number,
};

/// A loan of one term.
#[derive(Debug)]
pub struct Loan {
    sub_type: ProductSubType,
    /// Length in `unit`; 0 when open.
    pub term: i32,
    unit: TermUnit,
    amount: (f64, f64),
    firmness: Firmness,
    bands: Vec<Band>,
}

/// By which a term of days is counted in months.
const DAYS_A_MONTH: u32 = 30;

/// The sub-types of a loan.
const SUB_TYPES: &[ProductSubType] = &[
    ProductSubType::PersonalLoan,
    ProductSubType::SecuredLoan,
    ProductSubType::StudentLoanRefinance,
    ProductSubType::CoApplicantLoan,
    ProductSubType::LineOfCredit,
    ProductSubType::AutomobileRefinance,
    ProductSubType::HomeEquityLineOfCredit,
    ProductSubType::InstallmentLoans,
    ProductSubType::BuyNowPayLater,
    ProductSubType::CashAdvance,
];

/// Those for which something is pledged.
const SECURED: &[ProductSubType] = &[
    ProductSubType::SecuredLoan,
    ProductSubType::AutomobileRefinance,
    ProductSubType::HomeEquityLineOfCredit,
];

/// Checks a declared loan; one for each of its terms.
pub(super) fn declared(offer: &declared::Offer, figures: FiguresBy, check: &mut Checker) -> Vec<Loan> {
    let priced = figures == FiguresBy::Catalog;
    let sub_type = check.sub_type(offer.sub_type, SUB_TYPES);
    let amount = check.range("amount", offer.amount, 1.0, 10_000_000.0);
    let unit = offer.term_unit.unwrap_or(TermUnit::Month);
    check.given("apr_type", offer.apr_type.is_some());
    check.given("terms", !offer.terms.is_empty());
    check.given("bands", !offer.bands.is_empty() || !priced);
    if sub_type.is_some_and(|one| one == ProductSubType::LineOfCredit || SECURED.contains(&one)) {
        check.given("sub_type_disclaimer", offer.sub_type_disclaimer.is_some());
    }
    for term in &offer.terms {
        let longest = if unit == TermUnit::Open { 0.0 } else { 600.0 };
        check.between(
            "terms",
            Some(f64::from(*term)),
            if unit == TermUnit::Open { 0.0 } else { 1.0 },
            longest,
        );
    }

    let bands = check.bands(&offer.bands, amount.unwrap_or_default());
    for term in &offer.terms {
        let covered = bands.iter().any(|(_, terms)| terms.as_ref().is_none_or(|terms| terms.contains(term)));
        if !covered && !bands.is_empty() {
            check.at("terms", format!("{term} is in none of the bands"));
        }
    }
    let (Some(sub_type), Some(amount)) = (sub_type, amount) else { return Vec::new() };
    let loan = |term: i32| Loan {
        sub_type,
        term,
        unit,
        amount,
        firmness: offer.firmness,
        bands: bands
            .iter()
            .filter(|(_, terms)| terms.as_ref().is_none_or(|terms| terms.contains(&term)))
            .map(|(band, _)| *band)
            .collect(),
    };
    offer.terms.iter().map(|term| loan(*term)).filter(|loan| !loan.bands.is_empty() || !priced).collect()
}

impl Loan {
    /// Who it is for by its nature (facts, Required fields belong to the partner).
    pub(super) fn rule(&self) -> Rule {
        let (min, max) = self.amount;
        let mut conditions =
            vec![Condition::or_missing(Subject::of("loanInformation.loanAmount"), Test::Range { min, max })];
        conditions.extend(rated(&self.bands));

        let purpose = Subject::of("loanInformation.purpose");
        let student = 1 << LoanPurpose::StudentLoan.ordinal() | 1 << LoanPurpose::StudentLoanRefi.ordinal();
        let present = |path: &'static str| Condition::new(Subject::of(path), Test::Present);
        if self.sub_type == ProductSubType::StudentLoanRefinance {
            conditions.push(Condition::new(purpose.clone(), Test::Category(student)));
            let evidence = [
                "refinanceLoans",
                "educationInformation.universityAttended",
                "educationInformation.graduateUniversityAttended",
                "educationInformation.undergraduateUniversityAttended",
            ];
            let either = evidence.map(|path| Rule::always().and_all(&[present(path)]));
            return Rule::always().and_all(&conditions).and(&Rule::any(either.to_vec()));
        }
        conditions.push(Condition::or_missing(purpose, Test::Category(!student)));
        if self.sub_type == ProductSubType::CoApplicantLoan {
            conditions.extend(
                [
                    "coApplicantInformation.firstName",
                    "coApplicantInformation.lastName",
                    "coApplicantInformation.dateOfBirth",
                    "coApplicantInformation.streetAddress1",
                    "coApplicantInformation.annualIncome",
                ]
                .map(present),
            );
        }
        Rule::always().and_all(&conditions)
    }

    /// What does not depend on the lead.
    pub(super) fn text(&self, offer: &declared::Offer, identity: &Identity) -> Template {
        Template::new(
            Ending::Offer,
            &LoanText {
                product_type: ProductType::Loan,
                product_sub_type: self.sub_type,
                product_sub_type_disclaimer: offer.sub_type_disclaimer.as_deref(),
                originator: &identity.originator,
                originator_id: &identity.originator.key,
                secured: SECURED.contains(&self.sub_type),
                co_applicant: self.sub_type == ProductSubType::CoApplicantLoan,
                sponsored: offer.sponsored,
                term_length: self.term,
                term_unit: self.unit,
                display_term_unit: (self.unit != TermUnit::Open).then_some(self.unit),
                term_description: offer.term_description.as_deref(),
                apr_type: offer.apr_type.unwrap_or(AprType::Fixed),
                apr_description: offer.apr_description.as_deref(),
                allow_prepayment: offer.allow_prepayment.unwrap_or(true),
                prepayment_fee: money(offer.prepayment_fee.unwrap_or(0.0)),
                monthly_payment_description: offer.monthly_payment_description.as_deref(),
                terms: offer.terms_text.as_deref(),
                amount_prefix: offer.amount_prefix.as_deref(),
                conversion_probability: offer.conversion_probability,
            },
            Some(offer.imprint(Some(self.term))),
        )
    }

    /// Terms, suitability, and the amount they are for.
    ///
    /// Exact terms when the amount and the rating are known and the partner answers for the person; the spread over all
    /// bands that may apply otherwise.
    pub(super) fn quote(&self, facts: &Facts, asked: Personal) -> Option<(LoanTerms, f64, f64)> {
        let rating = rating_bit(facts);
        let requested = facts.loan_amount();
        let fitting: Vec<&Band> =
            self.bands.iter().filter(|band| band.fits(rating, requested, None)).collect();
        let best = *fitting.first()?;

        let known = rating.is_some() && requested.is_some();
        let personal = asked == Personal::Yes && self.firmness != Firmness::Static && known;
        let amount = requested.unwrap_or_else(|| f64::midpoint(best.amount.0, best.amount.1));
        let priced: Vec<Priced> = if personal {
            let standing = standing(facts, best);
            vec![self.priced(
                best,
                amount,
                at_standing(best.rate, standing),
                at_standing(best.fee_rate, standing),
            )]
        } else {
            let ends = |band: &Band| {
                [
                    self.priced(band, amount, band.rate.0, band.fee_rate.0),
                    self.priced(band, amount, band.rate.1, band.fee_rate.1),
                ]
            };
            fitting.iter().flat_map(|band| ends(band)).collect()
        };

        let spread = |figure: fn(&Priced) -> f64| {
            Spread::covering(priced.iter().map(|one| Spread::exactly(figure(one))))
        };
        let shown = if personal { std::slice::from_ref(&best) } else { &fitting[..] };
        let terms = LoanTerms {
            pre_qualified: personal && self.firmness == Firmness::PreQualified,
            pre_approved: personal && self.firmness == Firmness::PreApproved,
            min_amount: shown.iter().map(|band| band.amount.0).fold(f64::INFINITY, f64::min) as i32,
            max_amount: shown.iter().map(|band| band.amount.1).fold(0.0, f64::max) as i32,
            apr: spread(|one| one.apr)?,
            fee_rate: spread(|one| one.fee_rate)?,
            fee_fixed: fitting
                .iter()
                .any(|band| band.fee_fixed > 0.0)
                .then(|| spread(|one| one.fee_fixed))
                .flatten(),
            monthly_payment: requested
                .filter(|_| self.months().is_some())
                .and_then(|_| spread(|one| one.payment)),
            total_payment: requested
                .filter(|_| self.months().is_some())
                .and_then(|_| spread(|one| one.total)),
            payout: 0.0,
        };
        let suitability = match (personal, self.firmness) {
            (true, Firmness::PreApproved) => PRE_APPROVED_SUITABILITY,
            (true, Firmness::PreQualified) => PRE_QUALIFIED_SUITABILITY,
            _ => STATIC_SUITABILITY,
        };
        Some((terms, suitability, amount))
    }

    fn priced(&self, band: &Band, amount: f64, rate: f64, fee_rate: f64) -> Priced {
        let rate = hundredths(rate);
        let fee_rate = hundredths(fee_rate);
        let fee = amount * fee_rate / 100.0 + band.fee_fixed;
        let (payment, total, apr) = match (self.unit, self.months()) {
            (TermUnit::Open, _) => (0.0, 0.0, rate),
            (_, Some(months)) => {
                let payment = hundredths(finance::monthly_payment(amount, rate, months));
                (payment, payment * f64::from(months), finance::apr(amount - fee, payment, months))
            }
            (_, None) => {
                let days = self.term.unsigned_abs();
                let interest = amount * rate / 100.0 * f64::from(days) / 365.0;
                let total = hundredths(amount + interest);
                (total, total, finance::single_payment_apr(amount - fee, interest + fee, days))
            }
        };
        Priced {
            fee_rate,
            fee_fixed: band.fee_fixed,
            payment,
            total: hundredths(total),
            apr: hundredths(apr),
        }
    }

    /// What its bands for an amount cost; where none is given, each in the middle of its own.
    pub fn costs(&self, amount: Option<f64>) -> impl Iterator<Item = LoanCost> {
        let months = match self.unit {
            TermUnit::Day => self.term.unsigned_abs().div_ceil(DAYS_A_MONTH),
            _ => self.months().unwrap_or_default(),
        };
        self.bands.iter().filter(move |band| band.fits(None, amount, None)).map(move |band| {
            let amount = amount.unwrap_or_else(|| f64::midpoint(band.amount.0, band.amount.1));
            let ends = [(band.rate.0, band.fee_rate.0), (band.rate.1, band.fee_rate.1)];
            let [low, high] = ends.map(|(rate, fee_rate)| self.priced(band, amount, rate, fee_rate).apr);
            LoanCost { ratings: band.ratings, apr: Spread { min: low.min(high), max: low.max(high) }, months }
        })
    }

    /// How likely somebody is to get it whom it fits, by its firmness.
    pub fn likelihood(&self) -> f64 {
        match self.firmness {
            Firmness::PreApproved => PRE_APPROVED_SUITABILITY,
            Firmness::PreQualified => PRE_QUALIFIED_SUITABILITY,
            _ => STATIC_SUITABILITY,
        }
    }

    /// Dollars that can be borrowed.
    pub(super) fn amount(&self) -> (f64, f64) {
        self.amount
    }

    /// Monthly payments, unless the term is open or of days.
    pub(super) fn months(&self) -> Option<u32> {
        match self.unit {
            TermUnit::Month => Some(self.term.unsigned_abs()),
            TermUnit::Year => Some(self.term.unsigned_abs() * 12),
            TermUnit::Day | TermUnit::Open => None,
        }
    }
}

/// What a band of a loan costs, whoever asks.
#[derive(Debug, Clone, Copy)]
pub struct LoanCost {
    /// Bit per ordinal of the credit ratings that it is for.
    pub ratings: u64,
    /// APR with fees, percent.
    pub apr: Spread,
    /// The term, in months; 0 when open.
    pub months: u32,
}

/// Figures of a loan at one rate.
struct Priced {
    fee_rate: f64,
    fee_fixed: f64,
    payment: f64,
    total: f64,
    apr: f64,
}

/// The part of the specification's LoanOffer that does not depend on the lead.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoanText<'a> {
    product_type: ProductType,
    product_sub_type: ProductSubType,
    #[serde(skip_serializing_if = "Option::is_none")]
    product_sub_type_disclaimer: Option<&'a str>,
    originator: &'a Originator,
    originator_id: &'a str,
    secured: bool,
    co_applicant: bool,
    sponsored: bool,
    term_length: i32,
    term_unit: TermUnit,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_term_unit: Option<TermUnit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    term_description: Option<&'a str>,
    apr_type: AprType,
    #[serde(skip_serializing_if = "Option::is_none")]
    apr_description: Option<&'a str>,
    allow_prepayment: bool,
    prepayment_fee: Money,
    #[serde(skip_serializing_if = "Option::is_none")]
    monthly_payment_description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terms: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount_prefix: Option<&'a str>,
    #[serde(serialize_with = "plain_number::required")]
    conversion_probability: f64,
}
