//! Credit cards, secured cards among them.

use super::super::declared::{Firmness, Offer};
use super::super::eligibility::{ConditionTest, EligibilityRule, bits};
use super::super::facts::Facts;
use super::super::identity::PartnerIdentity;
use super::super::json_object::JsonObjectWriter;
use super::super::quote::{CardTerms, QuoteTerms};
use super::{Quoted, common_text, if_given, rated_in, suitability};
use crate::check::checker::PartnerFileChecker as Checker;
use offerd_model::{CreditCardOfferDetails, ProductSubType, ProductType};

/// A credit card.
#[derive(Debug)]
pub struct CatalogCard {
    /// The declared details; the three firmness flags are in the quote.
    details: Box<CreditCardOfferDetails>,
    purposes: u64,
    pre_select_from_score: Option<i32>,
    firmness: Firmness,
}

const SUB_TYPES: &[ProductSubType] =
    &[ProductSubType::CreditCard, ProductSubType::SecuredCard, ProductSubType::StudentCard];

/// Keys of the details that are decided per lead.
const DECIDED: [&str; 3] = ["preQualified", "preApproved", "preSelected"];

pub(super) fn declared(offer: &Offer, check: &mut Checker) -> Option<CatalogCard> {
    check.sub_type(offer, SUB_TYPES);
    check.given("card", offer.card.is_some());
    check.between("pre_select_from_score", offer.pre_select_from_score.map(f64::from), 300.0, 850.0);
    let details = check.card(offer.card.as_ref()?, &DECIDED)?;
    let purposes = bits(details.card_purposes.iter().flatten().copied());
    let (pre_select_from_score, firmness) = (offer.pre_select_from_score, offer.firmness);
    Some(CatalogCard { details: Box::new(details), purposes, pre_select_from_score, firmness })
}

impl CatalogCard {
    /// Eligibility by kind of offer: a requested purpose, an accepted fee, a recommended rating.
    pub(super) fn rule(&self) -> EligibilityRule {
        let mut conditions = Vec::new();
        if self.purposes != 0 {
            let wanted = ConditionTest::AnyOf(self.purposes);
            conditions.push(if_given("creditCardInformation.cardPurposes", wanted));
        }
        if self.details.max_annual_fee.or(self.details.min_annual_fee).is_some_and(|fee| fee.to_f64() > 0.0) {
            conditions.push(if_given("creditCardInformation.allowAnnualFee", ConditionTest::Flag(true)));
        }
        let ratings = bits(self.details.recommended_credit_ratings.iter().flatten().copied());
        conditions.extend((ratings != 0).then(|| rated_in(ratings)));
        EligibilityRule::always().and_all(&conditions)
    }

    pub(super) fn text(&self, text: &mut JsonObjectWriter<'_>, offer: &Offer, identity: &PartnerIdentity) {
        common_text(text, ProductType::CreditCard, offer, identity);
        text.open("details");
        let details = serde_json::to_value(&self.details).unwrap_or_default();
        let details = details.as_object().into_iter().flatten();
        for (key, value) in details.filter(|(key, _)| !DECIDED.contains(&key.as_str())) {
            text.set(key, value);
        }
    }

    /// Firmness, and how well the card covers the requested purposes.
    pub(super) fn quote(&self, facts: &Facts, may_be_personal: bool) -> Quoted {
        let scores = self.pre_select_from_score.zip(facts.credit_score());
        let pre_selected = may_be_personal && scores.is_some_and(|(wanted, score)| score >= wanted);
        let personal = may_be_personal && facts.rating().is_some() && knows_person(facts);
        let terms = CardTerms {
            pre_qualified: personal && self.firmness == Firmness::PreQualified,
            pre_approved: personal && self.firmness == Firmness::PreApproved,
            pre_selected,
        };
        let suitability = suitability(terms.pre_approved, terms.pre_qualified, pre_selected);
        (QuoteTerms::Card(terms), suitability * self.coverage(facts), None)
    }

    /// Share of the requested purposes that the card covers; 1 when none are requested or the card has none.
    fn coverage(&self, facts: &Facts) -> f64 {
        let asked = facts.lead.credit_card_information.iter().flat_map(|card| &card.card_purposes);
        let asked = bits(asked.flatten().copied());
        if asked == 0 || self.purposes == 0 {
            return 1.0;
        }
        f64::from((asked & self.purposes).count_ones()) / f64::from(asked.count_ones())
    }
}

/// Whether the lead has what personalised cards require: name, address, income and date of birth.
fn knows_person(facts: &Facts) -> bool {
    let person = facts.lead.personal_information.as_ref();
    facts.lead.financial_information.as_ref().and_then(|financial| financial.annual_income).is_some()
        && person.is_some_and(|person| {
            let texts = [&person.first_name, &person.last_name, &person.address1];
            texts.into_iter().all(Option::is_some) && person.date_of_birth.is_some()
        })
}
