//! Look-ups of a page before a lead: universities and featured institutions.

use std::collections::BTreeSet;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::{PartnerFile, partner, prompt_partners};
use crate::kit::{Answer, Daemon, signal};

const FEATURED: &str = "/uiUtil/featuredFinancialInstitutions";

async fn daemon() -> Daemon {
    Daemon::with_partners(prompt_partners(1)).start().await
}

/// Asks as a page does, with the publishable token.
async fn look_up(daemon: &Daemon, path: &str) -> Answer {
    daemon.request(Method::GET, &format!("{}{path}", daemon.api), &daemon.publishable, "").await
}

async fn universities(daemon: &Daemon, query: &str) -> Vec<String> {
    let answer = look_up(daemon, &format!("/leads/universities?{query}")).await;
    assert_eq!(answer.status, 200, "{query}");
    serde_json::from_slice(&answer.body).unwrap()
}

/// The (attribute, type) pairs of an error array.
fn faults(answer: &Answer) -> Vec<(String, String)> {
    let text = |error: &Value, field: &str| error[field].as_str().unwrap_or_default().to_owned();
    let pair = |error: &Value| (text(error, "attribute"), text(error, "type"));
    answer.json().as_array().expect("errors are an array").iter().map(pair).collect()
}

fn featured(key: &str) -> PartnerFile {
    partner(key).and("featured = true\n").savings("")
}

#[tokio::test]
async fn universities_are_an_array_of_names() {
    let daemon = daemon().await;
    let answer = look_up(&daemon, "/leads/universities?limit=3&name=massachusetts+institute").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json(), json!(["Massachusetts Institute of Technology"]));
}

#[tokio::test]
async fn without_a_fragment_every_university_is_listed_page_by_page() {
    let daemon = daemon().await;
    let mut names: Vec<String> = Vec::new();
    loop {
        let page = universities(&daemon, &format!("limit=100&offset={}", names.len())).await;
        if page.is_empty() {
            break;
        }
        names.extend(page);
    }
    assert!(names.len() >= 2_000, "{}", names.len());
    let distinct: BTreeSet<&String> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "pages do not overlap");
}

#[tokio::test]
async fn a_fragment_is_found_whatever_its_case_and_diacritics() {
    let daemon = daemon().await;
    let plain = universities(&daemon, "limit=100&name=bayamon").await;
    assert!(plain.iter().any(|name| name.ends_with("Bayamón")), "{plain:?}");
    assert_eq!(universities(&daemon, "limit=100&name=BAYAM%C3%93N").await, plain);
}

#[tokio::test]
async fn a_fragment_is_taken_literally() {
    let daemon = daemon().await;
    for pattern in ["%25", "_", "*", ".*", "Harv.rd"] {
        let found = universities(&daemon, &format!("limit=100&name={pattern}")).await;
        assert_eq!(found, [""; 0], "{pattern}");
    }
    assert!(!universities(&daemon, "limit=100&name=A%26M").await.is_empty());
}

#[tokio::test]
async fn an_offset_past_the_end_gives_an_empty_array() {
    let daemon = daemon().await;
    assert_eq!(universities(&daemon, "limit=1&offset=9223372036854775807").await, [""; 0]);
}

#[tokio::test]
async fn limit_must_be_specified() {
    let answer = look_up(&daemon().await, "/leads/universities").await;
    assert_eq!(answer.status, 422);
    let message = "Query parameter limit must be specified";
    assert_eq!(answer.json(), json!([{"attribute": "limit", "message": message, "type": "missing"}]));
}

#[tokio::test]
async fn limit_is_an_integer_from_1_to_100() {
    let daemon = daemon().await;
    for limit in ["0", "101", "-1", "ten", "1.5", ""] {
        let answer = look_up(&daemon, &format!("/leads/universities?limit={limit}")).await;
        assert_eq!(answer.status, 422, "{limit}");
        assert_eq!(faults(&answer), [("limit".to_owned(), "malformed".to_owned())], "{limit}");
    }
    assert_eq!(universities(&daemon, "limit=1").await.len(), 1);
    assert_eq!(universities(&daemon, "limit=100").await.len(), 100);
}

#[tokio::test]
async fn all_faults_of_a_query_are_told_at_once() {
    let answer = look_up(&daemon().await, "/leads/universities?offset=-1").await;
    assert_eq!(answer.status, 422);
    let (offset, limit) = (("offset", "malformed"), ("limit", "missing"));
    let wanted = [offset, limit].map(|(name, fault)| (name.to_owned(), fault.to_owned()));
    assert_eq!(faults(&answer), wanted);
}

#[tokio::test]
async fn unknown_parameters_are_ignored() {
    let daemon = daemon().await;
    assert_eq!(universities(&daemon, "limit=2&page=7&utm_source=x").await.len(), 2);
}

#[tokio::test]
async fn look_ups_want_a_token() {
    let daemon = daemon().await;
    for path in ["/leads/universities?limit=1", FEATURED] {
        let url = format!("{}{path}", daemon.api);
        assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 401, "{path}");
        assert_eq!(daemon.get(path).await.status, 200, "a confidential token will do: {path}");
    }
}

#[tokio::test]
async fn both_editions_have_the_look_ups() {
    let daemon = daemon().await;
    let v1 = [("accept", "application/vnd.offerd.v1+json")];
    for path in ["/leads/universities?limit=1", FEATURED] {
        let url = format!("{}{path}", daemon.api);
        let answer = daemon.request_with(Method::GET, &url, &daemon.publishable, &v1, "").await;
        assert_eq!(answer.status, 200, "{path}");
    }
}

#[tokio::test]
async fn featured_institutions_are_listed_by_name() {
    let partners = vec![featured("zinc").loan(""), partner("plain").savings(""), featured("amber")];
    let daemon = Daemon::with_partners(partners).start().await;
    let answer = look_up(&daemon, FEATURED).await;
    assert_eq!(answer.status, 200);
    let institutions = answer.json();
    let names: Vec<_> = institutions.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["amber", "zinc"], "each once, whatever the number of its products");
    assert_eq!(institutions[0]["logoUrl"], "https://images.amber.example/logo.png");
    assert!(institutions[0]["uuid"].is_string());
}

#[tokio::test]
async fn a_featured_institution_has_the_uuid_of_the_institution() {
    let uuid = "a433a5f0-b591-434c-b11b-c70eecb847b2";
    let own = format!("financial_institution_uuid = \"{uuid}\"\n");
    let partners = vec![featured("bank"), partner("cards").and("featured = true\n").and(&own).savings("")];
    let daemon = Daemon::with_partners(partners).start().await;
    let institutions = look_up(&daemon, FEATURED).await.json();
    assert_eq!(institutions[1]["name"], "cards");
    assert_eq!(institutions[1]["uuid"], uuid);
}

#[tokio::test]
async fn partners_of_one_institution_are_listed_once() {
    let shared = "featured = true\nfinancial_institution_uuid = \"a433a5f0-b591-434c-b11b-c70eecb847b2\"\n";
    let partners = ["loans", "cards"].map(|key| partner(key).and(shared).savings(""));
    let daemon = Daemon::with_partners(partners.into()).start().await;
    assert_eq!(look_up(&daemon, FEATURED).await.json().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn nobody_featured_is_an_empty_array() {
    assert_eq!(look_up(&daemon().await, FEATURED).await.json(), json!([]));
}

#[tokio::test]
async fn featured_institutions_follow_the_partner_files() {
    let daemon = daemon().await;
    featured("newcomer").write(daemon.partners());
    signal(daemon.pid(), "HUP");
    daemon.logged("partners reloaded").await;
    assert_eq!(look_up(&daemon, FEATURED).await.json()[0]["name"], "newcomer");
}
