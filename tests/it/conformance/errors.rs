//! Errors: every status that can be reached, and the shape of its body.

use hyper::Method;
use serde_json::json;

use super::schema::{Edition, assert_conforms};
use super::{UNKNOWN, ask};
use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Answer, Daemon};

#[track_caller]
fn assert_failure(edition: Edition, answer: &Answer, status: u16, error_type: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    let errors = answer.json();
    assert_conforms(edition, "ApiErrors", &errors);
    for error in errors.as_array().unwrap() {
        assert_eq!(error["type"], error_type, "{error}");
        assert!(error["message"].is_string(), "{error}");
    }
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    if errors[0].get("attribute").is_none() {
        assert!(text.starts_with(r#"[{"message":"#), "old clients cut it out by its place: {text}");
    }
}

#[tokio::test]
async fn for_every_failure_the_body_is_an_array_of_api_error() {
    let daemon =
        Daemon::with_partners(prompt_partners(1)).setting("api.max_body_bytes", "1024").start().await;
    let taken = json!({"uuid": UNKNOWN}).to_string();
    assert_eq!(daemon.submit(&taken).await.status, 200);
    let long = format!(r#"{{"deviceId":"{}"}}"#, "x".repeat(2_000));
    let submit = "/leads/rateTables";
    for edition in Edition::BOTH {
        let invalid = if edition == Edition::V1 { 400 } else { 422 };
        for (method, path, body, status, error_type) in [
            (Method::POST, submit, "{", 400, "malformed"),
            (Method::GET, "/leads/17", "", 400, "malformed"),
            (Method::GET, "/%ff", "", 400, "malformed"),
            (Method::GET, &format!("/leads/{UNKNOWN}7"), "", 400, "malformed"),
            (Method::GET, &format!("/originator/rateTables/{UNKNOWN}"), "", 404, "invalidUuidReference"),
            (Method::GET, "/nowhere", "", 404, "unsupported"),
            (Method::PUT, submit, "{}", 405, "unsupported"),
            (Method::POST, submit, &taken, 409, "duplicate"),
            (Method::POST, submit, &long, 413, "tooLarge"),
            (Method::POST, submit, r#"{"uuid":"17"}"#, invalid, "malformed"),
            (Method::GET, "/leads/universities", "", 422, "missing"),
            (Method::POST, "/uiEvent/offerDisplays", "{}", 400, "missing"),
        ] {
            let answer = ask(&daemon, edition, method, path, body).await;
            assert_failure(edition, &answer, status, error_type);
        }
    }
    let url = format!("{}{submit}", daemon.api);
    let form = [("content-type", "text/plain")];
    let answer = daemon.request_with(Method::POST, &url, &daemon.publishable, &form, "{}").await;
    assert_failure(Edition::Current, &answer, 415, "unsupported");
    assert_failure(
        Edition::Current,
        &daemon.request(Method::POST, &url, "", "{}").await,
        401,
        "unauthorized",
    );
}

#[tokio::test]
async fn a_service_at_its_limit_answers_5xx_and_says_when_to_come_again() {
    let silent =
        partner("silent").loan(r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#);
    let daemon = Daemon::with_partners(vec![silent]).setting("matching.pending_tables", "1").start().await;
    let lead = r#"{"productTypes":["loan"],"loanInformation":{"loanAmount":5000},
        "creditInformation":{"providedCreditRating":"good"}}"#;
    assert_eq!(daemon.submit(lead).await.status, 200);
    let refused = daemon.submit(lead).await;
    assert_failure(Edition::Current, &refused, 503, "unavailable");
    assert_eq!(refused.header("retry-after"), Some("1"));
}

#[tokio::test]
async fn the_attribute_is_omitted_when_the_error_is_tied_to_none() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let tied = daemon.submit(r#"{"uuid":"17"}"#).await.json();
    assert_eq!(tied[0]["attribute"], "uuid");
    for answer in [daemon.submit("[]").await, daemon.get("/nowhere").await] {
        assert_eq!(answer.json()[0].get("attribute"), None);
    }
}

#[tokio::test]
async fn details_are_strings_for_templates() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let error = daemon.get(&format!("/originator/rateTables/{UNKNOWN}")).await.json();
    assert_eq!(
        error,
        json!([{
            "message": format!("RateTable for UUID {UNKNOWN} does not exist"),
            "type": "invalidUuidReference",
            "details": {"referenceType": "RateTable", "specified": UNKNOWN},
        }])
    );
}

#[tokio::test]
async fn every_fault_is_told_in_one_answer() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let lead = json!({
        "uuid": "17",
        "personalInformation": {"email": "nobody", "ssn": "1"},
        "refinanceLoans": [{"loanAmount": 1}, {"loanAmount": "1"}],
    });
    for (edition, status) in [(Edition::Current, 422), (Edition::V1, 400)] {
        let answer = ask(&daemon, edition, Method::POST, "/leads/rateTables", &lead.to_string()).await;
        let attributes =
            ["uuid", "personalInformation.email", "personalInformation.ssn", "refinanceLoans[1].loanAmount"];
        assert_eq!((answer.status, answer.attributes()), (status, attributes.map(str::to_owned).to_vec()));
    }
}
