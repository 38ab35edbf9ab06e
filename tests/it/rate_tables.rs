//! Submitting a lead, blocking on its rate table, polling it, and every fault on the way.

use std::collections::BTreeMap;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::Daemon;
use crate::kit::far_partners::explained;
use crate::kit::partners::{partner, prompt_partners};

const ARRAYS: [&str; 7] = [
    "creditCardOffers",
    "loanOffers",
    "mortgageOffers",
    "savingsOffers",
    "specialOffers",
    "pendingOriginators",
    "pendingResponses",
];

const LOAN: &str = r#"{
    "productTypes": ["loan"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

#[tokio::test]
async fn partners_that_answer_at_once_are_in_the_first_answer() {
    let daemon = Daemon::with_partners(prompt_partners(20)).start().await;
    let answer = daemon.submit(r#"{"productTypes":["savings"]}"#).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("request-id").is_some());
    assert_eq!(answer.header("retry-after"), None);
    let table = answer.json();
    assert_eq!(table["savingsOffers"].as_array().unwrap().len(), 20);
    assert!(ARRAYS.iter().all(|array| table[array].is_array()), "{table}");
}

/// What a lead costs the disk. A change more is a few microseconds more of each lead.
#[tokio::test]
async fn a_lead_whose_partners_answer_at_once_is_five_changes() {
    let daemon = Daemon::with_partners(prompt_partners(20)).start().await;
    let lead = r#"{"productTypes":["savings"]}"#;
    let before = changes(&daemon).await;
    for _ in 0..10 {
        assert_eq!(daemon.submit(lead).await.status, 200);
    }
    let mut made = changes(&daemon).await;
    for (tree, count) in &before {
        made.entry(tree.clone()).and_modify(|made| *made -= count);
    }
    // The store writes to `meta` once a group, and the clock a few charts and alerts, fewer than one for each lead.
    let by_the_clock = |tree: &str, count: u64| ["charts", "alerts"].contains(&tree) && count < 10;
    made.retain(|tree, count| *count > 0 && tree != "meta" && !by_the_clock(tree, *count));
    let five = ["answers", "lead_events", "lead_keys", "leads", "rate_tables"];
    assert_eq!(made, five.map(|tree| (tree.to_owned(), 10)).into());
}

/// How many changes were made to the records of each tree.
async fn changes(daemon: &Daemon) -> BTreeMap<String, u64> {
    let metrics = daemon.metrics().await;
    let lines = metrics.lines().filter_map(|line| line.strip_prefix("offerd_store_changes_total{tree=\""));
    let counts = lines.filter_map(|line| line.split_once("\"} "));
    counts.map(|(tree, count)| (tree.to_owned(), count.parse().unwrap())).collect()
}

#[tokio::test]
async fn a_lead_that_fits_nobody_has_a_complete_empty_table() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit(r#"{"productTypes":["mortgage"]}"#).await.json();
    assert!(ARRAYS.iter().all(|array| table[array] == json!([])), "{table}");
}

#[tokio::test]
async fn no_field_is_required_and_no_product_type_means_all() {
    let daemon =
        Daemon::with_partners(vec![partner("one").savings("").loan("").second_look(1.0, "")]).start().await;
    let table = daemon.submit("{}").await.json();
    assert_eq!(table["savingsOffers"].as_array().unwrap().len(), 1);
    assert_eq!(table["loanOffers"], json!([]), "its needs are not met");
}

#[tokio::test]
async fn a_personal_loan_is_priced_for_the_lead() {
    let daemon = Daemon::with_partners(vec![partner("lender").loan("")]).start().await;
    let table = daemon.submit(LOAN).await.json();
    let offer = &table["loanOffers"][0];
    assert_eq!(table["loanAmount"], 10_000);
    assert_eq!(offer["maxMonthlyPayment"], 308.77);
    assert_eq!(offer["monthlyPayment"], 308.77);
    assert_eq!((&offer["minApr"], &offer["maxApr"], &offer["meanApr"]), (&json!(7), &json!(7), &json!(7)));
    assert_eq!(offer["maxTotalPayment"], 11_115.72);
    assert_eq!((&offer["preQualified"], &offer["preApproved"]), (&json!(true), &json!(false)));
    assert_eq!((&offer["termLength"], &offer["termUnit"]), (&json!(36), &json!("month")));
    assert_eq!(offer["recommendationScore"], 8.0, "0.1 × $100 × 0.80");
    assert_eq!(offer["originator"]["key"], "lender");
    assert!(!offer["originator"]["images"].as_array().unwrap().is_empty());
    let url = offer["url"].as_str().unwrap();
    assert_eq!(url, format!("{}/click/{}", daemon.api, offer["uuid"].as_str().unwrap()));
}

#[tokio::test]
async fn offers_are_ranked_by_score_and_equal_ones_stay_in_their_order() {
    let mut partners = prompt_partners(3);
    partners.push(partner("special").and(
        r#"
[products.insurance]
timeout = "1s"
offers = [
  { key = "low", name = "low", description = "d", landing_url = "https://a.example/", payout = { on = "click", fixed = 1.0 }, conversion_probability = 0.5 },
  { key = "high", name = "high", description = "d", landing_url = "https://a.example/", payout = { on = "click", fixed = 9.0 }, conversion_probability = 0.5 },
  { key = "same", name = "same", description = "d", landing_url = "https://a.example/", payout = { on = "click", fixed = 9.0 }, conversion_probability = 0.5 },
]
"#,
    ));
    let daemon = Daemon::with_partners(partners).start().await;
    let table = daemon.submit(r#"{"productTypes":["insurance"]}"#).await.json();
    let names: Vec<&str> = table["specialOffers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|offer| offer["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["high", "same", "low"]);
}

#[tokio::test]
async fn a_slow_partner_is_pending_until_it_answers() {
    let slow = partner("slow").loan(r#"simulate = { delay = "2s" }"#);
    let daemon = Daemon::with_partners(vec![slow, partner("prompt").loan("")]).start().await;
    let answer = daemon.submit(LOAN).await;
    assert_eq!(answer.header("retry-after"), Some("1"));
    let first = answer.json();
    assert_eq!(first["loanOffers"].as_array().unwrap().len(), 1);
    assert_eq!(first["pendingResponses"][0]["partner"]["name"], "slow");
    assert_eq!(first["pendingResponses"][0]["productTypes"], json!(["loan"]));
    assert_eq!(first["pendingOriginators"][0]["key"], "slow");

    let complete = daemon.complete(first["uuid"].as_str().unwrap()).await;
    assert_eq!(complete["loanOffers"].as_array().unwrap().len(), 2);
    assert_eq!(complete["pendingOriginators"], json!([]));
}

#[tokio::test]
async fn the_blocking_answer_is_complete_and_equals_a_later_poll() {
    let slow = partner("slow").loan(r#"simulate = { delay = "300ms" }"#);
    let daemon = Daemon::with_partners(vec![slow, partner("prompt").loan("")]).start().await;
    let blocking = daemon.submit_blocking(LOAN).await;
    assert_eq!(blocking.status, 200);
    let table = blocking.json();
    assert_eq!(table["pendingResponses"], json!([]));
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 2);
    assert_eq!(daemon.rate_table(table["uuid"].as_str().unwrap()).await.body, blocking.body);
}

#[tokio::test]
async fn a_partner_that_fails_panics_or_stays_silent_hangs_nothing_and_adds_nothing() {
    let failing =
        |kind: &str| format!(r#"simulate = {{ delay = "1ms", failure_rate = 1.0, failure = "{kind}" }}"#);
    let mut partners: Vec<_> =
        ["error", "panic", "silence"].iter().map(|kind| partner(kind).loan(&failing(kind))).collect();
    partners.push(partner("prompt").loan(""));
    let daemon = Daemon::with_partners(partners).setting("matching.deadline", "1500ms").start().await;
    let table = daemon.submit_blocking(LOAN).await.json();
    assert_eq!(table["pendingResponses"], json!([]));
    let offers = table["loanOffers"].as_array().unwrap();
    assert_eq!(offers.len(), 1);
    assert_eq!(offers[0]["originator"]["key"], "prompt");
    let why = explained(&daemon, &table);
    assert!(why.contains("simulated failure"), "{why}");
    assert_eq!(daemon.submit_blocking(LOAN).await.status, 200, "the daemon lives on");

    let url = format!("{}/metrics", daemon.admin);
    let metrics = daemon.request(Method::GET, &url, "", "").await;
    let metrics = String::from_utf8(metrics.body.to_vec()).unwrap();
    for (partner, outcome) in
        [("error", "refused"), ("panic", "panicked"), ("silence", "timed_out"), ("prompt", "offers")]
    {
        let counted = metrics.lines().any(|line| {
            line.starts_with("offerd_partner_outcomes_total")
                && line.contains(&format!("partner=\"{partner}\""))
                && line.contains(&format!("outcome=\"{outcome}\""))
                && line.ends_with(" 2")
        });
        assert!(counted, "{partner}: {metrics}");
    }
}

#[tokio::test]
async fn our_own_time_is_told_apart_from_that_of_partners() {
    let slow = partner("slow").loan(r#"simulate = { delay = "2s" }"#);
    let daemon = Daemon::with_partners(vec![slow]).setting("matching.deadline", "60s").start().await;
    assert_eq!(daemon.submit_blocking(LOAN).await.status, 200);
    let metrics = daemon.request(Method::GET, &format!("{}/metrics", daemon.admin), "", "").await;
    let metrics = String::from_utf8(metrics.body.to_vec()).unwrap();
    for line in [
        "offerd_rate_table_overhead_seconds_bucket{le=\"2\"} 1",
        "offerd_rate_table_budget_left_seconds_bucket{le=\"30\"} 0",
        "offerd_rate_table_budget_left_seconds_count 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn an_unchanged_table_is_not_sent_again() {
    let slow = partner("slow").loan(r#"simulate = { delay = "2s" }"#);
    let daemon = Daemon::with_partners(vec![slow]).start().await;
    let table = daemon.submit(LOAN).await.json();
    let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
    let pending = daemon.get(&path).await;
    let tag = pending.header("etag").unwrap().to_owned();
    assert!(tag.starts_with('"'), "a strong tag: {tag}");
    let unchanged = daemon.get_if_none_match(&path, &tag).await;
    assert_eq!((unchanged.status, unchanged.body.len()), (304, 0));
    assert_eq!(unchanged.header("etag"), Some(tag.as_str()));

    daemon.complete(table["uuid"].as_str().unwrap()).await;
    let changed = daemon.get_if_none_match(&path, &tag).await;
    assert_eq!(changed.status, 200);
    let complete = changed.header("etag").unwrap();
    assert_ne!(complete, tag);
    assert_eq!(changed.header("retry-after"), None);

    let held = daemon.get_if_none_match(&path, complete).await;
    assert_eq!((held.status, held.body.len()), (304, 0));
    for name in ["etag", "cache-control"] {
        assert_eq!(held.header(name), changed.header(name), "{name}");
    }
    let other = daemon.command(&["token", "create", "--company", "Other", "--kind", "confidential"]);
    let other = String::from_utf8(other.stdout).unwrap();
    let other = other.split_whitespace().find(|word| word.len() == 73).expect("a token is printed");
    let (url, headers) = (format!("{}{path}", daemon.api), [("if-none-match", complete)]);
    assert_eq!(daemon.request_with(Method::GET, &url, other, &headers, "").await.status, 404);
}

#[tokio::test]
async fn every_bad_attribute_is_named_in_one_answer_without_its_value() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let body = json!({
        "productTypes": ["loan", "yacht"],
        "personalInformation": {"dateOfBirth": "1.2.1980", "ssn": "078-05-1120", "email": "nobody"},
        "refinanceLoans": [{}, {"interestRate": "high"}],
        "unknown": {"ignored": true},
        "loanInformation": {"loanAmount": 10000.5},
    });
    let answer = daemon.submit(body.to_string()).await;
    assert_eq!(answer.status, 422);
    let mut attributes = answer.attributes();
    attributes.sort();
    assert_eq!(
        attributes,
        [
            "loanInformation.loanAmount",
            "personalInformation.dateOfBirth",
            "personalInformation.email",
            "personalInformation.ssn",
            "productTypes[1]",
            "refinanceLoans[1].interestRate",
        ]
    );
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    assert!(
        !text.contains("078-05-1120") && !text.contains("nobody") && !text.contains("1.2.1980"),
        "{text}"
    );
}

#[tokio::test]
async fn input_is_read_as_clients_really_write_it() {
    let daemon = Daemon::with_partners(vec![partner("lender").loan("")]).start().await;
    let body = "\u{feff}{
        \"productTypes\": [\"loan\"],
        \"loanInformation\": {\"loanAmount\": 10000.0, \"purpose\": \"\"},
        \"creditInformation\": {\"providedCreditRating\": \"good\", \"providedNumericCreditScore\": null},
        \"personalInformation\": {},
        \"clientTags\": {\"campaign\": []},
        \"somethingNew\": [1, 2, 3]
    }";
    let answer = daemon.submit(body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["loanOffers"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_not_a_lead_at_all_is_a_bad_request() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    for body in ["", "{", "[]", "\"lead\"", "null", "{\"a\":}", &"[".repeat(60_000)] {
        let answer = daemon.submit(body).await;
        assert_eq!(answer.status, 400, "{body:.20}");
        assert!(String::from_utf8(answer.body.to_vec()).unwrap().starts_with(r#"[{"message":"#));
    }
    let url = format!("{}/leads/rateTables", daemon.api);
    let invalid = [b'{', b'"', 0xff, b'"', b':', b'1', b'}'].to_vec();
    let answer = daemon.request_with(Method::POST, &url, &daemon.publishable, &[], invalid).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn requests_that_do_not_fit_the_interface_are_told_so() {
    let daemon =
        Daemon::with_partners(prompt_partners(1)).setting("api.max_body_bytes", "2048").start().await;
    let url = |path: &str| format!("{}{path}", daemon.api);
    let token = daemon.publishable.as_str();
    let status = async |method, path: &str, token: &str, headers: &[(&str, &str)], body: String| {
        let answer = daemon.request_with(method, &url(path), token, headers, body).await;
        let errors = answer.json();
        assert!(errors.as_array().is_some_and(|errors| !errors.is_empty()), "{path}: {errors}");
        assert!(answer.header("request-id").is_some());
        (answer.status, answer.header("allow").map(str::to_owned))
    };

    let empty = String::new;
    assert_eq!(status(Method::GET, "/nowhere", token, &[], empty()).await.0, 404);
    let (not_allowed, allow) = status(Method::PUT, "/leads/rateTables", token, &[], empty()).await;
    assert_eq!((not_allowed, allow.as_deref()), (405, Some("OPTIONS, POST")));
    let long = format!(r#"{{"deviceId":"{}"}}"#, "x".repeat(4096));
    assert_eq!(status(Method::POST, "/leads/rateTables", token, &[], long).await.0, 413);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(status(Method::POST, "/leads/rateTables", token, &form, "a=b".to_owned()).await.0, 415);
    assert_eq!(status(Method::GET, "/originator/rateTables/17", token, &[], empty()).await.0, 400);
    let unknown = "/originator/rateTables/0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77";
    assert_eq!(status(Method::GET, unknown, token, &[], empty()).await.0, 404);
    assert_eq!(status(Method::GET, unknown, "", &[], empty()).await.0, 401);
    let stranger = "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77_0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b78";
    assert_eq!(status(Method::GET, unknown, stranger, &[], empty()).await.0, 401);
}

#[tokio::test]
async fn browsers_of_other_origins_may_call() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let url = format!("{}/leads/rateTables", daemon.api);
    let origin = ("origin", "https://shop.example");
    let asks = [
        origin,
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,x-vendor"),
    ];
    let preflight = daemon.request_with(Method::OPTIONS, &url, "", &asks, "").await;
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://shop.example"));
    assert_eq!(preflight.header("access-control-allow-credentials"), Some("true"));
    assert_eq!(preflight.header("access-control-allow-headers"), Some("authorization,x-vendor"));

    let answer = daemon.request_with(Method::POST, &url, &daemon.publishable, &[origin], "{}").await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://shop.example"));
    assert!(answer.header("access-control-expose-headers").unwrap().to_lowercase().contains("etag"));
}

#[tokio::test]
async fn beyond_the_limit_of_pending_tables_a_submit_is_refused_at_once() {
    let silent =
        partner("silent").loan(r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#);
    let daemon = Daemon::with_partners(vec![silent]).setting("matching.pending_tables", "2").start().await;
    for _ in 0..2 {
        assert_eq!(daemon.submit(LOAN).await.status, 200);
    }
    let refused = daemon.submit(LOAN).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
}

#[tokio::test]
async fn each_table_is_its_own_and_each_offer_has_one_uuid() {
    let daemon = Daemon::with_partners(prompt_partners(5)).start().await;
    let mut uuids = Vec::new();
    for _ in 0..5 {
        let table = daemon.submit("{}").await.json();
        uuids.push(table["uuid"].clone());
        uuids.extend(
            table["savingsOffers"].as_array().unwrap().iter().map(|offer: &Value| offer["uuid"].clone()),
        );
    }
    let mut distinct: Vec<&str> = uuids.iter().map(|uuid| uuid.as_str().unwrap()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 30);
}

const AGENCY: &str = r#"
[products.insurance]
timeout = "2s"

[[products.insurance.offers]]
key = "home"
sub_type = "education_offers"
name = "A home insured"
description = "Rebuilt as it was."
landing_url = "https://agency.example/home?click={clickId}"
payout = { on = "click", fixed = 9.0 }
conversion_probability = 1.0
disclaimer = "Not in all states."

[[products.insurance.offers]]
key = "else"
name = "Something else insured"
description = "Ask us."
landing_url = "https://agency.example/else?click={clickId}"
payout = { on = "click", fixed = 5.0 }
conversion_probability = 1.0
"#;

/// Clients that refuse an answer without it raise on the whole table.
#[tokio::test]
async fn a_special_offer_has_its_sub_type_and_what_must_be_said_with_it() {
    let daemon = Daemon::with_partners(vec![partner("agency").and(AGENCY)]).start().await;
    let table = daemon.submit_blocking(r#"{"productTypes":["insurance"]}"#).await.json();
    let told = |nth: usize| {
        let offer = &table["specialOffers"][nth];
        (offer["productSubType"].clone(), offer.get("disclaimer").cloned())
    };
    assert_eq!(told(0), (json!("education_offers"), Some(json!("Not in all states."))));
    assert_eq!(told(1), (json!("uncategorized"), None));
}
