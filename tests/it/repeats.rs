//! Repeated submits with the same `Idempotency-Key`.

use futures_util::future::join_all;
use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Answer, Daemon};

async fn submit(daemon: &Daemon, key: &str, body: &str) -> Answer {
    post(daemon, "/leads/rateTables", key, body).await
}

async fn post(daemon: &Daemon, path: &str, key: &str, body: &str) -> Answer {
    let url = format!("{}{path}", daemon.api);
    let headers = [("idempotency-key", key)];
    daemon.request_with(Method::POST, &url, &daemon.publishable, &headers, body.to_owned()).await
}

fn replayed(answer: &Answer) -> Option<&str> {
    answer.header("idempotent-replayed")
}

#[tokio::test]
async fn the_same_key_and_body_is_one_submit_even_over_a_kill() {
    let plan = Daemon::with_partners(prompt_partners(2)).setting("api.base_url", "http://offers.example");
    let daemon = plan.start().await;
    let first = submit(&daemon, "k-1", "{}").await;
    let again = submit(&daemon, "k-1", "{}").await;
    assert_eq!((first.status, &first.body), (again.status, &again.body));
    assert_eq!((replayed(&first), replayed(&again)), (None, Some("true")));
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
    for key in ["", "k\t5", &"k".repeat(256)] {
        assert_eq!(submit(&daemon, key, "{}").await.status, 400, "{key:?}");
    }
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

#[tokio::test]
async fn what_the_body_says_is_compared_and_not_how() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let first = submit(&daemon, "k", r#"{"productTypes":["savings"],"deviceId":"d"}"#).await;
    for same in [
        "{ \"productTypes\": [\"savings\"],\n \"deviceId\": \"d\" }",
        r#"{"deviceId":"d","productTypes":["savings"],"unknown":1,"loanInformation":null}"#,
    ] {
        let again = submit(&daemon, "k", same).await;
        assert_eq!(
            (replayed(&again), &again.json()["uuid"]),
            (Some("true"), &first.json()["uuid"]),
            "{same}"
        );
    }
    assert_eq!(submit(&daemon, "k", r#"{"productTypes":["loan"],"deviceId":"d"}"#).await.status, 422);
}

/// Each other call by which a client makes something: twice, then with other content, and over a kill.
#[tokio::test]
async fn every_call_that_makes_something_makes_it_once() {
    let daemon = Daemon::with_partners(prompt_partners(1)).setting("api.base_url", "http://offers.example");
    let daemon = daemon.start().await;
    let table = daemon.submit("{}").await.json();
    let display = |offer: &Value| {
        let uuids =
            json!({"leadUuid": table["leadUuid"], "rateTableUuid": table["uuid"], "offerUuid": offer});
        uuids.to_string()
    };
    let offer = &table["savingsOffers"][0]["uuid"];
    let further = format!("/leads/{}/rateTables", table["leadUuid"].as_str().unwrap());
    let calls = [
        ("/leads", "{}".to_owned(), r#"{"deviceId":"e"}"#.to_owned(), "uuid", 422),
        (&further, r#"{"deviceId":"d"}"#.to_owned(), r#"{"deviceId":"e"}"#.to_owned(), "uuid", 422),
        ("/originator/prefills", "{}".to_owned(), r#"{"deviceId":"e"}"#.to_owned(), "prefillToken", 422),
        (
            "/uiEvent/sessionInits",
            "{}".to_owned(),
            json!({"sessionUuid": table["uuid"]}).to_string(),
            "sessionUuid",
            400,
        ),
        ("/uiEvent/offerDisplays", display(offer), display(offer).replace('}', r#","x":1}"#), "id", 201),
    ];
    let mut made = Vec::new();
    for (path, body, other, id, status) in &calls {
        let first = post(&daemon, path, path, body).await;
        assert!(first.status < 300 && replayed(&first).is_none(), "{path}: {first:?}");
        let again = post(&daemon, path, path, &format!(" {body}")).await;
        assert_eq!((again.status, replayed(&again)), (first.status, Some("true")), "{path}");
        assert_eq!(again.json()[id], first.json()[id], "{path}");
        let other = post(&daemon, path, path, other).await;
        assert_eq!(other.status, *status, "{path}: {other:?}");
        made.push(first.json()[id].clone());
    }
    let daemon = daemon.kill().start().await;
    for ((path, body, _, id, _), made) in calls.iter().zip(made) {
        let again = post(&daemon, path, path, body).await;
        assert_eq!((replayed(&again), &again.json()[id]), (Some("true"), &made), "{path}");
    }
    let elsewhere = submit(&daemon, "/leads", "{}").await;
    assert_eq!(elsewhere.status, 422, "a key is for one call");
    let report = r#"{"annualIncome":1,"totalDebt":0,"loanAmount":1}"#;
    let refused = post(&daemon, "/approvalProbability/loanReports", "k", report).await;
    assert_eq!((refused.status, refused.attributes()), (400, vec!["Idempotency-Key".to_owned()]));
}
