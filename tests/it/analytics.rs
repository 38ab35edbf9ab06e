//! The feeds over HTTP: their shape, their faults, and who may read them. Nothing here is an hour old.

use hyper::Method;
use serde_json::json;

use crate::kit::Daemon;
use crate::kit::partners::partner;

const FEEDS: [&str; 3] = ["leadEvents", "leadPayouts", "leadClientTags"];

async fn daemon() -> Daemon {
    Daemon::with_partners(vec![partner("bank").savings("")]).start().await
}

#[tokio::test]
async fn a_page_holds_nothing_that_is_not_an_hour_old() {
    let daemon = daemon().await;
    assert_eq!(daemon.submit(r#"{"clientTags":{"channel":["a","b"]}}"#).await.status, 200);
    for feed in FEEDS {
        let answer = daemon.get(&format!("/supplyAnalytics/{feed}?timestamp=2020-08-01T00:00:00Z")).await;
        assert_eq!(answer.status, 200, "{feed}");
        let page = answer.json();
        assert_eq!((&page["data"], &page["shouldContinuePolling"]), (&json!([]), &json!(false)), "{feed}");
    }
}

#[tokio::test]
async fn the_next_url_works_as_given() {
    let daemon = daemon().await;
    for feed in FEEDS {
        let answer = daemon.get(&format!("/supplyAnalytics/{feed}?timestamp=2019-01-01T00:00:00")).await;
        let next = answer.json()["nextUrl"].as_str().unwrap().to_owned();
        assert!(next.starts_with(&format!("{}/supplyAnalytics/{feed}?timestamp=", daemon.api)), "{next}");
        let followed = daemon.request(Method::GET, &next, &daemon.confidential, "").await;
        assert_eq!(followed.status, 200, "{next}");
    }
}

#[tokio::test]
async fn timestamps_are_read_as_clients_write_them() {
    let daemon = daemon().await;
    for time in
        ["2024-11-21T00:15:55.887852%2B0000", "2024-11-21T00:15:55.887852", "2024-11-21T00:15:55-05:00"]
    {
        let answer = daemon.get(&format!("/supplyAnalytics/leadEvents?timestamp={time}")).await;
        assert_eq!(answer.status, 200, "{time}");
    }
}

#[tokio::test]
async fn a_missing_timestamp_must_be_specified() {
    let daemon = daemon().await;
    for feed in FEEDS {
        let answer = daemon.get(&format!("/supplyAnalytics/{feed}")).await;
        assert_eq!(answer.status, 422);
        let error =
            json!({"attribute": "timestamp", "message": "timestamp must be specified", "type": "missing"});
        assert_eq!(answer.json(), json!([error]), "{feed}");
    }
}

#[tokio::test]
async fn a_malformed_timestamp_is_refused() {
    let daemon = daemon().await;
    let answer = daemon.get("/supplyAnalytics/leadEvents?timestamp=yesterday").await;
    assert_eq!((answer.status, answer.attributes()), (422, vec!["timestamp".to_owned()]));
    assert_eq!(answer.json()[0]["type"], "malformed");
}

#[tokio::test]
async fn a_timestamp_within_the_last_hour_is_told_the_latest_that_is_not() {
    let daemon = daemon().await;
    let answer = daemon.get("/supplyAnalytics/leadPayouts?timestamp=2999-01-01T00:00:00Z").await;
    assert_eq!((answer.status, answer.attributes()), (422, vec!["timestamp".to_owned()]));
    let error = &answer.json()[0];
    assert_eq!(
        (&error["type"], &error["details"]["specified"]),
        (&json!("malformed"), &json!("2999-01-01T00:00:00Z"))
    );
    let requirement = error["details"]["requirement"].as_str().unwrap();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("2999-01-01T00:00:00Z") && message.contains(requirement), "{message}");
    // What is asked for is accepted.
    let latest = requirement.strip_prefix("must be at or before ").unwrap();
    let accepted = daemon.get(&format!("/supplyAnalytics/leadPayouts?timestamp={latest}")).await;
    assert_eq!(accepted.status, 200);
}

#[tokio::test]
async fn the_feeds_take_a_confidential_token() {
    let daemon = daemon().await;
    for feed in FEEDS {
        let url = format!("{}/supplyAnalytics/{feed}?timestamp=2020-08-01T00:00:00Z", daemon.api);
        for token in [&daemon.publishable[..], ""] {
            assert_eq!(daemon.request(Method::GET, &url, token, "").await.status, 401, "{feed}");
        }
    }
}
