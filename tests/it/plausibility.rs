//! Implausible leads (negative money, a score off its scale, a birth to come): refused with attribute and range.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon};

const V1: &str = "application/vnd.offerd.v1+json";

const DOLLARS: &str = "must be an integer between 0 and 2147483647";
const SAVINGS: &str = "must be an integer between 0 and 9223372036854775807";
const CENTS: &str = "must be a number between 0 and 2147483647";
const SCORE: &str = "must be an integer between 300 and 850";
const RATE: &str = "must be a number between 0 and 400";
const BIRTH: &str = "must be a date between 1900-01-01 and today";

/// Attributes with values that cannot be true, and what is said of them.
fn implausible() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("loanInformation.loanAmount", json!(-1), DOLLARS),
        ("loanInformation.loanAmount", json!(-2_147_483_648_i64), DOLLARS),
        ("loanInformation.loanAmount", json!(2_147_483_648_i64), DOLLARS),
        ("financialInformation.annualIncome", json!(-52_000), DOLLARS),
        ("financialInformation.monthsAtBank", json!(-7), DOLLARS),
        ("mortgageInformation.propertyValue", json!(-1.0), DOLLARS),
        ("mortgageInformation.monthlyHoaFee", json!(-0.01), CENTS),
        ("employmentInformation.monthsEmployed", json!(-1), DOLLARS),
        ("healthInformation.heightInInches", json!(-70), DOLLARS),
        ("coApplicantInformation.annualIncome", json!(-1), DOLLARS),
        ("savingsInformation.minDepositAmount", json!(-1), SAVINGS),
        ("creditInformation.providedNumericCreditScore", json!(-1), SCORE),
        ("creditInformation.providedNumericCreditScore", json!(0), SCORE),
        ("creditInformation.providedNumericCreditScore", json!(299), SCORE),
        ("creditInformation.providedNumericCreditScore", json!(851), SCORE),
        ("personalInformation.dateOfBirth", json!("1899-12-31"), BIRTH),
        ("personalInformation.dateOfBirth", json!("2999-01-01"), BIRTH),
        ("coApplicantInformation.dateOfBirth", json!("9999-12-31"), BIRTH),
        ("refinanceLoans[0].interestRate", json!(-0.5), RATE),
        ("refinanceLoans[0].interestRate", json!(1000), RATE),
        ("refinanceLoans[0].nextPaymentAmount", json!(-10.5), CENTS),
        ("refinanceLoans[0].loanAmount", json!(-1), DOLLARS),
    ]
}

/// What may seem strange and is possible.
fn plausible() -> Vec<(&'static str, Value)> {
    vec![
        ("loanInformation.loanAmount", json!(0)),
        ("loanInformation.loanAmount", json!(1)),
        ("loanInformation.loanAmount", json!(2_147_483_647)),
        ("financialInformation.annualIncome", json!(2_147_483_647)),
        ("financialInformation.monthsAtBank", json!(2_147_483_647)),
        ("healthInformation.heightInInches", json!(1)),
        ("healthInformation.heightInInches", json!(2_147_483_647)),
        ("healthInformation.weightInPounds", json!(1)),
        ("savingsInformation.minDepositAmount", json!(9_223_372_036_854_775_807_i64)),
        ("creditInformation.providedNumericCreditScore", json!(300)),
        ("creditInformation.providedNumericCreditScore", json!(850)),
        ("personalInformation.dateOfBirth", json!("1900-01-01")),
        ("refinanceLoans[0].interestRate", json!(400)),
        ("mortgageInformation.monthlyHoaFee", json!(0.01)),
    ]
}

/// A lead of one attribute.
fn lead(attribute: &str, value: &Value) -> Value {
    let (section, field) = attribute.split_once('.').unwrap();
    match section.strip_suffix("[0]") {
        Some(array) => json!({ array: [{ field: value }] }),
        None => json!({ section: { field: value } }),
    }
}

async fn daemon() -> Daemon {
    Daemon::with_partners(prompt_partners(1)).start().await
}

async fn submit_v1(daemon: &Daemon, lead: &Value) -> Answer {
    let url = format!("{}/leads/rateTables", daemon.api);
    let accept = [("accept", V1)];
    daemon.request_with(Method::POST, &url, &daemon.confidential, &accept, lead.to_string()).await
}

#[tokio::test]
async fn what_cannot_be_true_is_refused_with_what_is_possible() {
    let daemon = daemon().await;
    for (attribute, value, message) in implausible() {
        let lead = lead(attribute, &value);
        for (answer, status) in
            [(daemon.submit(lead.to_string()).await, 422), (submit_v1(&daemon, &lead).await, 400)]
        {
            let mut told = answer.json();
            let details = told[0].as_object_mut().unwrap().remove("details").unwrap();
            assert!(
                ["range", "format"].contains(&details["fault"].as_str().unwrap()),
                "{attribute}: {details}"
            );
            let wanted = json!([{"attribute": attribute, "type": "malformed", "message": message}]);
            assert_eq!((answer.status, told), (status, wanted), "{attribute}: {value}");
        }
    }
}

#[tokio::test]
async fn what_is_only_strange_is_taken() {
    let daemon = daemon().await;
    for (attribute, value) in plausible() {
        let lead = lead(attribute, &value);
        assert_eq!(daemon.submit(lead.to_string()).await.status, 200, "{attribute}: {value}");
        assert_eq!(submit_v1(&daemon, &lead).await.status, 201, "{attribute}: {value}");
    }
}

#[tokio::test]
async fn it_is_told_beside_what_is_malformed() {
    let daemon = daemon().await;
    let body = json!({
        "personalInformation": {"dateOfBirth": "2999-01-01", "email": "nobody"},
        "loanInformation": {"loanAmount": -5000},
        "refinanceLoans": [{}, {"interestRate": 4000}],
        "productTypes": ["insurance", "yacht"],
    });
    let wanted = [
        "productTypes[1]",
        "personalInformation.email",
        "personalInformation.dateOfBirth",
        "loanInformation.loanAmount",
        "refinanceLoans[1].interestRate",
    ];
    assert_eq!(daemon.submit(body.to_string()).await.attributes(), wanted);
    let answer = submit_v1(&daemon, &body).await;
    assert_eq!((answer.status, answer.attributes().len()), (400, wanted.len() + 1), "insurance is not of v1");
}

#[tokio::test]
async fn no_lead_grows_into_it() {
    let daemon = daemon().await;
    let lead = daemon.post("/leads", "").await.json();
    let url = format!("{}/leads/{}", daemon.api, lead["uuid"].as_str().unwrap());
    let later = json!({"loanInformation": {"loanAmount": -1}}).to_string();
    let answer = daemon.request(Method::PATCH, &url, &daemon.confidential, &later).await;
    assert_eq!((answer.status, answer.attributes()), (422, vec!["loanInformation.loanAmount".to_owned()]));
}

/// The document bounds what it can: no schema says when today is.
#[tokio::test]
async fn the_document_has_the_bounds_that_are_checked() {
    let daemon = daemon().await;
    let document = daemon.get("/openapi.json").await.json();
    let schema = |attribute: &str| {
        let (section, field) = attribute.split_once('.').unwrap();
        let lead = &document["components"]["schemas"]["LeadCreateData"]["properties"];
        let wanted = match section.strip_suffix("[0]") {
            Some(array) => &lead[array]["items"],
            None => &lead[section]["oneOf"][0],
        };
        let noun = wanted["$ref"].as_str().unwrap().trim_start_matches('#');
        document.pointer(noun).unwrap()["properties"][field].clone()
    };
    for (attribute, value, message) in implausible() {
        let schema = schema(attribute);
        if message == BIRTH {
            let about = schema["description"].as_str().unwrap();
            let bounds = "Between 1900-01-01 and the day on which it is sent.";
            assert!(about.ends_with(bounds), "{attribute}: {about}");
        } else {
            let bounds = format!("between {} and {}", schema["minimum"], schema["maximum"]).replace(".0", "");
            assert!(message.ends_with(&bounds), "{attribute}: {bounds}");
            assert!(!jsonschema::is_valid(&schema, &value), "{attribute}: {value}");
        }
    }
}
