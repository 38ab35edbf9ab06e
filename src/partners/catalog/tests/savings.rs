//! Savings: which deposit is enough, and what it earns.

use serde_json::{Value, json};

use super::{assert_fault, both, fits, offer, quote, rated, shown};
use crate::QuoteTerms;
use crate::partner_files::PartnerFile;
use offerd_model::CompoundingMethod;

/// An account from $500, at 4 % up to $10,000 and at 4.25 % beyond, for good ratings and better.
fn account(keys: &str) -> PartnerFile {
    offer(
        "savings",
        &format!(
            "sub_type = \"certificate_of_deposit\"\ncompounding = \"daily\"\nminimum_deposit = 500\n\
             effective_as_of = \"2026-11-01T00:00:00Z\"\n\
             bands = [{{ amount = {{ max = 10000 }}, rate = 4, ratings = [\"good\", \"excellent\"] }}, \
             {{ amount = {{ min = 10000.01 }}, rate = [3, 4.25], ratings = [\"excellent\"] }}]\n{keys}\n"
        ),
    )
}

fn depositing(dollars: i64) -> Value {
    json!({"savingsInformation": {"minDepositAmount": dollars}})
}

#[test]
fn an_account_is_for_a_sufficient_deposit_and_the_ratings_of_its_bands() {
    for (lead, is_fitting) in [
        (json!({}), true),
        (depositing(499), false),
        (depositing(500), true),
        (depositing(1_000_000_000), true),
        (rated("excellent"), true),
        (rated("good"), true),
        (rated("fair"), false),
        (both(&depositing(499), &rated("good")), false),
    ] {
        assert_eq!(fits(&account(""), &lead), is_fitting, "{lead}");
    }
}

/// Rate and yield in percent: `(1 + r/n)^n - 1` (Regulation DD, Appendix A).
fn earned(file: &PartnerFile, lead: &Value) -> Option<(f64, f64)> {
    quote(file, lead, true).map(|quote| {
        let QuoteTerms::Savings(terms) = quote.terms else { panic!("{quote:?}") };
        assert_eq!(quote.score, 0.5, "an account is for anyone");
        (terms.rate, terms.annual_percent_yield)
    })
}

#[test]
fn a_deposit_earns_the_highest_rate_of_the_first_band_that_fits() {
    for (lead, expected) in [
        (json!({}), Some((4.0, 4.08))),
        (depositing(500), Some((4.0, 4.08))),
        (depositing(10_000), Some((4.0, 4.08))),
        (depositing(10_001), Some((4.25, 4.34))),
        (both(&depositing(10_001), &rated("excellent")), Some((4.25, 4.34))),
        (both(&depositing(10_001), &rated("good")), None),
        (rated("poor"), None),
    ] {
        assert_eq!(earned(&account(""), &lead), expected, "{lead}");
    }
}

#[test]
fn a_rate_is_compounded_as_declared_and_yields_no_less() {
    for compounding in CompoundingMethod::ALL {
        let account = account("").replaced("\"daily\"", &format!("\"{}\"", compounding.as_str()));
        let annual_yield = match compounding {
            CompoundingMethod::Simple | CompoundingMethod::Annually => 4.0,
            CompoundingMethod::SemiAnnually => 4.04,
            CompoundingMethod::Quarterly => 4.06,
            CompoundingMethod::Monthly => 4.07,
            CompoundingMethod::Weekly | CompoundingMethod::Daily | CompoundingMethod::Continuous => 4.08,
        };
        assert_eq!(earned(&account, &json!({})), Some((4.0, annual_yield)), "{compounding:?}");
    }
    // To the thousandth and the hundredth of a percent.
    let precise = account("").replaced("rate = 4,", "rate = 3.98765,");
    assert_eq!(earned(&precise, &json!({})), Some((3.988, 4.07)));
}

#[test]
fn an_account_is_shown_as_it_is_declared_with_what_it_earns() {
    let keys = "name = \"Certificate\"\ndescription = \"For a year.\"\ndetails = \"No fees.\"\n\
                disclaimer = \"Terms apply.\"\nsub_type_disclaimer = \"Early withdrawal costs.\"\n\
                consumer_rating = 91\nintroductory_period_months = 3\nintroductory_rate = 5.5\n\
                minimum_deposit_with_fees = 1500.5\nmonthly_fee = 12.5\ncheck_writing = false\n\
                federal_insurance_type = \"fdic\"\ncd_term_length = 12\ncd_term_unit = \"month\"\n\
                incentive_details = [{ amount = 150, unit = \"usd\", display = \"$150\", \
                type = \"cash_back\" }]\n\
                impression_tracking_pixel_urls = [\"https://lender.example/pixel\"]";
    let expected = json!({
        "partner": "lender",
        "productType": "savings",
        "productSubType": "certificate_of_deposit",
        "disclaimer": "Terms apply.",
        "productSubTypeDisclaimer": "Early withdrawal costs.",
        "consumerRating": 91,
        "details": {
            "name": "Certificate",
            "description": "For a year.",
            "details": "No fees.",
            "compoundingMethod": "daily",
            "introductoryPeriodMonths": 3,
            "introductoryRate": 5.5,
            "minimumDeposit": 500,
            "minimumDepositWithFees": 1500.5,
            "monthlyFee": 12.5,
            "checkWriting": false,
            "effectiveAsOf": "2026-11-01T00:00:00.000Z",
            "federalInsuranceType": "fdic",
            "incentiveDetails": [{"amount": 150, "unit": "usd", "display": "$150", "type": "cash_back"}],
            "cdTermUnit": "month",
            "cdTermLength": 12,
            "impressionTrackingPixelUrls": ["https://lender.example/pixel"],
            "rate": 4,
            "annualPercentYield": 4.08,
        },
        "recommendationScore": 0.5,
    });
    assert_eq!(shown(&account(keys)), expected);
}

#[test]
fn an_account_is_declared_whole() {
    let incentive = |amount: &str| {
        format!(
            "incentive_details = [{{ amount = {amount}, unit = \"usd\", display = \"x\", type = \"other\" }}]"
        )
    };
    for (keys, fault) in [
        (
            "cd_term_length = 12",
            Some("cd_term_length` must be set together with `cd_term_unit`: both or neither"),
        ),
        (
            "cd_term_unit = \"day\"",
            Some("cd_term_unit` must be set together with `cd_term_length`: both or neither"),
        ),
        ("cd_term_length = 1\ncd_term_unit = \"day\"", None),
        ("cd_term_length = 600\ncd_term_unit = \"month\"", None),
        ("cd_term_length = 0\ncd_term_unit = \"day\"", Some("must be from 1 to 600, got 0")),
        ("cd_term_length = 601\ncd_term_unit = \"month\"", Some("must be from 1 to 600, got 601")),
        (&incentive("0"), None),
        (&incentive("-1"), Some("incentive_details[0].amount` must be from 0 to 1000000000, got -1")),
        ("impression_tracking_pixel_urls = [\"https://lender.example/\"]", None),
        (
            "impression_tracking_pixel_urls = [\"{baseUrl}x\"]",
            Some("or begin with `{baseUrl}/`, got `{baseUrl}x`"),
        ),
    ] {
        assert_fault(&account(keys), fault);
    }
    for (part, fault) in [
        ("compounding = \"daily\"\n", "compounding` is missing"),
        ("minimum_deposit = 500\n", "minimum_deposit` is missing"),
        ("effective_as_of = \"2026-11-01T00:00:00Z\"\n", "effective_as_of` is missing"),
    ] {
        assert_fault(&account("").replaced(part, ""), Some(fault));
    }
    assert_fault(&account("").replaced("bands", "bands = []\n#"), Some("bands` must not be empty"));
}
