//! What was acknowledged survives SIGKILL.

mod calls;
pub mod campaign;
pub mod model;
mod postbacks;

use serde_json::Value;

use crate::kit::partners::partner;
use crate::kit::{Daemon, sample};

fn uuids(offers: &Value) -> Vec<String> {
    let offers = offers.as_array().expect("an array of offers");
    offers.iter().map(|offer| offer["uuid"].as_str().expect("an offer has a uuid").to_owned()).collect()
}

#[tokio::test]
async fn a_lead_and_its_complete_table_are_there_after_a_kill_byte_for_byte() {
    let plan = Daemon::with_partners(vec![partner("prompt").savings("").loan("")]);
    // Addresses are part of an offer's url, so they must not change with the port.
    let daemon = plan.setting("api.base_url", "http://offers.example").start().await;
    let shown = daemon.submit(sample("everything")).await;
    assert_eq!(shown.status, 200);
    let table = shown.json();
    assert_eq!(table["pendingResponses"], serde_json::json!([]));

    let daemon = daemon.kill().start().await;
    let again = daemon.rate_table(table["uuid"].as_str().unwrap()).await;
    assert_eq!(again.body, shown.body);
    assert_eq!(again.header("etag"), shown.header("etag"));
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await;
    assert_eq!(lead.status, 200);
}

#[tokio::test]
async fn a_pending_table_goes_on_after_a_kill_with_the_offers_already_shown() {
    let silent = r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#;
    let partners = vec![partner("prompt").loan(""), partner("silent").loan(silent)];
    let daemon = Daemon::with_partners(partners).setting("matching.deadline", "3s").start().await;
    let before = daemon.submit(sample("personal_loan")).await.json();
    let pending = before["pendingResponses"].as_array().unwrap();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0]["partner"]["name"], "silent");
    assert_eq!(before["loanOffers"].as_array().unwrap().len(), 1);

    let daemon = daemon.kill().start().await;
    let after = daemon.complete(before["uuid"].as_str().unwrap()).await;
    assert_eq!(uuids(&after["loanOffers"]), uuids(&before["loanOffers"]));
    assert_eq!(after["leadUuid"], before["leadUuid"]);
}

#[tokio::test]
async fn a_slow_partner_is_asked_again_after_a_kill() {
    let slow = r#"simulate = { delay = "1500ms" }"#;
    let daemon = Daemon::with_partners(vec![partner("slow").loan(slow)]).start().await;
    let before = daemon.submit(sample("personal_loan")).await.json();
    assert_eq!(before["loanOffers"], serde_json::json!([]));

    let daemon = daemon.kill().start().await;
    let after = daemon.complete(before["uuid"].as_str().unwrap()).await;
    assert_eq!(after["loanOffers"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_table_whose_deadline_passed_while_the_daemon_was_down_completes_at_once() {
    let slow = r#"simulate = { delay = "8s" }"#;
    let plan = Daemon::with_partners(vec![partner("slow").loan(slow)]).setting("matching.deadline", "200ms");
    // The same whichever port the next daemon has.
    let plan = plan.setting("api.base_url", "http://offers.example");
    let daemon = plan.setting("matching.second_look_reserve", "10ms").start().await;
    let before = daemon.submit(sample("personal_loan")).await.json();
    let daemon = daemon.kill().start().await;
    let after = daemon.complete(before["uuid"].as_str().unwrap()).await;
    assert_eq!(after["loanOffers"], serde_json::json!([]));

    // Each seat has one recorded outcome: folding the records again finds none that does not fit.
    let daemon = daemon.kill().start().await;
    assert_eq!(daemon.rate_table(before["uuid"].as_str().unwrap()).await.json(), after);
    assert!(!daemon.log().contains("does not fit its table"), "{}", daemon.log());
}

#[tokio::test]
async fn a_lead_that_fits_nobody_leaves_nothing_to_recover() {
    let daemon = Daemon::with_partners(vec![partner("prompt").savings("")]).start().await;
    assert_eq!(daemon.submit(r#"{"productTypes":["mortgage"]}"#).await.status, 200);
    let daemon = daemon.kill().start().await;
    assert!(!daemon.log().contains("continuing pending rate tables"), "{}", daemon.log());
}

#[tokio::test]
async fn kill_after_kill_nothing_acknowledged_is_lost() {
    let mut daemon = Daemon::with_partners(vec![partner("prompt").savings("")]).start().await;
    let mut acknowledged = Vec::new();
    for _ in 0..5 {
        for _ in 0..20 {
            let table = daemon.submit(r#"{"productTypes":["savings"]}"#).await.json();
            acknowledged.push((table["uuid"].as_str().unwrap().to_owned(), uuids(&table["savingsOffers"])));
        }
        daemon = daemon.kill().start().await;
        for (uuid, offers) in &acknowledged {
            let table = daemon.rate_table(uuid).await;
            assert_eq!(table.status, 200, "{uuid}");
            assert_eq!(&uuids(&table.json()["savingsOffers"]), offers);
        }
    }
}

#[tokio::test]
async fn after_a_stop_no_index_is_made_anew() {
    let slow = r#"simulate = { delay = "8s" }"#;
    let daemon =
        Daemon::with_partners(vec![partner("prompt").loan(""), partner("slow").loan(slow)]).start().await;
    let pending = daemon.submit(sample("personal_loan")).await;
    assert_eq!(pending.status, 200);
    let (status, stopped) = daemon.terminate();
    assert_eq!(status.code(), Some(0));

    let store = stopped.plan.store();
    let volumes = std::fs::read_dir(store.join("volumes")).unwrap().map(|volume| volume.unwrap().path());
    let without: Vec<_> =
        volumes.chain([store.join("base")]).filter(|volume| !volume.join("index.sum").is_file()).collect();
    assert_eq!(without, Vec::<std::path::PathBuf>::new());
}
