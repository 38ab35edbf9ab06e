//! Savings: accounts, certificates of deposit, and what stands beside them.

use serde::Serialize;

use super::super::eligibility::{Condition, Rule, Test};
use super::super::facts::{Facts, Subject};
use super::super::identity::Identity;
use super::super::quote::SavingsTerms;
use super::super::template::{Ending, OfferText, Template, money, percent};
use super::super::{declared, finance};
use super::{Band, FiguresBy, hundredths, rated, rating_bit, thousandths};
use crate::declaration::Checker;
use crate::model::{
    AttributeValue, CompoundingMethod, FederalInsuranceType, IncentiveDetails, Money, Percent,
    ProductSubType, ProductType, TermUnit, Timestamp,
};

/// A savings product.
#[derive(Debug)]
pub struct Savings {
    sub_type: ProductSubType,
    compounding: CompoundingMethod,
    pub(super) minimum_deposit: f64,
    effective_as_of: Timestamp,
    bands: Vec<Band>,
}

/// The sub-types of a savings product.
const SUB_TYPES: &[ProductSubType] = &[
    ProductSubType::SavingsAccount,
    ProductSubType::MoneyMarketAccount,
    ProductSubType::CertificateOfDeposit,
    ProductSubType::IndividualRetirementAccount,
    ProductSubType::CashManagementAccount,
    ProductSubType::HighInterestChecking,
    ProductSubType::Checking,
];

/// Checks a declared savings product.
pub(super) fn declared(offer: &declared::Offer, figures: FiguresBy, check: &mut Checker) -> Option<Savings> {
    let sub_type = check.sub_type(offer.sub_type, SUB_TYPES);
    check.given("compounding", offer.compounding.is_some());
    check.given("minimum_deposit", offer.minimum_deposit.is_some());
    check.given("bands", !offer.bands.is_empty() || figures == FiguresBy::Partner);
    check.between("minimum_deposit", offer.minimum_deposit, 0.0, 1e9);
    check.between("monthly_fee", offer.monthly_fee, 0.0, 1e6);
    check.between("introductory_rate", offer.introductory_rate, 0.0, 100.0);
    new_details(offer, check);
    let effective_as_of = check.timestamp("effective_as_of", offer.effective_as_of.as_deref());
    let bands = check.bands(&offer.bands, (0.0, f64::INFINITY));
    Some(Savings {
        sub_type: sub_type?,
        compounding: offer.compounding?,
        minimum_deposit: offer.minimum_deposit?,
        effective_as_of: effective_as_of?,
        bands: bands.into_iter().map(|(band, _)| band).collect(),
    })
}

/// Checks what only today's clients know of a savings product.
fn new_details(offer: &declared::Offer, check: &mut Checker) {
    if offer.cd_term_length.is_some() != offer.cd_term_unit.is_some() {
        check.at("cd_term_length", "is one of two: a term has `cd_term_length` and `cd_term_unit`");
    }
    check.between("cd_term_length", offer.cd_term_length.map(f64::from), 1.0, 600.0);
    for (nth, incentive) in offer.incentive_details.iter().flatten().enumerate() {
        check.between(&format!("incentive_details[{nth}].amount"), Some(incentive.amount), 0.0, 1e9);
    }
    for (nth, url) in offer.impression_tracking_pixel_urls.iter().flatten().enumerate() {
        check.url(&format!("impression_tracking_pixel_urls[{nth}]"), url);
    }
}

impl Savings {
    /// Who it is for by its nature: a deposit that is enough.
    pub(super) fn rule(&self) -> Rule {
        let enough = Test::Range { min: self.minimum_deposit, max: f64::INFINITY };
        let mut conditions = vec![Condition::or_missing(deposit_subject().clone(), enough)];
        conditions.extend(rated(&self.bands));
        Rule::always().and_all(&conditions)
    }

    /// What does not depend on the lead.
    pub(super) fn text(&self, offer: &declared::Offer, identity: &Identity) -> Template {
        let details = SavingsText {
            name: offer.name.as_deref(),
            description: offer.description.as_deref(),
            details: offer.details.as_deref(),
            compounding_method: self.compounding,
            introductory_period_months: offer.introductory_period_months,
            introductory_rate: offer.introductory_rate.map(percent),
            minimum_deposit: money(self.minimum_deposit),
            minimum_deposit_with_fees: offer.minimum_deposit_with_fees.map(money),
            monthly_fee: money(offer.monthly_fee.unwrap_or(0.0)),
            check_writing: offer.check_writing,
            effective_as_of: self.effective_as_of,
            federal_insurance_type: offer.federal_insurance_type,
            incentive_details: offer.incentive_details.as_deref().map(incentives),
            cd_term_unit: offer.cd_term_unit,
            cd_term_length: offer.cd_term_length,
            impression_tracking_pixel_urls: offer.impression_tracking_pixel_urls.as_deref(),
        };
        let text = OfferText::new(ProductType::Savings, self.sub_type, offer, identity, Some(details));
        Template::new(Ending::Details, &text, Some(offer.imprint(None)))
    }

    /// How interest is compounded.
    pub(super) fn compounding(&self) -> CompoundingMethod {
        self.compounding
    }

    /// Rate and yield for the lead's deposit; the first band's where the lead names none.
    pub(super) fn quote(&self, facts: &Facts) -> Option<SavingsTerms> {
        let deposit = match facts.get(deposit_subject()) {
            Some(AttributeValue::Number(dollars)) => Some(dollars),
            _ => None,
        };
        let band = self.bands.iter().find(|band| band.fits(rating_bit(facts), deposit, None))?;
        let rate = band.rate.1;
        let annual_percent_yield = hundredths(finance::annual_percentage_yield(rate, self.compounding));
        Some(SavingsTerms { rate: thousandths(rate), annual_percent_yield })
    }
}

/// What is given for opening the account, as clients see it.
fn incentives(declared: &[declared::Incentive]) -> Vec<IncentiveDetails> {
    let shown = |incentive: &declared::Incentive| IncentiveDetails {
        amount: incentive.amount,
        unit: incentive.unit,
        display: incentive.display.clone(),
        kind: incentive.r#type,
    };
    declared.iter().map(shown).collect()
}

fn deposit_subject() -> &'static Subject {
    use std::sync::LazyLock;
    static DEPOSIT: LazyLock<Subject> = LazyLock::new(|| Subject::of("savingsInformation.minDepositAmount"));
    &DEPOSIT
}

/// The part of the specification's SavingsOfferDetails that does not depend on the lead.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SavingsText<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a str>,
    compounding_method: CompoundingMethod,
    #[serde(skip_serializing_if = "Option::is_none")]
    introductory_period_months: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    introductory_rate: Option<Percent>,
    minimum_deposit: Money,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum_deposit_with_fees: Option<Money>,
    monthly_fee: Money,
    #[serde(skip_serializing_if = "Option::is_none")]
    check_writing: Option<bool>,
    effective_as_of: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    federal_insurance_type: Option<FederalInsuranceType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    incentive_details: Option<Vec<IncentiveDetails>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cd_term_unit: Option<TermUnit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cd_term_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    impression_tracking_pixel_urls: Option<&'a [String]>,
}
