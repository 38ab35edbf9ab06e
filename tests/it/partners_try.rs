//! `offerd partners try`: the requests to a partner, and how its answers are read.

use std::process::Output;

use serde_json::json;

use crate::kit::far_partners::{offers, slow_lender};
use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{PartnerFile, partner};
use crate::kit::{Daemon, Plan, sample};

/// What identifies the person of the sample lead, as it is and as mappings make it.
const PERSONAL: [&str; 10] = [
    "Maren",
    "Tolliver",
    "maren.tolliver",
    "2065550143",
    "4127 Fremont",
    "04/19/1987",
    "536-22-8714",
    "536228714",
    "Seattle",
    "98103",
];

fn tried(plan: &Plan, key: &str, lead: &str, flags: &[&str]) -> (Output, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), lead).unwrap();
    let arguments = [&["partners", "try", key, file.path().to_str().unwrap()], flags].concat();
    let output = plan.command(&arguments).output().unwrap();
    let shown = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output, String::from_utf8(shown).unwrap())
}

#[test]
fn the_request_is_shown_without_what_identifies_the_person() {
    let plan = Daemon::with_sample_partners();
    let (output, shown) = tried(&plan, "hazelmoor_lending", &sample("personal_loan"), &[]);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(
        shown.starts_with("POST https://sandbox.hazelmoor-lending.example/v2/prequalifications\n"),
        "{shown}"
    );
    for kept in
        ["x-api-key: ***", "\"requestedAmountCents\": 1000000", "\"state\": \"WA\"", "\"purpose\": \"DEBT\""]
    {
        assert!(shown.contains(kept), "{kept} is not in {shown}");
    }
    // The request's id is drawn at random: its digits say nothing about the person.
    let (fixed, random): (Vec<&str>, Vec<&str>) =
        shown.lines().partition(|line| !line.starts_with("x-request-id: "));
    assert_eq!(random.len(), 1, "{shown}");
    let fixed = fixed.join("\n");
    for personal in PERSONAL {
        assert!(!fixed.contains(personal), "{personal} is in {shown}");
    }
}

#[test]
fn whoever_asks_sees_the_person_and_never_the_secrets() {
    let plan = Daemon::with_sample_partners();
    let flags = ["--reveal", "--live"];
    let (output, shown) = tried(&plan, "hazelmoor_lending", &sample("personal_loan"), &flags);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.starts_with("POST https://api.hazelmoor-lending.example/"), "{shown}");
    for wanted in ["Maren", "04/19/1987", "536228714", "x-api-key: ***", "not sent: `--send` sends it"] {
        assert!(shown.contains(wanted), "{wanted} is not in {shown}");
    }
}

#[test]
fn a_token_is_shown_as_a_request_of_its_own() {
    let plan = Daemon::with_sample_partners();
    let (output, shown) = tried(&plan, "copperbrook_finance", &sample("personal_loan"), &[]);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for wanted in
        ["POST https://login.sandbox.copperbrook-finance.example", "client_secret=***", "Bearer ***"]
    {
        assert!(shown.contains(wanted), "{wanted} is not in {shown}");
    }
    assert!(!shown.contains("Maren") && !shown.contains("19870419"), "{shown}");
}

#[test]
fn nothing_is_sent_while_secrets_are_missing() {
    let plan = Daemon::with_sample_partners();
    let (output, shown) = tried(&plan, "hazelmoor_lending", &sample("personal_loan"), &["--send"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(shown.contains("nothing was sent: `secrets.api_key` cannot be read: the environment variable HAZELMOOR_API_KEY is not set"), "{shown}");
}

/// A paused lender that is sent a name and a secret.
fn lender(url: &str) -> PartnerFile {
    partner("far").and(&format!(
        r#"
[products.loan]
timeout = "20s"
paused = true

[[products.loan.offers]]
key = "far"
sub_type = "personal_loan"
landing_url = "https://far.example/apply?click={{clickId}}"
amount = {{ min = 1000, max = 50000 }}
terms = [24, 36]
apr_type = "fixed"
payout = {{ on = "funded", percent = 2.0 }}
conversion_probability = 0.1

[products.loan.http]
url = "http://127.0.0.1:1/live"
sandbox_url = "{url}"
secrets = {{ key = {{ env = "FAR_KEY" }} }}
headers = {{ X-Key = "secret.key" }}
json = {{ who = "lead.personalInformation.lastName|upper" }}
wire = {{ allow_addresses = ["127.0.0.1"] }}
answer = {{ declined = "response.no", error = "response.trouble", offer = {{ key = "'far'", term = "offer.term", apr = "offer.apr", pre_qualified = "true" }} }}
"#
    ))
}

async fn sent(answer: String, flags: &'static [&'static str]) -> (Option<i32>, String, Vec<String>) {
    let far = FarSide::start(move |_| Deed::Json(200, answer.clone())).await;
    let url = far.url("/quote");
    let command = tokio::task::spawn_blocking(move || {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), sample("personal_loan")).unwrap();
        let plan = Daemon::with_partners(vec![lender(&url)]);
        let arguments =
            [&["partners", "try", "far", file.path().to_str().unwrap(), "--send"], flags].concat();
        plan.command(&arguments).env("FAR_KEY", "k3y-of-ours").output().unwrap()
    });
    let output = command.await.unwrap();
    let shown = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let received = far.received().into_iter().map(|one| format!("{}\n{}", one.head, one.body)).collect();
    (output.status.code(), String::from_utf8(shown).unwrap(), received)
}

#[tokio::test]
async fn what_comes_back_is_shown_as_offers_and_hides_what_it_repeats() {
    let spelled: String = "k3y-of-ours".bytes().map(|byte| format!("&#{byte};")).collect();
    let answer = json!({"for": "Tolliver", "TOLLIVER": "k3y-of-ours", "spelled": spelled,
        "session": {"accessToken": ["t0k3n-of-theirs"]}, "offers": [
        {"term": 36, "apr": 9.5}, {"term": 99, "apr": 9.0},
    ]});
    let (code, shown, received) = sent(answer.to_string(), &[]).await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        received[0].contains("TOLLIVER") && received[0].contains("k3y-of-ours"),
        "the real ones are sent"
    );
    for wanted in ["200 OK after ", "9.5 % APR", "pre-qualified", "offer 1 is not shown"] {
        assert!(shown.contains(wanted), "{wanted} is not in {shown}");
    }
    let lower = shown.to_lowercase();
    for hidden in ["tolliver", "k3y-of-ours", &spelled, "t0k3n-of-theirs"] {
        assert!(!lower.contains(hidden), "{hidden}: {shown}");
    }
}

#[tokio::test]
async fn a_partner_that_would_call_back_is_asked_when_it_has_not_since_nobody_is_there_to_be_called() {
    let far = FarSide::start(|request| match request.head.starts_with("POST") {
        true => Deed::Json(202, json!({"id": "A7"}).to_string()),
        false => offers(),
    })
    .await;
    let slow = slow_lender(&far, "50ms").replaced("method = \"GET\"", "callback = true\nmethod = \"GET\"");
    let command = tokio::task::spawn_blocking(move || {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), sample("personal_loan")).unwrap();
        let arguments = ["partners", "try", "slow", file.path().to_str().unwrap(), "--send"];
        Daemon::with_partners(vec![slow]).command(&arguments).output().unwrap()
    });
    let output = command.await.unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && shown.contains("8.75"), "{shown} {output:?}");
}

#[tokio::test]
async fn a_decline_is_an_answer_and_garbage_is_none() {
    let (code, shown, _) = sent(json!({"no": "low_fico"}).to_string(), &["--reveal"]).await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("declined: low_fico") && shown.contains("TOLLIVER"), "{shown}");
    assert!(!shown.contains("k3y-of-ours"), "{shown}");
    let (code, shown, _) = sent(json!({"no": ["MOON", "Tolliver"]}).to_string(), &[]).await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("declined: its reason `MOON` is not in `answer.reasons`"), "{shown}");
    let (code, shown, _) = sent(json!({"trouble": "boom for Tolliver"}).to_string(), &[]).await;
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("the partner failed: the answer is an error: boom for ***"), "{shown}");
    let (code, shown, _) = sent("{".to_owned(), &[]).await;
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("the partner failed: the answer"), "{shown}");
    let (code, shown, received) = sent("{}".to_owned(), &["--live"]).await;
    assert_eq!((code, received.len()), (Some(1), 0), "nobody listens on the live side: {shown}");
}

#[test]
fn a_lead_that_would_not_be_asked_about_is_told_first() {
    let plan = Daemon::with_sample_partners();
    let mut lead: serde_json::Value = serde_json::from_str(&sample("mortgage_purchase")).unwrap();
    lead["mortgageInformation"].as_object_mut().unwrap().remove("propertyValue");
    let (output, shown) = tried(&plan, "fairholt_mortgage", &lead.to_string(), &[]);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let first = shown.lines().next().unwrap();
    assert_eq!(
        first,
        "the partner would not be asked about this lead: `mortgageInformation.propertyValue` is not given"
    );
    assert!(shown.contains("authorization: Basic ***\n"), "{shown}");
    let (_, shown) = tried(&plan, "fairholt_mortgage", &sample("personal_loan"), &[]);
    assert!(shown.contains("`productTypes` "), "{shown}");
    assert!(!tried(&plan, "fairholt_mortgage", &sample("mortgage_purchase"), &[]).1.contains("would not be"));
}

#[test]
fn stand_ins_are_told_once_and_only_where_there_are_any() {
    let plan = Daemon::with_sample_partners();
    let (_, shown) = tried(&plan, "hazelmoor_lending", &sample("personal_loan"), &[]);
    assert_eq!(shown.matches("are placeholders").count(), 1, "{shown}");
    let (_, shown) = tried(&plan, "hazelmoor_lending", &sample("personal_loan"), &["--reveal"]);
    assert!(!shown.contains("are placeholders"), "{shown}");
}

#[test]
fn a_partner_whose_file_prices_its_offers_has_nothing_to_try() {
    let plan = Daemon::with_sample_partners();
    let (output, shown) = tried(&plan, "larkhaven_mortgage", &sample("mortgage_purchase"), &[]);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(
        shown.contains(
            "larkhaven_mortgage has no `http`; its offers are priced by the file: see `offerd explain`"
        ),
        "{shown}"
    );
    let (_, shown) =
        tried(&plan, "fairholt_mortgage", &sample("mortgage_purchase"), &["--product", "savings"]);
    assert!(shown.contains("`fairholt_mortgage` has no such product type; it has mortgage"), "{shown}");
}

#[tokio::test]
async fn what_is_not_in_an_answer_is_told_with_what_is() {
    let (code, shown, _) = sent(json!({"quotes": [{"term": 36}], "for": "Jane"}).to_string(), &[]).await;
    assert_eq!(code, Some(1), "{shown}");
    for wanted in [
        "`answer.offers` (`response.offers`",
        "`answer.declined` (`response.no`",
        "`answer.error` (`response.trouble`",
    ] {
        let wanted = format!("{wanted}) is not in the answer; at its top there are for, quotes");
        assert!(shown.contains(&wanted), "{wanted} is not in {shown}");
    }
    let offers =
        json!({"offers": [{"term": 36, "aprr": 9.5}, {"term": 36, "apr": "9,5"}, {"term": 24, "apr": 8}]});
    let (_, shown, _) = sent(offers.to_string(), &[]).await;
    for wanted in [
        "offer 0: `offer.apr` is not in the answer; there are aprr, term",
        "offer 0 is not shown: it has no APR\n",
        "offer 1 is not shown: `answer.offer.apr`: must be a number from 0 to 400, got a text\n",
        "8 % APR",
    ] {
        assert!(shown.contains(wanted), "{wanted} is not in {shown}");
    }
    assert!(!shown.contains("answer.declined"), "an answer with offers needs no verdict: {shown}");
    let (_, shown, _) = sent(json!({"offers": [{"term": 36}]}).to_string(), &[]).await;
    assert!(shown.contains("offer 0 is not shown") && !shown.contains("answer.declined"), "{shown}");
}
