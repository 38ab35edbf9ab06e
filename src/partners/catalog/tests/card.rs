//! Credit cards: who fits, how firm a card is, and how well it covers what is asked for.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{assert_fault, both, fits, offer, quote, rated, scoring, shown};
use crate::partner_files::PartnerFile;
use crate::{Quote, QuoteTerms};
use offerd_model::CardPurpose;

/// A card with keys of its offer, and with attributes of the card.
fn card(keys: &str, attributes: &str) -> PartnerFile {
    let card = "cardImageUrl = \"https://lender.example/card.png\"\ncardType = \"visa\"";
    let of_offer = format!("sub_type = \"secured_card\"\n{keys}\n");
    offer("credit_card", &format!("{of_offer}[products.credit_card.offers.card]\n{card}\n{attributes}\n"))
}

fn asking_for(purposes: &[&str]) -> Value {
    json!({"creditCardInformation": {"cardPurposes": purposes}})
}

#[test]
fn a_card_is_for_a_requested_purpose_an_accepted_fee_and_a_recommended_rating() {
    let purposes = r#"cardPurposes = ["cash_back", "travel_incentives"]"#;
    let twice = r#"cardPurposes = ["cash_back", "cash_back"]"#;
    let ratings = r#"recommendedCreditRatings = ["good", "fair"]"#;
    let rating_twice = r#"recommendedCreditRatings = ["good", "good"]"#;
    let of_fee = |is_accepted: bool| json!({"creditCardInformation": {"allowAnnualFee": is_accepted}});
    for (attributes, lead, is_fitting) in [
        (purposes, json!({}), true),
        (purposes, asking_for(&["travel_incentives"]), true),
        (purposes, asking_for(&["student", "cash_back"]), true),
        (purposes, asking_for(&["student"]), false),
        (purposes, asking_for(&["balance_transfer"]), false),
        (twice, asking_for(&["cash_back"]), true),
        (twice, asking_for(&["student"]), false),
        ("", asking_for(&["student"]), true),
        ("maxAnnualFee = 95", json!({}), true),
        ("maxAnnualFee = 95", of_fee(true), true),
        ("maxAnnualFee = 95", of_fee(false), false),
        ("minAnnualFee = 95", of_fee(false), false),
        ("minAnnualFee = 0\nmaxAnnualFee = 0.01", of_fee(false), false),
        ("maxAnnualFee = 0", of_fee(false), true),
        ("", of_fee(false), true),
        (ratings, json!({}), true),
        (ratings, rated("good"), true),
        (ratings, scoring(620), true),
        (ratings, rated("excellent"), false),
        (ratings, rated("poor"), false),
        (rating_twice, rated("good"), true),
        (rating_twice, rated("fair"), false),
        ("", rated("poor"), true),
    ] {
        assert_eq!(fits(&card("", attributes), &lead), is_fitting, "{attributes} {lead}");
    }
}

#[test]
fn a_card_is_shown_as_it_is_declared_but_for_what_is_decided_for_each_lead() {
    let keys = "disclaimer = \"Terms apply.\"\nsub_type_disclaimer = \"Needs a deposit.\"";
    let attributes = "cardName = \"Plain\"\nmaxAnnualFee = 95.5\ncardPurposes = [\"cash_back\"]";
    let expected = json!({
        "partner": "lender",
        "productType": "credit_card",
        "productSubType": "secured_card",
        "disclaimer": "Terms apply.",
        "productSubTypeDisclaimer": "Needs a deposit.",
        "details": {
            "cardImageUrl": "https://lender.example/card.png",
            "cardType": "visa",
            "cardName": "Plain",
            "cardPurposes": ["cash_back"],
            "maxAnnualFee": 95.5,
            "preQualified": false,
            "preApproved": false,
            "preSelected": false,
        },
        "recommendationScore": 0.5,
    });
    assert_eq!(shown(&card(keys, attributes)), expected);
}

#[test]
fn a_card_is_declared_whole() {
    let decided = "is decided for each lead; leave it out";
    for (keys, attributes, fault) in [
        ("", "", None),
        ("pre_select_from_score = 300", "", None),
        ("pre_select_from_score = 850", "", None),
        ("pre_select_from_score = 299", "", Some("must be from 300 to 850, got 299")),
        ("pre_select_from_score = 851", "", Some("must be from 300 to 850, got 851")),
        ("", "preQualified = true", Some(decided)),
        ("", "preApproved = true", Some(decided)),
        ("", "preSelected = true", Some(decided)),
    ] {
        assert_fault(&card(keys, attributes), fault);
    }
    assert_fault(&offer("credit_card", "sub_type = \"credit_card\""), Some("card` is missing"));
    let loan = card("", "").replaced("secured_card", "personal_loan");
    assert_fault(&loan, Some("must be one of credit_card, secured_card, student_card, got `personal_loan`"));
}

/// A lead that gives all that a personal card asks for, with a score of 700.
fn person() -> Value {
    let person = json!({
        "personalInformation": {
            "firstName": "Ada", "lastName": "Byron", "address1": "1 Main St", "dateOfBirth": "1990-12-10",
        },
        "financialInformation": {"annualIncome": 60000},
    });
    both(&person, &scoring(700))
}

fn person_without(section: &str, attribute: &str) -> Value {
    let mut person = person();
    person[section].as_object_mut().unwrap().remove(attribute).unwrap();
    person
}

/// Its flags in words, and its score.
fn firmness(quote: Quote) -> (String, f64) {
    let QuoteTerms::Card(terms) = quote.terms else { panic!("{quote:?}") };
    let flags = [
        (terms.pre_qualified, "pre-qualified"),
        (terms.pre_approved, "pre-approved"),
        (terms.pre_selected, "pre-selected"),
    ];
    let set = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| *flag);
    (super::joined(set, ", "), quote.score)
}

/// The score is the likelihood of approval: 95 % pre-approved, 80 % pre-qualified, 65 % pre-selected, else
/// 50 %.
#[test]
fn a_card_is_as_firm_as_its_partner_says_for_a_person_that_is_known() {
    let (qualified, approved) = ("firmness = \"pre_qualified\"", "firmness = \"pre_approved\"");
    let without = person_without;
    for (keys, lead, may_be_personal, flags, score) in [
        ("", person(), true, "", 0.5),
        (qualified, person(), true, "pre-qualified", 0.8),
        (approved, person(), true, "pre-approved", 0.95),
        (qualified, person(), false, "", 0.5),
        (approved, person(), false, "", 0.5),
        (qualified, json!({}), true, "", 0.5),
        (qualified, both(&person(), &rated("poor")), true, "pre-qualified", 0.8),
        (approved, without("creditInformation", "providedNumericCreditScore"), true, "", 0.5),
        (approved, without("financialInformation", "annualIncome"), true, "", 0.5),
        (approved, without("personalInformation", "firstName"), true, "", 0.5),
        (approved, without("personalInformation", "lastName"), true, "", 0.5),
        (approved, without("personalInformation", "address1"), true, "", 0.5),
        (approved, without("personalInformation", "dateOfBirth"), true, "", 0.5),
    ] {
        let found = quote(&card(keys, ""), &lead, may_be_personal).map(firmness);
        assert_eq!(found, Some((flags.to_owned(), score)), "{keys} {lead} {may_be_personal}");
    }
}

#[test]
fn a_card_is_pre_selected_from_a_score_on() {
    let from_700 = "pre_select_from_score = 700";
    let approved_from_700 = "pre_select_from_score = 700\nfirmness = \"pre_approved\"";
    for (keys, lead, may_be_personal, flags, score) in [
        (from_700, scoring(699), true, "", 0.5),
        (from_700, scoring(700), true, "pre-selected", 0.65),
        (from_700, scoring(701), true, "pre-selected", 0.65),
        (from_700, scoring(700), false, "", 0.5),
        (from_700, json!({}), true, "", 0.5),
        // The lowest score of a rating counts: 720 and 660.
        (from_700, rated("excellent"), true, "pre-selected", 0.65),
        (from_700, rated("good"), true, "", 0.5),
        ("", scoring(850), true, "", 0.5),
        (approved_from_700, person(), true, "pre-approved, pre-selected", 0.95),
        (approved_from_700, scoring(700), true, "pre-selected", 0.65),
    ] {
        let found = quote(&card(keys, ""), &lead, may_be_personal).map(firmness);
        assert_eq!(found, Some((flags.to_owned(), score)), "{keys} {lead} {may_be_personal}");
    }
}

/// 50 % approval times the share of the requested purposes that the card has.
#[test]
fn a_card_is_worth_the_share_of_the_requested_purposes_that_it_covers() {
    let covers = |purposes: &str| card("", &format!("cardPurposes = [{purposes}]"));
    let all_but_one = r#""cash_back", "student", "low_interest""#;
    for (purposes, asked, score) in [
        (all_but_one, &["cash_back", "student"][..], 0.5),
        (all_but_one, &["cash_back", "travel_incentives"], 0.25),
        (all_but_one, &["student", "travel_incentives", "new_to_credit", "improve_credit"], 0.125),
        (all_but_one, &["cash_back", "cash_back", "travel_incentives"], 0.25),
        (all_but_one, &["travel_incentives"], 0.0),
        (all_but_one, &[], 0.5),
        ("", &["travel_incentives"], 0.5),
        ("", &[], 0.5),
    ] {
        let quote = quote(&covers(purposes), &asking_for(asked), true).unwrap();
        assert_eq!(quote.score, score, "{purposes} {asked:?}");
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(32))]

    #[test]
    fn a_card_fits_if_and_only_if_it_covers_a_part_of_what_is_asked_for(
        covered in prop::collection::vec(prop::sample::select(CardPurpose::ALL), 1..6),
        asked in prop::collection::vec(prop::sample::select(CardPurpose::ALL), 1..6),
    ) {
        let words = |purposes: &[CardPurpose]| purposes.iter().map(|one| one.as_str()).collect::<Vec<_>>();
        let (card, lead) =
            (card("", &format!("cardPurposes = {:?}", words(&covered))), asking_for(&words(&asked)));
        let asked: BTreeSet<_> = asked.into_iter().collect();
        let met = asked.iter().filter(|purpose| covered.contains(purpose)).count();
        let score = (5_000.0 * met as f64 / asked.len() as f64).round() / 10_000.0;
        prop_assert_eq!(quote(&card, &lead, true).unwrap().score, score);
        prop_assert_eq!(fits(&card, &lead), met > 0);
    }
}
