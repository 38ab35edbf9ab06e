//! Authentication.

use hyper::Method;

use super::schema::{Edition, assert_conforms};
use super::{UNKNOWN, lead_path};
use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon};

/// Every endpoint of the specification that asks for a token, and whether it has to be a confidential one.
const ENDPOINTS: [(&str, &str, bool); 14] = [
    ("POST", "/leads/rateTables", false),
    ("GET", "/originator/rateTables/{uuid}", false),
    ("GET", "/leads/{uuid}", true),
    ("GET", "/offerPreview/loanOffers", false),
    ("GET", "/offerPreview/creditCardOffers", false),
    ("GET", "/offerPreview/savingsOffers", false),
    ("GET", "/supplyAnalytics/leadEvents", true),
    ("GET", "/supplyAnalytics/leadPayouts", true),
    ("GET", "/supplyAnalytics/leadClientTags", true),
    ("POST", "/uiEvent/sessionInits", false),
    ("POST", "/uiEvent/offerDisplays", false),
    ("GET", "/leads/universities", false),
    ("GET", "/uiUtil/featuredFinancialInstitutions", false),
    ("POST", "{integrations}/blocking/leads/rateTables", false),
];

async fn daemon() -> Daemon {
    Daemon::with_partners(prompt_partners(1)).start().await
}

async fn send(daemon: &Daemon, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let url = match path.strip_prefix("{integrations}") {
        Some(path) => format!("{}{path}", daemon.integrations),
        None => format!("{}{}", daemon.api, path.replace("{uuid}", UNKNOWN)),
    };
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    daemon.request_with(method, &url, "", headers, "{}").await
}

#[track_caller]
fn assert_unauthorized(answer: &Answer, why: &str) {
    assert_eq!(answer.status, 401, "{why}");
    assert_conforms(Edition::Current, "ApiErrors", &answer.json());
    assert_eq!(answer.json()[0]["type"], "unauthorized", "{why}");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{why}");
}

fn token(daemon: &Daemon, arguments: &[&str]) -> String {
    let arguments = [&["token", "create", "--company", "Acme"], arguments].concat();
    String::from_utf8(daemon.command(&arguments).stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn every_request_must_be_authenticated() {
    let daemon = daemon().await;
    for (method, path, _) in ENDPOINTS {
        let missing = send(&daemon, method, path, &[]).await;
        assert_unauthorized(&missing, path);
        assert_eq!(missing.json()[0]["message"], "Access token is missing");
        let stranger = format!("Bearer {UNKNOWN}_{UNKNOWN}");
        assert_unauthorized(&send(&daemon, method, path, &[("authorization", &stranger)]).await, path);
    }
}

#[tokio::test]
async fn a_publishable_token_opens_what_an_application_needs_and_a_confidential_one_opens_all() {
    let daemon = daemon().await;
    for (method, path, confidential) in ENDPOINTS {
        let publishable = format!("Bearer {}", daemon.publishable);
        let answer = send(&daemon, method, path, &[("authorization", &publishable)]).await;
        if confidential {
            assert_unauthorized(&answer, path);
        } else {
            assert_ne!(answer.status, 401, "{path}");
        }
        let confidential = format!("Bearer {}", daemon.confidential);
        assert_ne!(
            send(&daemon, method, path, &[("authorization", &confidential)]).await.status,
            401,
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_header_is_the_word_bearer_one_space_and_the_token() {
    let daemon = daemon().await;
    let token = daemon.publishable.clone();
    let sent = async |authorization: &str| {
        send(&daemon, "GET", "/leads/universities?limit=1", &[("authorization", authorization)]).await
    };
    assert_eq!(sent(&format!("Bearer {token}")).await.status, 200);
    for authorization in [
        format!("Bearer  {token}"),
        format!("Bearer\t{token}"),
        format!("Bearer{token}"),
        format!("Bearer: {token}"),
        format!("Bearer {token} x"),
        format!("Bearer {token},"),
        format!("Bearer \"{token}\""),
        format!("Basic {token}"),
        format!("Token {token}"),
        token.clone(),
        "Bearer".to_owned(),
        "Bearer null".to_owned(),
        String::new(),
    ] {
        assert_unauthorized(&sent(&authorization).await, &authorization);
    }
    let twice = format!("Bearer {token}");
    let headers = [("authorization", twice.as_str()), ("authorization", twice.as_str())];
    assert_unauthorized(&send(&daemon, "GET", "/leads/universities?limit=1", &headers).await, "two headers");
}

#[tokio::test]
async fn a_token_is_two_uuids_joined_by_an_underscore() {
    let daemon = daemon().await;
    let made = token(&daemon, &["--kind", "publishable"]);
    let (first, second) = made.split_once('_').unwrap();
    for uuid in [first, second] {
        assert_eq!((uuid.len(), uuid::Uuid::try_parse(uuid).is_ok()), (36, true), "{uuid}");
    }
    for wrong in [
        first.to_owned(),
        format!("{first}{second}"),
        format!("{first}-{second}"),
        format!("{first}_{second}_{second}"),
        format!("{second}_{first}"),
        made.replace('-', ""),
        format!("{first}_"),
        format!("_{second}"),
    ] {
        let header = format!("Bearer {wrong}");
        let answer = send(&daemon, "GET", "/leads/universities?limit=1", &[("authorization", &header)]).await;
        assert_unauthorized(&answer, &wrong);
        assert!(!String::from_utf8_lossy(&answer.body).contains(first), "no error repeats a token");
    }
}

#[tokio::test]
async fn a_lead_created_with_a_test_token_is_a_test() {
    let daemon = daemon().await;
    for (test, wanted) in [(vec!["--test"], true), (vec![], false)] {
        let token = token(&daemon, &[vec!["--kind", "confidential"], test].concat());
        let url = format!("{}/leads/rateTables", daemon.api);
        let table = daemon.request(Method::POST, &url, &token, "{}").await.json();
        let url = format!("{}{}", daemon.api, lead_path(&table));
        let lead = daemon.request(Method::GET, &url, &token, "").await.json();
        assert_eq!(lead["isTest"], wanted);
    }
}

#[tokio::test]
async fn a_token_that_was_revoked_is_invalid() {
    let daemon = daemon().await;
    let made = token(&daemon, &["--kind", "publishable"]);
    let header = format!("Bearer {made}");
    let look_up =
        async || send(&daemon, "GET", "/leads/universities?limit=1", &[("authorization", &header)]).await;
    assert_eq!(look_up().await.status, 200);
    let listed = daemon.command(&["token", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let of_acme = listed.as_array().unwrap().iter().find(|token| token["company"] == "Acme");
    let id = of_acme.unwrap_or_else(|| panic!("{listed}"))["id"].as_str().unwrap();
    assert!(daemon.command(&["token", "revoke", id]).status.success());
    assert_unauthorized(&look_up().await, "revoked");
}
