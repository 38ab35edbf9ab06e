//! Leads that grow: submitted without a table, merged into, and asked about again.

use futures_util::future::join_all;
use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon};

async fn daemon() -> Daemon {
    Daemon::with_partners(vec![partner("lender").loan(""), partner("bank").savings("")]).start().await
}

async fn patch(daemon: &Daemon, lead: &str, body: serde_json::Value) -> Answer {
    let url = format!("{}/leads/{lead}", daemon.api);
    daemon.request(Method::PATCH, &url, &daemon.confidential, &body.to_string()).await
}

#[tokio::test]
async fn a_lead_may_be_taken_empty_and_grow_until_it_fits() {
    let daemon = daemon().await;
    let taken = daemon.post("/leads", "").await;
    assert_eq!(taken.status, 201);
    let lead = taken.json()["uuid"].as_str().unwrap().to_owned();
    assert_eq!(taken.header("location"), Some(format!("/leads/{lead}").as_str()));
    assert_eq!(taken.json()["status"], "initialized");

    let body = json!({"productTypes": ["loan"], "loanInformation": {"loanAmount": 10_000}});
    let grown = patch(&daemon, &lead, body).await;
    assert_eq!((grown.status, &grown.json()["loanInformation"]["loanAmount"]), (200, &json!(10_000)));

    let path = format!("/leads/{lead}/rateTables");
    let rating = json!({"creditInformation": {"providedCreditRating": "good"}, "deviceId": "d-1"});
    let table = daemon.post(&path, rating.to_string()).await;
    assert_eq!(table.status, 200);
    assert_eq!(table.json()["leadUuid"], lead.as_str());
    assert_eq!(table.json()["loanOffers"].as_array().unwrap().len(), 1);

    let again = daemon.post(&path, "").await.json();
    assert_ne!(again["uuid"], table.json()["uuid"], "each call builds a table of its own");
    let stored = daemon.get(&format!("/leads/{lead}")).await.json();
    assert_eq!((&stored["deviceId"], &stored["status"]), (&json!("d-1"), &json!("api_approved")));
    assert_eq!(stored["leadActions"].as_array().unwrap().len(), 2);
}

/// Also where the first came with the lead, or only after it.
#[tokio::test]
async fn all_tables_of_a_lead_are_found_oldest_first() {
    let daemon = daemon().await;
    let with_table = daemon.submit(r#"{"productTypes": ["savings"]}"#).await.json();
    let (lead, first) = (with_table["leadUuid"].as_str().unwrap(), vec![with_table["uuid"].clone()]);
    let without = daemon.post("/leads", r#"{"productTypes": ["savings"]}"#).await.json();
    for (lead, mut built) in [(lead, first), (without["uuid"].as_str().unwrap(), Vec::new())] {
        for _ in 0..2 {
            let table = daemon.post(&format!("/leads/{lead}/rateTables"), "").await.json();
            built.push(table["uuid"].clone());
        }
        let exported: Value =
            serde_json::from_slice(&daemon.command(&["lead", "export", lead]).stdout).unwrap();
        let tables = exported["rateTables"].as_array().unwrap();
        assert_eq!(tables.iter().map(|table| table["uuid"].clone()).collect::<Vec<_>>(), built);
        let told = daemon.get(&format!("/leads/{lead}")).await.json();
        assert_eq!(told["leadActions"].as_array().unwrap().len(), built.len());
        assert!(daemon.command(&["lead", "erase", lead]).status.success());
        for table in built {
            assert_eq!(daemon.rate_table(table.as_str().unwrap()).await.status, 404);
        }
    }
}

#[tokio::test]
async fn of_changes_at_once_none_is_lost() {
    let daemon = daemon().await;
    let lead = daemon.post("/leads", "{}").await.json()["uuid"].as_str().unwrap().to_owned();
    let tags = (0..40).map(|nth| json!({"clientTags": {"seen": [nth.to_string()]}}));
    for answer in join_all(tags.map(|body| patch(&daemon, &lead, body))).await {
        assert_eq!(answer.status, 200);
    }
    let stored = daemon.get(&format!("/leads/{lead}")).await.json();
    assert_eq!(stored["clientTags"]["seen"].as_array().unwrap().len(), 40);
}

/// A line has an end, and who finds it there is told so.
#[tokio::test]
async fn more_changes_of_one_lead_than_may_wait_are_refused_and_counted() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")])
        .setting("store.changes_per_record", "1")
        .start()
        .await;
    let lead = daemon.post("/leads", "{}").await.json()["uuid"].as_str().unwrap().to_owned();
    let mut refused = 0;
    while refused == 0 {
        let answers = join_all((0..40).map(|_| patch(&daemon, &lead, json!({"deviceId": "d-1"})))).await;
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!((answer.status, answer.header("retry-after").is_some()), (503, true));
            refused += 1;
        }
        assert!(refused < answers.len(), "somebody has the turn");
    }
    let metrics = daemon.metrics().await;
    for counted in [
        format!(r#"offerd_submits_refused_total{{reason="lead_busy"}} {refused}"#),
        format!(r#"offerd_store_changes_refused_total{{tree="leads",reason="full"}} {refused}"#),
        "offerd_store_changes_in_line 0".to_owned(),
    ] {
        assert!(metrics.contains(&counted), "{counted} is not in:\n{metrics}");
    }
}

#[tokio::test]
async fn a_lead_does_not_grow_beyond_its_limit() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let daemon = plan.setting("limits.bytes_per_lead", "16384").start().await;
    let lead = daemon.post("/leads", "{}").await.json()["uuid"].as_str().unwrap().to_owned();
    let path = format!("/leads/{lead}/rateTables");
    let tags = |nth: u32| json!({"clientTags": {"seen": [format!("{nth}{}", "x".repeat(200))]}}).to_string();
    let mut taken = 0;
    let refused = loop {
        let answer = daemon.post(&path, tags(taken)).await;
        if answer.status != 200 {
            break answer;
        }
        taken += 1;
        assert!(taken < 100, "a lead has an end");
    };
    assert_eq!((refused.status, refused.json()[0]["type"].as_str()), (413, Some("tooLarge")));
    let message = refused.json()[0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("at most 16384 bytes") && message.contains("submit a new lead"), "{message}");
    let stored = daemon.get(&format!("/leads/{lead}")).await.json();
    assert_eq!(stored["clientTags"]["seen"].as_array().unwrap().len(), taken as usize);
    assert_eq!(patch(&daemon, &lead, json!({"clientTags": {}})).await.status, 200, "what adds nothing");
    let counted = r#"offerd_submits_refused_total{reason="lead_too_large"} 1"#;
    assert!(daemon.metrics().await.contains(counted));
}

#[tokio::test]
async fn a_change_survives_a_kill() {
    let daemon = daemon().await;
    let lead = daemon.post("/leads", "{}").await.json()["uuid"].as_str().unwrap().to_owned();
    assert_eq!(patch(&daemon, &lead, json!({"partnerUserId": "u-7"})).await.status, 200);
    let daemon = daemon.kill().start().await;
    assert_eq!(daemon.get(&format!("/leads/{lead}")).await.json()["partnerUserId"], "u-7");
}

#[tokio::test]
async fn faults_and_strangers_are_refused() {
    let daemon = daemon().await;
    let lead = daemon.post("/leads", "{}").await.json()["uuid"].as_str().unwrap().to_owned();
    let faulty = patch(&daemon, &lead, json!({"loanInformation": {"loanAmount": "much"}})).await;
    assert_eq!((faulty.status, faulty.attributes()), (422, vec!["loanInformation.loanAmount".to_owned()]));

    let url = format!("{}/leads/{lead}", daemon.api);
    assert_eq!(daemon.request(Method::PATCH, &url, &daemon.publishable, "{}").await.status, 401);
    let unknown = "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77";
    assert_eq!(patch(&daemon, unknown, json!({})).await.status, 404);
    assert_eq!(daemon.post(&format!("/leads/{unknown}/rateTables"), "{}").await.status, 404);

    let output = daemon.command(&["token", "create", "--company", "Other", "--kind", "confidential"]);
    let other = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    assert_eq!(daemon.request(Method::PATCH, &url, &other, "{}").await.status, 404);
    let v1 = [("accept", "application/vnd.offerd.v1+json")];
    let path = format!("{}/leads", daemon.api);
    assert_eq!(daemon.request_with(Method::POST, &path, &daemon.publishable, &v1, "{}").await.status, 415);
}
