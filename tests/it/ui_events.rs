//! UI events: session starts and offer displays.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon};

const STRANGER: &str = "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77";
const SESSIONS: &str = "/uiEvent/sessionInits";
const DISPLAYS: &str = "/uiEvent/offerDisplays";

async fn daemon() -> Daemon {
    Daemon::with_partners(prompt_partners(2)).start().await
}

/// The ids of a table's first offer, as a display names them.
async fn shown(daemon: &Daemon) -> Value {
    let table = daemon.submit("{}").await.json();
    json!({
        "leadUuid": table["leadUuid"],
        "rateTableUuid": table["uuid"],
        "offerUuid": table["savingsOffers"][0]["uuid"],
    })
}

async fn display(daemon: &Daemon, shown: &Value) -> Answer {
    daemon.post(DISPLAYS, shown.to_string()).await
}

fn is_uuid(value: &Value) -> bool {
    value.as_str().is_some_and(|text| uuid::Uuid::try_parse(text).is_ok())
}

#[tokio::test]
async fn an_empty_body_begins_a_visit_whose_session_uuid_is_generated() {
    let daemon = daemon().await;
    for body in ["", "{}", r#"{"sessionUuid":null}"#] {
        let answer = daemon.post(SESSIONS, body).await;
        assert_eq!(answer.status, 201, "{body}");
        let session = answer.json();
        assert!(["uuid", "sessionUuid", "createdBy"].iter().all(|field| is_uuid(&session[field])));
        assert!(session["createdAt"].as_str().unwrap().ends_with('Z'), "{session}");
        assert!(session["id"].as_i64().is_some_and(|id| id > 0), "{session}");
    }
}

#[tokio::test]
async fn a_given_session_uuid_is_kept_and_ids_grow() {
    let daemon = daemon().await;
    let body = json!({"sessionUuid": STRANGER}).to_string();
    let first = daemon.post(SESSIONS, &body).await.json();
    let second = daemon.post(SESSIONS, &body).await.json();
    assert_eq!((&first["sessionUuid"], &second["sessionUuid"]), (&json!(STRANGER), &json!(STRANGER)));
    assert!(first["id"].as_i64() < second["id"].as_i64());
    assert_ne!(first["uuid"], second["uuid"]);
    assert_eq!(first["createdBy"], second["createdBy"]);
}

#[tokio::test]
async fn a_session_that_is_no_uuid_is_a_bad_request() {
    let daemon = daemon().await;
    let answer = daemon.post(SESSIONS, r#"{"sessionUuid":"17"}"#).await;
    assert_eq!((answer.status, answer.attributes()), (400, vec!["sessionUuid".to_owned()]));
    for body in ["{", "[]"] {
        assert_eq!(daemon.post(SESSIONS, body).await.status, 400, "{body}");
    }
}

#[tokio::test]
async fn ui_events_ask_for_a_token() {
    let daemon = daemon().await;
    for path in [SESSIONS, DISPLAYS] {
        let answer = daemon.request(Method::POST, &format!("{}{path}", daemon.api), "", "{}").await;
        assert_eq!(answer.status, 401, "{path}");
    }
}

#[tokio::test]
async fn the_display_of_an_offer_is_recorded() {
    let daemon = daemon().await;
    let shown = shown(&daemon).await;
    let answer = display(&daemon, &shown).await;
    assert_eq!(answer.status, 201);
    let record = answer.json();
    for field in ["leadUuid", "rateTableUuid", "offerUuid"] {
        assert_eq!(record[field], shown[field]);
    }
    assert!(is_uuid(&record["uuid"]) && is_uuid(&record["createdBy"]) && record["id"].is_i64(), "{record}");
    assert!(record["createdAt"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn every_missing_or_malformed_uuid_of_a_display_is_named() {
    let daemon = daemon().await;
    let answer = daemon.post(DISPLAYS, "{}").await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.attributes(), ["leadUuid", "rateTableUuid", "offerUuid"]);
    let answer = daemon.post(DISPLAYS, r#"{"leadUuid":"x","rateTableUuid":7,"offerUuid":"y"}"#).await;
    let mut attributes = answer.attributes();
    attributes.sort();
    assert_eq!((answer.status, attributes.len()), (400, 3), "{attributes:?}");
}

#[tokio::test]
async fn a_uuid_that_names_nothing_of_the_company_is_an_invalid_reference() {
    let daemon = daemon().await;
    let known = shown(&daemon).await;
    for field in ["leadUuid", "rateTableUuid", "offerUuid"] {
        let mut wrong = known.clone();
        wrong[field] = json!(STRANGER);
        let answer = display(&daemon, &wrong).await;
        assert_eq!((answer.status, answer.attributes()), (400, vec![field.to_owned()]));
        let error = &answer.json()[0];
        assert_eq!(error["type"], "invalidUuidReference");
        assert_eq!(error["details"]["specified"], STRANGER);
    }
    let all = json!({"leadUuid": STRANGER, "rateTableUuid": STRANGER, "offerUuid": STRANGER});
    assert_eq!(display(&daemon, &all).await.attributes(), ["leadUuid", "rateTableUuid", "offerUuid"]);
}

#[tokio::test]
async fn what_does_not_belong_together_is_not_displayed() {
    let daemon = daemon().await;
    let (one, two) = (shown(&daemon).await, shown(&daemon).await);
    let mixed = |field: &str| {
        let mut mixed = one.clone();
        mixed[field] = two[field].clone();
        mixed
    };
    assert_eq!(display(&daemon, &mixed("leadUuid")).await.attributes(), ["rateTableUuid"]);
    assert_eq!(display(&daemon, &mixed("offerUuid")).await.attributes(), ["offerUuid"]);
    let mut table = one.clone();
    table["offerUuid"] = one["rateTableUuid"].clone();
    assert_eq!(display(&daemon, &table).await.attributes(), ["offerUuid"], "a table is no offer");
}

#[tokio::test]
async fn another_company_has_none_of_it() {
    let daemon = daemon().await;
    let shown = shown(&daemon).await;
    let made = daemon.command(&["token", "create", "--company", "Another", "--kind", "publishable"]);
    let token = String::from_utf8(made.stdout).unwrap();
    let url = format!("{}{DISPLAYS}", daemon.api);
    let answer = daemon.request(Method::POST, &url, token.trim(), &shown.to_string()).await;
    assert_eq!((answer.status, answer.attributes().len()), (400, 3));
}

#[tokio::test]
async fn the_pixel_is_answered_without_a_token_whatever_the_path_says() {
    let daemon = daemon().await;
    let shown = shown(&daemon).await;
    let field = |name: &str| shown[name].as_str().unwrap().to_owned();
    let known = format!("{}/{}/{}", field("leadUuid"), field("rateTableUuid"), field("offerUuid"));
    let strangers = format!("{STRANGER}/{STRANGER}/{STRANGER}");
    let longer = format!("{known}/{known}");
    let paths =
        [&known, "a/b/c", "%00/%ff/%zz", &strangers, "%00/%20/17", "", "/", "//", "a//c", "a", &longer];
    for path in paths.into_iter().flat_map(|path| [format!("/{path}"), format!("/{path}/")]) {
        for query in ["", "?t=1", "?%zz"] {
            let url = format!("{}{DISPLAYS}{path}/pixel.gif{query}", daemon.api);
            let answer = daemon.request(Method::GET, &url, "", "").await;
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.header("content-type"), Some("image/gif"));
            assert_eq!(answer.header("cache-control"), Some("no-store, no-cache, must-revalidate"));
            assert_eq!(answer.header("pragma"), Some("no-cache"));
            assert!(answer.body.starts_with(b"GIF89a\x01\x00\x01\x00") && answer.body.ends_with(b"\x3b"));
        }
    }
    let shortest = format!("{}{DISPLAYS}/pixel.gif", daemon.api);
    assert_eq!(daemon.request(Method::GET, &shortest, "", "").await.status, 200);
    assert_eq!(daemon.request(Method::POST, &shortest, "", "").await.status, 405);
}

#[tokio::test]
async fn the_pixel_records_a_display_only_of_what_exists() {
    let daemon = daemon().await;
    let shown = shown(&daemon).await;
    let field = |name: &str| shown[name].as_str().unwrap().to_owned();
    let (lead, table, offer) = (field("leadUuid"), field("rateTableUuid"), field("offerUuid"));
    for path in [format!("{lead}/{table}/{offer}"), format!("{STRANGER}/{table}/{offer}")] {
        let url = format!("{}{DISPLAYS}/{path}/pixel.gif", daemon.api);
        assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 200);
    }
    let (_, stopped) = daemon.terminate();
    let store = stopped.plan.open_store();
    let displays = store.scan(offerd::store::Tree::OfferDisplays, []).map(|record| record.unwrap().1);
    let displays: Vec<Value> =
        displays.map(|bytes| offerd::store::codec::decode_json(&bytes).unwrap()).collect();
    assert_eq!(displays.len(), 1);
    assert_eq!(displays[0]["offerUuid"], json!(offer));
    assert!(is_uuid(&displays[0]["createdBy"]));
}
