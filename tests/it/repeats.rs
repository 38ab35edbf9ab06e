//! Repeated submits with the same `Idempotency-Key`.

use futures_util::future::join_all;
use hyper::Method;

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Answer, Daemon};

async fn submit(daemon: &Daemon, key: &str, body: &str) -> Answer {
    let url = format!("{}/leads/rateTables", daemon.api);
    let headers = [("idempotency-key", key)];
    daemon.request_with(Method::POST, &url, &daemon.publishable, &headers, body.to_owned()).await
}

#[tokio::test]
async fn the_same_key_and_body_is_one_submit_even_over_a_kill() {
    let plan = Daemon::with_partners(prompt_partners(2)).setting("api.base_url", "http://offers.example");
    let daemon = plan.start().await;
    let first = submit(&daemon, "k-1", "{}").await;
    let again = submit(&daemon, "k-1", "{}").await;
    assert_eq!((first.status, &first.body), (again.status, &again.body));
    let daemon = daemon.kill().start().await;
    assert_eq!(submit(&daemon, "k-1", "{}").await.body, first.body);
    assert_ne!(submit(&daemon, "k-2", "{}").await.json()["uuid"], first.json()["uuid"]);
}

#[tokio::test]
async fn the_same_key_with_another_body_is_refused() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    assert_eq!(submit(&daemon, "k-1", "{}").await.status, 200);
    let other = submit(&daemon, "k-1", r#"{"deviceId":"d"}"#).await;
    assert_eq!((other.status, other.attributes()), (422, vec!["Idempotency-Key".to_owned()]));
    assert_eq!(submit(&daemon, "", "{}").await.status, 400);
    assert_eq!(submit(&daemon, &"k".repeat(256), "{}").await.status, 400);
    let (url, twice) =
        (format!("{}/leads/rateTables", daemon.api), ["k-3", "k-4"].map(|key| ("idempotency-key", key)));
    let twice = daemon.request_with(Method::POST, &url, &daemon.publishable, &twice, "{}".to_owned()).await;
    assert_eq!(twice.status, 400);
}

#[tokio::test]
async fn at_the_blocking_endpoint_the_same_again_waits_for_the_complete_table_too() {
    let slow = partner("slow").savings(r#"simulate = { delay = "700ms" }"#);
    let daemon = Daemon::with_partners(vec![slow]).setting("matching.submit_wait", "1ms").start().await;
    let first = submit(&daemon, "k-1", "{}").await;
    assert_eq!(first.json()["pendingResponses"].as_array().unwrap().len(), 1);
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    let again = [("idempotency-key", "k-1")];
    let again =
        daemon.request_with(Method::POST, &url, &daemon.publishable, &again, "{}".to_owned()).await.json();
    assert_eq!((&again["uuid"], &again["pendingResponses"]), (&first.json()["uuid"], &serde_json::json!([])));
    assert_eq!(again["savingsOffers"].as_array().map(Vec::len), Some(1), "{again}");
}

#[tokio::test]
async fn of_many_at_once_one_is_taken_in() {
    let slow = partner("slow").savings(r#"simulate = { delay = "300ms" }"#);
    let daemon = Daemon::with_partners(vec![slow]).start().await;
    let answers = join_all((0..8).map(|_| submit(&daemon, "k-1", "{}"))).await;
    let mut tables: Vec<String> = answers
        .iter()
        .filter(|answer| answer.status == 200)
        .map(|answer| answer.json()["uuid"].as_str().unwrap().to_owned())
        .collect();
    assert!(answers.iter().all(|answer| [200, 409].contains(&answer.status)));
    tables.dedup();
    assert_eq!(tables.len(), 1);
}
