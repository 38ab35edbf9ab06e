//! Personal data, planted where it belongs and where it does not: no refusal repeats it, and no log at any level.

use hyper::Method;
use serde_json::{Value, json};

use super::{UUID, assert_refused, assert_unharmed, daemon, submit};
use crate::conformance::places::places;
use crate::conformance::schema::Edition;

/// What must be found nowhere.
const CANARIES: [&str; 7] = [
    "535-77-2043",
    "wren.canary@example.com",
    "Canarysson",
    "5095550147",
    "000411872265",
    "1951-03-17",
    "Canary Row",
];

/// The number that stands for all personal ones; nothing else has such digits.
const NUMBER: u64 = 77_310_945_512_207;

/// Everything in its place.
fn valid() -> Value {
    let [ssn, email, name, phone, account, birth, street] = CANARIES;
    json!({
        "personalInformation": {
            "ssn": ssn, "email": email, "firstName": name, "lastName": name, "primaryPhone": phone,
            "dateOfBirth": birth, "address1": street, "driversLicenseNumber": account,
        },
        "coApplicantInformation": {"firstName": name, "dateOfBirth": birth, "streetAddress1": street},
        "financialInformation": {"bankAccountNumber": account, "bankRoutingNumber": account},
        "identificationInformation": {"idNumber": account},
        "refinanceLoans": [{"accountNumber": account}],
        "clientTags": {name: [email]},
    })
}

#[track_caller]
fn assert_silent(text: &str, why: &str) {
    let number = NUMBER.to_string();
    for canary in CANARIES.into_iter().chain([number.as_str()]) {
        assert!(!text.contains(canary), "{why} tells {canary}: {text}");
    }
}

#[tokio::test]
async fn what_stands_where_it_does_not_belong_is_not_repeated() {
    let daemon = daemon().await;
    let places = places(Edition::Current);
    assert!(places.len() > 150, "{}", places.len());
    let mut refused = 0;
    let canaries =
        CANARIES.map(Value::from).into_iter().chain([json!(NUMBER), json!({CANARIES[2]: CANARIES[0]})]);
    for (nth, canary) in canaries.enumerate() {
        // All places of one depth at once would hide each other: a section that is text has no fields. Each canary goes to every
        // other place, and the next one to those between.
        for place in places.iter().skip(nth % 2).step_by(2) {
            // The keys of client tags are the client's names, by which a fault in them has to be told.
            if place.attribute == "clientTags" && canary.is_object() {
                continue;
            }
            let answer = submit(&daemon, place.alone(canary.clone()).to_string()).await;
            if answer.status != 200 {
                assert_refused(&answer, &place.attribute);
                assert_silent(&String::from_utf8_lossy(&answer.body), &place.attribute);
                refused += 1;
            }
        }
    }
    assert!(refused > 250, "{refused}");
    assert_silent(&daemon.log(), "the log");
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn what_stands_where_it_belongs_is_not_repeated_by_a_refusal_of_something_else() {
    let daemon = daemon().await;
    let text = valid().to_string();
    let mut with_fault = valid();
    with_fault["formCompleted"] = json!("yes");
    let mut taken = valid();
    taken["uuid"] = json!(UUID);
    assert_eq!(submit(&daemon, taken.to_string()).await.status, 200);
    let cut = text[..text.len() - 1].to_owned();
    let twice = format!("{text}{text}");
    let array = format!("[{text}]");
    for (why, body, status) in [
        ("a fault elsewhere", with_fault.to_string(), 422),
        ("a duplicate", taken.to_string(), 409),
        ("no JSON at its end", cut, 400),
        ("no JSON after its end", twice, 400),
        ("no object", array, 400),
        ("a text", json!(text).to_string(), 400),
        ("too large", format!("{text}{}", " ".repeat(super::BODY_MAX)), 413),
    ] {
        let answer = submit(&daemon, body).await;
        assert_refused(&answer, why);
        assert_eq!(answer.status, status, "{why}");
        assert_silent(&String::from_utf8_lossy(&answer.body), why);
    }
    let lead = format!("/leads/{UUID}");
    assert!(String::from_utf8_lossy(&daemon.get(&lead).await.body).contains(CANARIES[0]), "it was there");
    assert_silent(&daemon.log(), "the log");
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn neither_queries_paths_nor_headers_are_repeated_or_logged() {
    let daemon = daemon().await;
    let [ssn, email, name, ..] = CANARIES;
    for path in [
        format!("/leads/universities?limit={ssn}&offset={name}"),
        format!("/offerPreview/loanOffers?loanAmount={ssn}&zipCode={email}&loanPurpose={name}"),
        format!("/offerPreview/savingsOffers?maxDepositAmount={NUMBER}0000000000&{name}={ssn}"),
        format!("/supplyAnalytics/leadEvents?{name}={ssn}"),
        format!("/leads/{name}"),
        format!("/{name}/{ssn}?{email}"),
        format!("/originator/rateTables/{ssn}?name={email}"),
        format!("/click/{ssn}"),
    ] {
        let answer = daemon.get(&path).await;
        if answer.status != 200 {
            assert_refused(&answer, &path);
        }
        assert_silent(&String::from_utf8_lossy(&answer.body), &path);
    }
    let url = format!("{}/leads/rateTables", daemon.api);
    let headers = [("idempotency-key", ""), ("x-name", name), ("user-agent", email), ("referer", ssn)];
    let answer = daemon.request_with(Method::POST, &url, &daemon.publishable, &headers, "{}").await;
    assert_refused(&answer, "headers");
    assert_silent(&format!("{:?}", answer.headers), "the headers");
    assert_silent(&daemon.log(), "the log");
    assert!(!daemon.log().contains(&daemon.publishable), "no log holds a token");
    assert_unharmed(&daemon).await;
}
