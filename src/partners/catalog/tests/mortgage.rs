//! Mortgages: who fits, what one costs, and whether points are paid.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{assert_fault, both, fits, offer, quote, rated, scoring, shown};
use crate::catalog::mortgage::adjustment;
use crate::partner_files::PartnerFile;
use crate::quote::MortgageTerms;
use crate::{Quote, QuoteTerms};
use offerd_model::MortgageAdjustmentType::{Credits, Par, Points};

/// A mortgage over 30 years with closing costs of $2,000, and these bands.
fn mortgage(bands: &str) -> PartnerFile {
    offer(
        "mortgage",
        &format!(
            "sub_type = \"purchase\"\nloan_type = \"thirty_year_fixed\"\nclosing_costs = 2000\n\
             amount = {{ min = 50000, max = 1000000 }}\nreference_amount = 300000\nbands = [{bands}]\n"
        ),
    )
}

const BAND: &str = "{ rate = 6.5, price_adjustment = 0.5, fee_rate = 1, fee_fixed = 500 }";

fn borrowing(dollars: i32) -> Value {
    json!({"mortgageInformation": {"mortgageAmount": dollars}})
}

#[test]
fn a_mortgage_is_for_its_purpose_an_amount_and_the_ratings_of_its_bands() {
    let purchase = mortgage("{ rate = 6.5, ratings = [\"good\", \"excellent\"] }");
    let refinance = purchase.clone().replaced("\"purchase\"", "\"refinance\"");
    let purpose = |purpose: &str| json!({"mortgageInformation": {"mortgageType": purpose}});
    for (file, lead, is_fitting) in [
        (&purchase, json!({}), true),
        (&purchase, purpose("purchase"), true),
        (&purchase, purpose("refinance"), false),
        (&refinance, json!({}), true),
        (&refinance, purpose("refinance"), true),
        (&refinance, purpose("purchase"), false),
        (&purchase, borrowing(49_999), false),
        (&purchase, borrowing(50_000), true),
        (&purchase, borrowing(1_000_000), true),
        (&purchase, borrowing(1_000_001), false),
        (&purchase, rated("excellent"), true),
        (&purchase, rated("fair"), false),
    ] {
        assert_eq!(fits(file, &lead), is_fitting, "{lead}");
    }
}

fn in_words(quote: Quote) -> String {
    let QuoteTerms::Mortgage(terms) = quote.terms else { panic!("{quote:?}") };
    assert_eq!(quote.score, 0.5, "a mortgage is for anyone");
    let MortgageTerms { interest_rate, apr, loan_term, monthly_payment, net_closing_costs, .. } = terms;
    let (adjustment, price_adjustment) = (terms.adjustment_type.as_str(), terms.price_adjustment);
    format!(
        "{interest_rate}% is {apr}% for {loan_term} months, ${monthly_payment} a month, costs \
         ${net_closing_costs} with {adjustment} {price_adjustment}%"
    )
}

/// The payment is that of the ordinary annuity, `P·i / (1 - (1 + i)^-n)`. Closing costs are those of the
/// offer and of the band, with points and fee in percent of the amount; the APR discounts the payments to the
/// amount less these costs (Regulation Z, Appendix J, actuarial method).
#[test]
fn a_mortgage_costs_what_its_band_says_of_the_amount() {
    for (bands, lead, words) in [
        (BAND, json!({}), "6.5% is 6.728% for 360 months, $1896.2 a month, costs $7000 with points 0.5%"),
        (
            BAND,
            borrowing(400_000),
            "6.5% is 6.708% for 360 months, $2528.27 a month, costs $8500 with points 0.5%",
        ),
        (
            "{ rate = 6.5, price_adjustment = -0.25, fee_fixed = 500 }",
            borrowing(400_000),
            "6.5% is 6.536% for 360 months, $2528.27 a month, costs $1500 with credits -0.25%",
        ),
        // A lender credit beyond the costs does not lower the APR below the rate.
        (
            "{ rate = 6.5, price_adjustment = -2 }",
            borrowing(400_000),
            "6.5% is 6.5% for 360 months, $2528.27 a month, costs $-6000 with credits -2%",
        ),
        (
            "{ rate = 6.875 }",
            borrowing(400_000),
            "6.875% is 6.924% for 360 months, $2627.72 a month, costs $2000 with par 0%",
        ),
    ] {
        assert_eq!(
            quote(&mortgage(bands), &lead, true).map(in_words).as_deref(),
            Some(words),
            "{bands} {lead}"
        );
    }
    let free = mortgage("{ rate = 6.5 }").replaced("closing_costs = 2000\n", "");
    let words = "6.5% is 6.5% for 360 months, $2528.27 a month, costs $0 with par 0%";
    assert_eq!(quote(&free, &borrowing(400_000), true).map(in_words).as_deref(), Some(words));
}

/// A score of 690 is 390/550 of the way from 300 to 850, the scores of a band for all ratings.
#[test]
fn a_better_score_gets_a_better_rate_of_the_band() {
    let band = "{ rate = [6, 7], price_adjustment = 0.5, fee_rate = 1, fee_fixed = 500 }";
    for (lead, words) in [
        (json!({}), "7% is 7.214% for 360 months, $2661.21 a month, costs $8500 with points 0.5%"),
        (scoring(690), "6.291% is 6.496% for 360 months, $2473.54 a month, costs $8500 with points 0.5%"),
        (scoring(850), "6% is 6.202% for 360 months, $2398.2 a month, costs $8500 with points 0.5%"),
    ] {
        let lead = both(&lead, &borrowing(400_000));
        let found = quote(&mortgage(band), &lead, true).map(in_words);
        assert_eq!(found.as_deref(), Some(words), "{lead}");
    }
}

fn against(dollars: i32, property_value: i32) -> Value {
    json!({"mortgageInformation": {"mortgageAmount": dollars, "propertyValue": property_value}})
}

/// The rate of the first band that fits, in percent.
#[test]
fn a_band_is_for_ratings_amounts_and_loans_to_value() {
    let bands = "{ rate = 6, loan_to_value = { max = 80 }, ratings = [\"excellent\"] }, \
                 { rate = 6.5, loan_to_value = { max = 80 } }, { rate = 7, amount = { max = 500000 } }";
    for (lead, rate) in [
        (json!({}), Some(6.0)),
        (rated("excellent"), Some(6.0)),
        (rated("good"), Some(6.5)),
        (both(&rated("good"), &against(400_000, 500_000)), Some(6.5)),
        (both(&rated("good"), &against(400_001, 500_000)), Some(7.0)),
        (against(500_000, 500_000), Some(7.0)),
        (against(500_001, 500_000), None),
    ] {
        let quote = quote(&mortgage(bands), &lead, true).map(|quote| quote.terms);
        let found = quote.map(|terms| {
            let QuoteTerms::Mortgage(terms) = terms else { panic!("{terms:?}") };
            terms.interest_rate
        });
        assert_eq!(found, rate, "{lead}");
    }
}

/// Formulas as above.
#[test]
fn a_mortgage_has_the_term_of_its_kind() {
    let in_thirty_years = "6.646% for 360 months, $2528.27";
    for (loan_type, words) in [
        ("ten_year_fixed", "6.838% for 120 months, $4541.92"),
        ("fifteen_year_fixed", "6.74% for 180 months, $3484.43"),
        ("twenty_year_fixed", "6.692% for 240 months, $2982.29"),
        ("thirty_year_fixed", in_thirty_years),
        ("forty_year_fixed", "6.625% for 480 months, $2341.83"),
        ("five_one_adjustable", in_thirty_years),
        ("seven_year_intro_30_year_adjustable", in_thirty_years),
    ] {
        let file = mortgage("{ rate = 6.5 }").replaced("= 2000", "= 6000");
        let file = file.replaced("thirty_year_fixed", loan_type);
        let found = quote(&file, &borrowing(400_000), true).map(in_words);
        let words = format!("6.5% is {words} a month, costs $6000 with par 0%");
        assert_eq!(found, Some(words), "{loan_type}");
        assert_eq!(shown(&file)["details"]["loanType"], loan_type);
    }
}

#[test]
fn points_or_a_credit_of_up_to_an_eighth_of_a_percent_are_par() {
    for (price_adjustment, expected) in [
        (-10.0, Credits),
        (-0.126, Credits),
        (-0.125, Par),
        (-0.001, Par),
        (0.0, Par),
        (0.001, Par),
        (0.125, Par),
        (0.126, Points),
        (10.0, Points),
    ] {
        assert_eq!(adjustment(price_adjustment), expected, "{price_adjustment}");
    }
}

#[test]
fn a_mortgage_is_shown_as_it_is_declared_with_its_price() {
    let texts =
        "disclaimer = \"Terms apply.\"\nsub_type_disclaimer = \"A purchase.\"\nconsumer_rating = 91.5\n";
    let expected = json!({
        "partner": "lender",
        "productType": "mortgage",
        "productSubType": "purchase",
        "disclaimer": "Terms apply.",
        "productSubTypeDisclaimer": "A purchase.",
        "consumerRating": 91.5,
        "details": {
            "interestRate": 6.5,
            "loanType": "thirty_year_fixed",
            "priceAdjustment": 0.5,
            "monthlyPayment": 1896.2,
            "netClosingCosts": 7000,
            "apr": 6.728,
            "loanTerm": 360,
            "adjustmentType": "points",
        },
        "recommendationScore": 0.5,
    });
    assert_eq!(shown(&mortgage(BAND).and(texts)), expected);
}

#[test]
fn a_mortgage_is_declared_whole() {
    for (part, other, fault) in [
        ("300000", "1", None),
        ("300000", "0", Some("reference_amount` must be from 1 to 100000000, got 0")),
        ("reference_amount = 300000\n", "", Some("reference_amount` is missing")),
        ("loan_type = \"thirty_year_fixed\"\n", "", Some("loan_type` is missing")),
        ("closing_costs = 2000\n", "", None),
        (BAND, "", Some("bands` must not be empty")),
        ("1000000", "100000001", Some("amount` must be from 1 to 100000000, got 100000001")),
    ] {
        assert_fault(&mortgage(BAND).replaced(part, other), fault);
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(32))]

    #[test]
    fn costs_raise_the_apr_above_the_rate_and_a_better_score_pays_no_more(
        (rate, above) in (1..12_u32, 0..4_u32),
        (costs, fee) in (0..10_000_u32, 0..3_u32),
        dollars in 50_000..1_000_000_i32,
        (one, other) in (300..=850_i32, 300..=850_i32),
    ) {
        let file = mortgage(&format!("{{ rate = [{rate}, {}], fee_rate = {fee} }}", rate + above));
        let file = file.replaced("closing_costs = 2000", &format!("closing_costs = {costs}"));
        let priced = |score: i32| {
            let quote = quote(&file, &both(&scoring(score), &borrowing(dollars)), true).unwrap();
            let QuoteTerms::Mortgage(terms) = quote.terms else { panic!("{quote:?}") };
            terms
        };
        let (better, worse) = (priced(one.max(other)), priced(one.min(other)));
        let rates = [f64::from(rate), better.interest_rate, worse.interest_rate, f64::from(rate + above)];
        prop_assert!(rates.is_sorted(), "{rates:?}");
        prop_assert!(better.monthly_payment <= worse.monthly_payment);
        prop_assert!(better.apr >= better.interest_rate && better.apr <= worse.apr);
        let paid = f64::from(costs) + f64::from(fee) * f64::from(dollars) / 100.0;
        prop_assert!((better.net_closing_costs - paid).abs() < 0.005);
    }
}
