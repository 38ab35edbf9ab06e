//! Savings: accounts, certificates of deposit, and related products.

use std::sync::LazyLock;

use super::super::declared::{Incentive, Offer};
use super::super::eligibility::{ConditionTest, EligibilityCondition, EligibilityRule};
use super::super::facts::{Facts, Subject};
use super::super::finance;
use super::super::identity::PartnerIdentity;
use super::super::json_object::JsonObjectWriter;
use super::super::offer_json::{money, percent};
use super::super::quote::{QuoteTerms, SavingsTerms};
use super::{Quoted, STATIC_SUITABILITY, TermsBand, common_text, hundredths, rated, rating_bit, thousandths};
use crate::check::checker::PartnerFileChecker as Checker;
use offerd_model::{AttributeValue, CompoundingMethod, IncentiveDetails, ProductSubType, ProductType};

/// A savings product.
#[derive(Debug)]
pub struct Savings {
    pub(super) compounding: CompoundingMethod,
    pub(super) minimum_deposit: f64,
    bands: Vec<TermsBand>,
}

#[rustfmt::skip]
const SUB_TYPES: &[ProductSubType] = &[
    ProductSubType::SavingsAccount, ProductSubType::MoneyMarketAccount, ProductSubType::CertificateOfDeposit,
    ProductSubType::IndividualRetirementAccount, ProductSubType::CashManagementAccount,
    ProductSubType::HighInterestChecking, ProductSubType::Checking,
];

pub(super) fn declared(offer: &Offer, is_priced: bool, check: &mut Checker) -> Option<Savings> {
    check.sub_type(offer, SUB_TYPES);
    check.given("compounding", offer.compounding.is_some());
    check.given("minimum_deposit", offer.minimum_deposit.is_some());
    check.filled("bands", !offer.bands.is_empty() || !is_priced);
    new_details(offer, check);
    check.given("effective_as_of", offer.effective_as_of.is_some());
    let bands = check.bands(&offer.bands, (0.0, f64::INFINITY), false);
    Some(Savings { compounding: offer.compounding?, minimum_deposit: offer.minimum_deposit?, bands })
}

/// Checks the details that only clients of the current edition see.
fn new_details(offer: &Offer, check: &mut Checker) {
    let term = (offer.cd_term_length.is_some(), offer.cd_term_unit.is_some());
    check.together(("cd_term_length", "cd_term_unit"), term);
    check.between("cd_term_length", offer.cd_term_length.map(f64::from), 1.0, 600.0);
    for (nth, incentive) in offer.incentive_details.iter().flatten().enumerate() {
        check.between(&format!("incentive_details[{nth}].amount"), Some(incentive.amount), 0.0, 1e9);
    }
    for (nth, url) in offer.impression_tracking_pixel_urls.iter().flatten().enumerate() {
        check.url(&format!("impression_tracking_pixel_urls[{nth}]"), url);
    }
}

impl Savings {
    /// Eligibility that follows from the kind of offer: a sufficient deposit.
    pub(super) fn rule(&self) -> EligibilityRule {
        let enough = ConditionTest::Range { min: self.minimum_deposit, max: f64::INFINITY };
        let mut conditions = vec![EligibilityCondition::or_missing(DEPOSIT.clone(), enough)];
        conditions.extend(rated(&self.bands));
        EligibilityRule::always().and_all(&conditions)
    }

    pub(super) fn text(&self, text: &mut JsonObjectWriter<'_>, offer: &Offer, identity: &PartnerIdentity) {
        common_text(text, ProductType::Savings, offer, identity);
        text.open("details")
            .set_some("name", offer.name.as_deref())
            .set_some("description", offer.description.as_deref())
            .set_some("details", offer.details.as_deref())
            .set("compoundingMethod", &self.compounding)
            .set_some("introductoryPeriodMonths", offer.introductory_period_months)
            .set_some("introductoryRate", offer.introductory_rate.map(percent))
            .set("minimumDeposit", &money(self.minimum_deposit))
            .set_some("minimumDepositWithFees", offer.minimum_deposit_with_fees.map(money))
            .set("monthlyFee", &money(offer.monthly_fee.unwrap_or(0.0)))
            .set_some("checkWriting", offer.check_writing)
            .set_some("effectiveAsOf", offer.effective_as_of)
            .set_some("federalInsuranceType", offer.federal_insurance_type)
            .set_some("incentiveDetails", offer.incentive_details.as_deref().map(incentives))
            .set_some("cdTermUnit", offer.cd_term_unit)
            .set_some("cdTermLength", offer.cd_term_length)
            .set_some("impressionTrackingPixelUrls", offer.impression_tracking_pixel_urls.as_deref());
    }

    /// Rate and yield for the lead's deposit; those of the first band if the lead names none.
    pub(super) fn quote(&self, facts: &Facts) -> Option<Quoted> {
        let deposit = match facts.get(&DEPOSIT) {
            Some(AttributeValue::Number(dollars)) => Some(dollars),
            _ => None,
        };
        let rate = self.bands.iter().find(|band| band.fits(rating_bit(facts), deposit, None))?.rate.1;
        let annual_percent_yield = hundredths(finance::annual_percentage_yield(rate, self.compounding));
        let terms = SavingsTerms { rate: thousandths(rate), annual_percent_yield };
        Some((QuoteTerms::Savings(terms), STATIC_SUITABILITY, None))
    }
}

fn incentives(declared: &[Incentive]) -> Vec<IncentiveDetails> {
    let shown = |incentive: &Incentive| IncentiveDetails {
        amount: incentive.amount,
        unit: incentive.unit,
        display: incentive.display.clone(),
        kind: incentive.r#type,
    };
    declared.iter().map(shown).collect()
}

static DEPOSIT: LazyLock<Subject> = LazyLock::new(|| Subject::of("savingsInformation.minDepositAmount"));
