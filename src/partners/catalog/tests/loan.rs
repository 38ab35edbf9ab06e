//! Loans: who fits, what one costs, and what a client is shown.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{assert_fault, book, both, fits, joined, offer, quote, rated, scoring, shown, span};
use crate::catalog::Pricing;
use crate::catalog::loan::Loan;
use crate::partner_files::PartnerFile;
use crate::quote::{LoanTerms, Spread};
use crate::{Quote, QuoteTerms};

/// Good ratings pay 8 to 12 % and a fee of 1 to 3 % and $50; fair ones 15 to 18 % and 4 %, up to $20,000.
const BANDS: &str = r#"bands = [
    { ratings = ["good"], rate = [8, 12], fee_rate = [1, 3], fee_fixed = 50 },
    { ratings = ["fair"], rate = [15, 18], fee_rate = 4, amount = { max = 20000 } },
]
"#;

fn declared(sub_type: &str, keys: &str) -> PartnerFile {
    let every = "amount = { min = 1000, max = 50000 }\napr_type = \"fixed\"";
    offer("loan", &format!("sub_type = \"{sub_type}\"\n{every}\n{keys}\n"))
}

/// A personal loan over 36 months.
fn loan(keys: &str) -> PartnerFile {
    declared("personal_loan", &format!("terms = [36]\n{keys}"))
}

fn asking_for(dollars: i32) -> Value {
    json!({"loanInformation": {"loanAmount": dollars}})
}

fn purpose(purpose: &str) -> Value {
    json!({"loanInformation": {"purpose": purpose}})
}

#[test]
fn a_loan_is_for_an_amount_the_ratings_of_its_bands_and_a_purpose_other_than_studies() {
    for (lead, is_fitting) in [
        (json!({}), true),
        (asking_for(999), false),
        (asking_for(1000), true),
        (asking_for(50_000), true),
        (asking_for(50_001), false),
        (rated("good"), true),
        (scoring(640), true),
        (rated("excellent"), false),
        (rated("limited"), false),
        (purpose("auto_purchase"), true),
        (purpose("wedding"), true),
        (purpose("student_loan"), false),
        (purpose("student_loan_refi"), false),
    ] {
        assert_eq!(fits(&loan(BANDS), &lead), is_fitting, "{lead}");
    }
    assert!(fits(&loan("bands = [{ rate = 8 }]"), &rated("poor")), "bands without ratings are for all");
}

#[test]
fn a_student_refinance_is_for_that_purpose_with_a_loan_or_a_university() {
    let refinance = declared("student_loan_refinance", "terms = [36]\nbands = [{ rate = 8 }]");
    let attended = |university: &str| json!({"educationInformation": {university: "MIT"}});
    let owing = json!({"refinanceLoans": [{"loanAmount": 20000}]});
    for (lead, is_fitting) in [
        (both(&purpose("student_loan"), &owing), true),
        (both(&purpose("student_loan_refi"), &owing), true),
        (both(&purpose("student_loan"), &attended("universityAttended")), true),
        (both(&purpose("student_loan"), &attended("graduateUniversityAttended")), true),
        (both(&purpose("student_loan"), &attended("undergraduateUniversityAttended")), true),
        (purpose("student_loan"), false),
        (owing.clone(), false),
        (both(&purpose("wedding"), &owing), false),
        (both(&purpose("auto_purchase"), &owing), false),
    ] {
        assert_eq!(fits(&refinance, &lead), is_fitting, "{lead}");
    }
}

#[test]
fn a_co_applicant_loan_is_for_two_people() {
    let second = json!({
        "firstName": "Ada", "lastName": "Byron", "dateOfBirth": "1990-12-10", "streetAddress1": "1 Main St",
        "annualIncome": 60000,
    });
    let of_two = declared("co_applicant_loan", "terms = [36]\nbands = [{ rate = 8 }]");
    let lead = |second: &Value| json!({"coApplicantInformation": second});
    assert!(fits(&of_two, &lead(&second)));
    assert!(!fits(&of_two, &json!({})));
    assert!(fits(&loan(BANDS), &json!({})), "a personal loan is for one");
    for attribute in second.as_object().unwrap().keys() {
        let mut lacking = second.clone();
        lacking.as_object_mut().unwrap().remove(attribute);
        assert!(!fits(&of_two, &lead(&lacking)), "{attribute}");
    }
}

#[test]
fn a_loan_is_declared_whole() {
    let none = "bands = [{ rate = 8 }]";
    let described = &format!("sub_type_disclaimer = \"Secured.\"\n{none}");
    for (sub_type, keys, fault) in [
        ("personal_loan", none, None),
        ("co_applicant_loan", none, None),
        ("line_of_credit", none, Some("sub_type_disclaimer` is missing")),
        ("secured_loan", none, Some("sub_type_disclaimer` is missing")),
        ("automobile_refinance", none, Some("sub_type_disclaimer` is missing")),
        ("home_equity_line_of_credit", none, Some("sub_type_disclaimer` is missing")),
        ("line_of_credit", described, None),
        ("secured_loan", described, None),
    ] {
        assert_fault(&declared(sub_type, &format!("terms = [36]\n{keys}")), fault);
    }
    for (terms, fault) in [
        ("terms = [1, 600]", None),
        ("terms = [0]", Some("must be from 1 to 600, got 0")),
        ("terms = [601]", Some("must be from 1 to 600, got 601")),
        ("terms = [0]\nterm_unit = \"open\"", None),
        ("terms = [1]\nterm_unit = \"open\"", Some("must be from 0 to 0, got 1")),
        ("terms = []", Some("terms` must not be empty")),
        ("terms = [36, 24, 36]", Some("36 appears twice")),
    ] {
        assert_fault(&declared("personal_loan", &format!("{terms}\n{none}")), fault);
    }
    for (bands, fault) in [
        ("bands = []", Some("bands` must not be empty")),
        ("bands = [{ rate = 8, terms = [24, 36] }]", None),
        ("bands = [{ rate = 8, terms = [24] }, { rate = 9, terms = [36] }]", None),
        ("bands = [{ rate = 8, terms = [24] }]", Some("36 is in none of the bands")),
    ] {
        assert_fault(&declared("personal_loan", &format!("terms = [24, 36]\n{bands}")), fault);
    }
    assert_fault(&loan(none).replaced("apr_type = \"fixed\"", ""), Some("apr_type` is missing"));
}

/// The terms in words, and the score, which is the likelihood of approval.
fn in_words(quote: Quote) -> (String, f64) {
    let QuoteTerms::Loan(terms) = quote.terms else { panic!("{quote:?}") };
    let LoanTerms { apr, fee_rate, min_amount, max_amount, .. } = terms;
    let flags = [(terms.pre_qualified, "pre-qualified: "), (terms.pre_approved, "pre-approved: ")];
    let flags = joined(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag), "");
    let fixed = terms.fee_fixed.map(|fee| format!(" and ${}", span(fee))).unwrap_or_default();
    let monthly = terms.monthly_payment.map(|one| format!(", ${} a month", span(one))).unwrap_or_default();
    let total = terms.total_payment.map(|one| format!(", ${} in all", span(one))).unwrap_or_default();
    let words = format!(
        "{flags}${min_amount}-{max_amount} at {}%, fee {}%{fixed}{monthly}{total}",
        span(apr),
        span(fee_rate)
    );
    (words, quote.score)
}

/// The payment is that of the ordinary annuity, `P·i / (1 - (1 + i)^-n)`; the APR discounts the payments to
/// the amount less the fee (Regulation Z, Appendix J, actuarial method). A personal rate is interpolated:
/// a score of 690 is 30/59 of the way from 660 to 719, one of 640 is 20/39 of the way from 620 to 659.
#[test]
fn a_loan_has_a_price_for_a_person_that_is_known_and_a_range_for_anyone_like_it() {
    let (qualified, approved) = ("firmness = \"pre_qualified\"\n", "firmness = \"pre_approved\"\n");
    let asking = |score: i32, dollars: i32| both(&scoring(score), &asking_for(dollars));
    let at_690 = "$1000-50000 at 11.7%, fee 1.98% and $50, $322.53 a month, $11611.08 in all";
    let like_690 =
        "$1000-50000 at 9.03-14.5%, fee 1-3% and $50, $313.36-332.14 a month, $11280.96-11957.04 in all";
    let for_anyone =
        "$1000-50000 at 9.03-20.97%, fee 1-4% and $0-50, $313.36-361.52 a month, $11280.96-13014.72 in all";
    for (firmness, lead, may_be_personal, words, score) in [
        (qualified, asking(690, 10_000), true, &*format!("pre-qualified: {at_690}"), 0.8),
        (approved, asking(690, 10_000), true, &*format!("pre-approved: {at_690}"), 0.95),
        // The best score of the band pays its lowest figures, the worst its highest.
        (
            approved,
            asking(719, 10_000),
            true,
            "pre-approved: $1000-50000 at 9.03%, fee 1% and $50, $313.36 a month, $11280.96 in all",
            0.95,
        ),
        (
            approved,
            both(&rated("good"), &asking_for(10_000)),
            true,
            "pre-approved: $1000-50000 at 14.5%, fee 3% and $50, $332.14 a month, $11957.04 in all",
            0.95,
        ),
        (
            qualified,
            asking(640, 10_000),
            true,
            "pre-qualified: $1000-20000 at 19.4%, fee 4%, $353.85 a month, $12738.6 in all",
            0.8,
        ),
        // Not personal: declared as a range, asked for by no person, or without a rating or an amount.
        ("", asking(690, 10_000), true, like_690, 0.5),
        (qualified, asking(690, 10_000), false, like_690, 0.5),
        (approved, asking(690, 10_000), false, like_690, 0.5),
        (qualified, asking_for(10_000), true, for_anyone, 0.5),
        ("", asking_for(10_000), true, for_anyone, 0.5),
        // Without an amount, all bands are priced at the middle of the first, $25,500.
        (approved, scoring(690), true, "$1000-50000 at 8.82-14.27%, fee 1-3% and $50", 0.5),
        ("", json!({}), true, "$1000-50000 at 8.82-20.97%, fee 1-4% and $0-50", 0.5),
        // Only one of the bands lends so much.
        (
            "",
            asking_for(30_000),
            true,
            "$1000-50000 at 8.8-14.25%, fee 1-3% and $50, $940.09-996.43 a month, $33843.24-35871.48 in all",
            0.5,
        ),
    ] {
        let found = quote(&loan(&format!("{firmness}{BANDS}")), &lead, may_be_personal).map(in_words);
        assert_eq!(found, Some((words.to_owned(), score)), "{firmness} {lead} {may_be_personal}");
    }
    for lead in [asking(640, 20_001), asking(720, 10_000), asking(690, 50_001)] {
        assert_eq!(quote(&loan(BANDS), &lead, true), None, "{lead}");
    }
}

/// The term is what is repaid monthly; one in days is repaid at once (Regulation Z, Appendix J, single
/// payment: `charges / (amount - fee) · 365 / days`), and an open one has its rate as APR.
#[test]
fn a_loan_is_repaid_by_its_term() {
    let of_term = |keys: &str| loan(BANDS).replaced("terms = [36]", keys);
    let good = both(&rated("good"), &asking_for(10_000));
    let monthly_for_60 =
        "$1000-50000 at 8.64-13.58%, fee 1-3% and $50, $202.76-222.44 a month, $12165.6-13346.4 in all";
    for (keys, lead, words) in [
        ("terms = [60]", &good, monthly_for_60),
        ("terms = [60]\nterm_unit = \"month\"", &good, monthly_for_60),
        ("terms = [5]\nterm_unit = \"year\"", &good, monthly_for_60),
        ("terms = [45]\nterm_unit = \"day\"", &good, "$1000-50000 at 20.47-41.85%, fee 1-3% and $50"),
        (
            "terms = [45]\nterm_unit = \"day\"",
            &rated("good"),
            "$1000-50000 at 17.92-39.18%, fee 1-3% and $50",
        ),
        ("terms = [0]\nterm_unit = \"open\"", &good, "$1000-50000 at 8-12%, fee 1-3% and $50"),
    ] {
        let found = quote(&of_term(keys), lead, true).map(in_words);
        assert_eq!(found, Some((words.to_owned(), 0.5)), "{keys} {lead}");
    }
    let free = loan("bands = [{ rate = 0 }]");
    let words = "$1000-50000 at 0%, fee 0%, $100 a month, $3600 in all";
    assert_eq!(quote(&free, &asking_for(3600), true).map(in_words), Some((words.to_owned(), 0.5)));
}

#[test]
fn a_band_is_of_the_terms_that_it_names() {
    let bands = "bands = [{ rate = 8, terms = [24] }, { rate = 9, terms = [36, 60] }, { rate = 10 }]";
    let book = book(&declared("personal_loan", &format!("terms = [24, 36, 48]\n{bands}")));
    let rates = book.seats()[0].offers.iter().map(|offer| {
        let Pricing::Loan(loan) = &offer.pricing else { panic!("{offer:?}") };
        // Without a fee, the APR is the rate.
        (offer.name.as_str(), loan.costs(Some(10_000.0)).map(|cost| cost.apr.max).collect::<Vec<_>>())
    });
    let expected = [("one/24", vec![8.0, 10.0]), ("one/36", vec![9.0, 10.0]), ("one/48", vec![10.0])];
    assert_eq!(rates.collect::<Vec<_>>(), expected);
}

fn with_loan<T>(file: &PartnerFile, read: impl Fn(&Loan) -> T) -> T {
    let book = book(file);
    let Pricing::Loan(loan) = &book.seats()[0].offers[0].pricing else { panic!("{file:?}") };
    read(loan)
}

/// APRs by the formulas above; without an amount, each band at the middle of its own range.
#[test]
fn a_loan_costs_by_band_what_it_costs_any_person() {
    const GOOD: u64 = 1 << 1;
    const FAIR: u64 = 1 << 2;
    let apr = |min, max| Spread { min, max };
    for (keys, amount, expected) in [
        ("terms = [36]", Some(10_000.0), vec![(GOOD, apr(9.03, 14.5), 36), (FAIR, apr(17.91, 20.97), 36)]),
        ("terms = [36]", Some(30_000.0), vec![(GOOD, apr(8.8, 14.25), 36)]),
        ("terms = [36]", Some(60_000.0), vec![]),
        ("terms = [36]", None, vec![(GOOD, apr(8.82, 14.27), 36), (FAIR, apr(17.92, 20.97), 36)]),
        ("terms = [5]\nterm_unit = \"year\"", Some(30_000.0), vec![(GOOD, apr(8.5, 13.43), 60)]),
        ("terms = [0]\nterm_unit = \"open\"", Some(30_000.0), vec![(GOOD, apr(8.0, 12.0), 0)]),
        // A month that has begun counts.
        ("terms = [30]\nterm_unit = \"day\"", Some(30_000.0), vec![(GOOD, apr(22.46, 52.18), 1)]),
        ("terms = [45]\nterm_unit = \"day\"", Some(30_000.0), vec![(GOOD, apr(17.67, 38.92), 2)]),
    ] {
        let costs = with_loan(&loan(BANDS).replaced("terms = [36]", keys), |loan| {
            loan.costs(amount).map(|cost| (cost.ratings, cost.apr, cost.months)).collect::<Vec<_>>()
        });
        assert_eq!(costs, expected, "{keys} {amount:?}");
    }
}

#[test]
fn a_loan_is_as_likely_as_it_is_firm() {
    for (firmness, likelihood) in [("static", 0.5), ("pre_qualified", 0.8), ("pre_approved", 0.95)] {
        let file = loan(&format!("firmness = \"{firmness}\"\n{BANDS}"));
        assert_eq!(with_loan(&file, Loan::likelihood), likelihood, "{firmness}");
    }
}

#[test]
fn a_payout_is_a_percentage_of_the_amount_that_is_priced() {
    let file = loan(BANDS).replaced("fixed = 1.0", "percent = 2.0");
    for (lead, payout) in [(asking_for(10_000), 200.0), (json!({}), 510.0)] {
        let quote = quote(&file, &lead, false).unwrap();
        let QuoteTerms::Loan(terms) = quote.terms else { panic!("{quote:?}") };
        assert_eq!((terms.payout, quote.score), (payout, payout * 0.5), "{lead}");
    }
}

#[test]
fn a_loan_is_shown_as_it_is_declared_with_its_price() {
    let texts = "sub_type_disclaimer = \"Secured by a car.\"\nsponsored = true\nallow_prepayment = false\n\
                 prepayment_fee = 25.5\nterms_text = \"Terms.\"\napr_description = \"APR.\"\n\
                 amount_prefix = \"up to\"\n\
                 term_description = \"Term.\"\nmonthly_payment_description = \"Monthly.\"\nterms = [36]";
    let as_declared = json!({
        "productType": "loan",
        "productSubType": "secured_loan",
        "productSubTypeDisclaimer": "Secured by a car.",
        "originator": "lender",
        "originatorId": "lender",
        "secured": true,
        "coApplicant": false,
        "sponsored": true,
        "termLength": 36,
        "termUnit": "month",
        "displayTermUnit": "month",
        "termDescription": "Term.",
        "aprType": "fixed",
        "aprDescription": "APR.",
        "allowPrepayment": false,
        "prepaymentFee": 25.5,
        "monthlyPaymentDescription": "Monthly.",
        "terms": "Terms.",
        "amountPrefix": "up to",
        "conversionProbability": 1,
    });
    let priced = json!({
        "preQualified": false,
        "preApproved": false,
        "maxAmount": 50000,
        "minAmount": 1000,
        "maxApr": 20.97,
        "minApr": 8.82,
        "meanApr": 14.895,
        "feeRate": 4,
        "maxFeeRate": 4,
        "minFeeRate": 1,
        "feeFixed": 50,
        "maxFeeFixed": 50,
        "minFeeFixed": 0,
        "monthlyPayment": null,
        "maxMonthlyPayment": null,
        "minMonthlyPayment": null,
        "meanMonthlyPayment": null,
        "maxTotalPayment": null,
        "minTotalPayment": null,
        "meanTotalPayment": null,
        "recommendationScore": 0.5,
        "payout": 1,
    });
    assert_eq!(shown(&declared("secured_loan", &format!("{texts}\n{BANDS}"))), both(&as_declared, &priced));
}

#[test]
fn a_loan_is_shown_as_what_its_kind_says() {
    for (sub_type, is_secured, is_of_two) in [
        ("personal_loan", false, false),
        ("secured_loan", true, false),
        ("automobile_refinance", true, false),
        ("home_equity_line_of_credit", true, false),
        ("line_of_credit", false, false),
        ("co_applicant_loan", false, true),
    ] {
        let texts = "terms = [36]\nsub_type_disclaimer = \"A kind.\"";
        let shown = shown(&declared(sub_type, &format!("{texts}\n{BANDS}")));
        let kind = (&shown["productSubType"], &shown["secured"], &shown["coApplicant"]);
        assert_eq!(kind, (&json!(sub_type), &json!(is_secured), &json!(is_of_two)));
    }
    for (terms, unit, displayed) in [
        ("terms = [36]", json!("month"), Some(json!("month"))),
        ("terms = [3]\nterm_unit = \"year\"", json!("year"), Some(json!("year"))),
        ("terms = [90]\nterm_unit = \"day\"", json!("day"), Some(json!("day"))),
        ("terms = [0]\nterm_unit = \"open\"", json!("open"), None),
    ] {
        let shown = shown(&loan(BANDS).replaced("terms = [36]", terms));
        assert_eq!((&shown["termUnit"], shown.get("displayTermUnit")), (&unit, displayed.as_ref()));
    }
    let plain = shown(&loan(BANDS));
    let defaults = (&plain["allowPrepayment"], &plain["prepaymentFee"], &plain["sponsored"]);
    assert_eq!(defaults, (&json!(true), &json!(0), &json!(false)));
}

proptest! {
    #![proptest_config(crate::cases::cases(32))]

    #[test]
    fn a_better_score_costs_no_more_and_a_price_is_within_what_anyone_is_shown(
        (lowest_rate, rates, lowest_fee, fees) in (1..30_u32, 0..20_u32, 0..5_u32, 0..5_u32),
        fee_fixed in 0..400_u32,
        dollars in 1_000..50_000_i32,
        (one, other) in (660..720_i32, 660..720_i32),
        months in 2..120_i32,
    ) {
        let file = loan(&format!(
            "firmness = \"pre_approved\"\nbands = [{{ ratings = [\"good\"], rate = [{lowest_rate}, {}], \
             fee_rate = [{lowest_fee}, {}], fee_fixed = {fee_fixed} }}]",
            lowest_rate + rates,
            lowest_fee + fees,
        ));
        let file = file.replaced("terms = [36]", &format!("terms = [{months}]"));
        let priced = |score: i32, may_be_personal: bool| {
            let quote = quote(&file, &both(&scoring(score), &asking_for(dollars)), may_be_personal).unwrap();
            let QuoteTerms::Loan(terms) = quote.terms else { panic!("{quote:?}") };
            let figures = [Some(terms.apr), Some(terms.fee_rate), terms.monthly_payment, terms.total_payment];
            figures.map(Option::unwrap)
        };
        let (better, worse) = (priced(one.max(other), true), priced(one.min(other), true));
        for ((better, worse), shown) in better.into_iter().zip(worse).zip(priced(one, false)) {
            prop_assert!(better.min == better.max && worse.min == worse.max);
            prop_assert!(shown.min <= better.min && better.min <= worse.max && worse.max <= shown.max);
        }
        let [apr, _, monthly, total] = better;
        prop_assert!((total.min - monthly.min * f64::from(months)).abs() < 0.005);
        // To the cent of a payment.
        prop_assert!(apr.min >= f64::from(lowest_rate) - 0.05);
    }
}
