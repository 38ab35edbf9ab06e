//! Long polls and streams of changes to a rate table.

use std::time::Duration;

use hyper::Method;
use serde_json::Value;

use crate::embed::age;
use crate::kit::Daemon;
use crate::kit::partners::partner;

const LOAN: &str = r#"{
    "productTypes": ["loan"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

async fn daemon() -> Daemon {
    let slow =
        |name: &str, delay: &str| partner(name).loan(&format!(r#"simulate = {{ delay = "{delay}" }}"#));
    Daemon::with_partners(vec![slow("first", "400ms"), slow("second", "900ms"), partner("prompt").loan("")])
        .start()
        .await
}

#[tokio::test]
async fn a_client_that_prefers_to_wait_gets_the_next_change() {
    let daemon = daemon().await;
    let submitted = daemon.submit(LOAN).await;
    assert!(submitted.header("table-deadline").unwrap().ends_with('Z'));
    let table = submitted.json();
    let url = format!("{}/originator/rateTables/{}", daemon.api, table["uuid"].as_str().unwrap());
    let mut tag = submitted.header("etag").unwrap().to_owned();
    let mut offers = table["loanOffers"].as_array().unwrap().len();
    while offers < 3 {
        let headers = [("prefer", "wait=30"), ("if-none-match", tag.as_str())];
        let changed = daemon.request_with(Method::GET, &url, &daemon.publishable, &headers, "").await;
        assert_eq!(changed.status, 200);
        let now = changed.json()["loanOffers"].as_array().unwrap().len();
        assert!(now > offers, "a wait returns what is new");
        (offers, tag) = (now, changed.header("etag").unwrap().to_owned());
    }
    let headers = [("prefer", "wait=30"), ("if-none-match", tag.as_str())];
    let complete = daemon.request_with(Method::GET, &url, &daemon.publishable, &headers, "").await;
    assert_eq!(
        (complete.status, complete.header("table-deadline")),
        (304, None),
        "a complete table never changes"
    );
}

#[tokio::test]
async fn a_submit_that_prefers_to_wait_is_answered_once_the_table_is_complete() {
    let daemon = daemon().await;
    let url = format!("{}/leads/rateTables", daemon.api);
    let post = async |url: &str, headers: &[(&str, &str)]| {
        daemon.request_with(Method::POST, url, &daemon.publishable, headers, LOAN).await.json()
    };
    let pending = |table: &Value| table["pendingResponses"].as_array().unwrap().len();
    let new = post(&url, &[("prefer", "wait=30")]).await;
    assert_eq!((pending(&new), new["loanOffers"].as_array().unwrap().len()), (0, 3));
    let more = format!("{}/leads/{}/rateTables", daemon.api, new["leadUuid"].as_str().unwrap());
    assert_eq!(pending(&post(&more, &[("prefer", "wait=30")]).await), 0);
    let at_once = post(&url, &[("prefer", "wait=0"), ("idempotency-key", "k")]).await;
    let again = post(&url, &[("prefer", "wait=30"), ("idempotency-key", "k")]).await;
    assert_eq!((&again["uuid"], pending(&again)), (&at_once["uuid"], 0), "a repeat waits alike");
}

#[tokio::test]
async fn a_submit_waits_no_longer_than_it_prefers() {
    let silent =
        partner("silent").loan(r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#);
    let daemon = Daemon::with_partners(vec![silent]).start().await;
    let url = format!("{}/leads/rateTables", daemon.api);
    let submitted =
        daemon.request_with(Method::POST, &url, &daemon.publishable, &[("prefer", "wait=1")], LOAN).await;
    assert_eq!((submitted.status, submitted.header("retry-after")), (200, Some("1")));
    assert_eq!(submitted.json()["pendingResponses"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_wait_that_ends_without_a_change_is_not_modified() {
    let silent =
        partner("silent").loan(r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#);
    let daemon = Daemon::with_partners(vec![silent]).start().await;
    let submitted = daemon.submit(LOAN).await;
    let url = format!("{}/originator/rateTables/{}", daemon.api, submitted.json()["uuid"].as_str().unwrap());
    let headers = [("prefer", "wait=1"), ("if-none-match", submitted.header("etag").unwrap())];
    assert_eq!(daemon.request_with(Method::GET, &url, &daemon.publishable, &headers, "").await.status, 304);
}

#[tokio::test]
async fn a_stream_tells_every_version_and_ends_with_the_complete_table() {
    let daemon = daemon().await;
    let table = daemon.submit(LOAN).await.json();
    let path = format!("/originator/rateTables/{}/events", table["uuid"].as_str().unwrap());
    let stream = daemon.get(&path).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    let text = String::from_utf8(stream.body.to_vec()).unwrap();
    let ids: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert!(ids.is_sorted() && ids.last() == Some(&"3"), "{ids:?}");
    let last = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
    let complete = daemon.rate_table(table["uuid"].as_str().unwrap()).await;
    assert_eq!(last.as_bytes(), complete.body);

    let url = format!("{}{path}", daemon.api);
    let resume = async |id: &str| {
        let headers = [("last-event-id", id)];
        let rest = daemon.request_with(Method::GET, &url, &daemon.publishable, &headers, "").await;
        (rest.status, String::from_utf8(rest.body.to_vec()).unwrap())
    };
    let (status, rest) = resume("2").await;
    assert!(status == 200 && rest.contains("id: 3"));
    assert_eq!(resume("3").await, (204, String::new()), "nothing is left to tell");
}

/// What a standard `EventSource` does: it comes back after every end with the last id that it has seen, unless it is told not to
/// by a status other than 200.
#[tokio::test]
async fn a_client_that_always_reconnects_stops_once_the_table_is_complete() {
    let daemon = daemon().await;
    let table = daemon.submit(LOAN).await.json();
    let url = format!("{}/originator/rateTables/{}/events", daemon.api, table["uuid"].as_str().unwrap());
    let mut last_id: Option<String> = None;
    let mut streams = 0;
    let stopped = loop {
        let held: Vec<(&str, &str)> = last_id.iter().map(|id| ("last-event-id", id.as_str())).collect();
        let headers = [&[("accept", "text/event-stream"), ("origin", "https://shop.example")], &held[..]];
        let answer = daemon.request_with(Method::GET, &url, &daemon.publishable, &headers.concat(), "").await;
        if answer.status != 200 {
            break answer;
        }
        streams += 1;
        assert!(streams < 3, "it comes back for ever");
        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        let mut ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
        last_id = ids.next_back().map(str::to_owned).or(last_id);
    };
    assert_eq!((stopped.status, stopped.body.len()), (204, 0));
    assert_eq!(stopped.header("access-control-allow-origin"), Some("https://shop.example"));

    let anew = daemon.get(url.strip_prefix(&daemon.api).unwrap()).await;
    assert_eq!(anew.status, 200, "who has seen nothing of a complete table is shown it");
}

/// A browser's own `EventSource` sends no token.
#[tokio::test]
async fn a_page_of_an_allowed_origin_follows_a_table_by_its_secret() {
    let slow = partner("slow").loan(r#"simulate = { delay = "400ms" }"#);
    let plan = Daemon::with_partners(vec![slow]).setting("api.cors_origins", r#"["https://shop.example"]"#);
    let plan = plan.setting("log.filter", "trace").setting("log.access", "true");
    let daemon = plan.setting("matching.submit_wait", "10ms").start().await;
    let submitted = daemon.submit(LOAN).await;
    let url = submitted.header("table-events").unwrap().to_owned();
    let open = async |url: &str, origin: &str| {
        let headers = [("accept", "text/event-stream"), ("origin", origin)];
        daemon.request_with(Method::GET, url, "", &headers, "").await
    };
    let stream = open(&url, "https://shop.example").await;
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(stream.header("access-control-allow-origin"), Some("https://shop.example"));
    let table = submitted.json();
    let uuid = table["uuid"].as_str().unwrap();
    let complete = daemon.rate_table(uuid).await;
    assert!(stream.body.ends_with(&[&complete.body[..], b"\n\n"].concat()), "it ends complete");
    assert_eq!(complete.header("table-events"), None, "nothing is left to follow");
    assert_eq!(open(&url, "https://other.example").await.header("access-control-allow-origin"), None);

    // The secret opens this stream and nothing else.
    let (_, secret) = url.split_once("?secret=").unwrap();
    let other = daemon.submit_blocking(LOAN).await.json();
    let page = table["partnerPageUrl"].as_str().unwrap().rsplit('/').next().unwrap();
    for (path, secret) in [
        (format!("{}/events", other["uuid"].as_str().unwrap()), secret),
        (format!("{uuid}/events"), page),
        (format!("{uuid}/events"), "x"),
        (format!("{uuid}/events"), ""),
        (uuid.to_owned(), secret),
    ] {
        let url = format!("{}/originator/rateTables/{path}?secret={secret}", daemon.api);
        assert_eq!(open(&url, "https://shop.example").await.status, 401, "{path} {secret}");
    }
    let log = daemon.log();
    assert!(log.contains(&format!("/originator/rateTables/{uuid}/events")), "{log}");
    assert!(!log.contains(secret), "{log}");
}

#[tokio::test]
async fn a_secret_ends_an_hour_after_its_table() {
    let daemon = daemon().await;
    let submitted = daemon.submit(LOAN).await;
    let url = submitted.header("table-events").unwrap();
    let path = url.strip_prefix(&daemon.api).unwrap();
    let table = submitted.json();
    daemon.complete(table["uuid"].as_str().unwrap()).await;
    let (_, stopped) = daemon.terminate();
    age(&stopped, &table, Duration::from_secs(2 * 60 * 60)).await;
    let daemon = stopped.start().await;
    let late = daemon.request(Method::GET, &format!("{}{path}", daemon.api), "", "").await;
    assert_eq!(late.status, 410);
}
