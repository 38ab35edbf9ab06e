//! States and transitions.

use serde_json::{Value, json};

use super::schema::Edition;
use super::{lead_path, uuid_of};
use crate::kit::Daemon;
use crate::kit::partners::partner;

const LOAN: &str = r#"{
    "productTypes": ["loan"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

fn answering_after(name: &str, delay: &str) -> crate::kit::PartnerFile {
    partner(name).loan(&format!(r#"simulate = {{ delay = "{delay}" }}"#))
}

/// Who is outstanding, and who has offered.
fn partners(table: &Value) -> (Vec<String>, Vec<String>) {
    let names = |array: &str, pointer: &str| {
        let entries = table[array].as_array().unwrap().iter();
        let mut names: Vec<String> =
            entries.map(|entry| entry.pointer(pointer).unwrap().as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    (names("pendingResponses", "/partner/name"), names("loanOffers", "/originator/key"))
}

/// Every table that a client sees that polls until nothing is pending.
async fn watched(daemon: &Daemon) -> Vec<Value> {
    let mut seen = vec![daemon.submit(LOAN).await.json()];
    while seen.last().is_some_and(|table| table["pendingResponses"] != json!([])) {
        let table = daemon.rate_table(uuid_of(&seen[0])).await.json();
        if seen.last() != Some(&table) {
            seen.push(table);
        }
        tokio::task::yield_now().await;
    }
    seen
}

#[tokio::test]
async fn a_pending_table_stays_pending_while_other_partners_are_outstanding() {
    let silent =
        partner("silent").loan(r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#);
    let daemon = Daemon::with_partners(vec![answering_after("slow", "300ms"), silent]).start().await;
    let mut table = daemon.submit(LOAN).await.json();
    while table["loanOffers"] == json!([]) {
        table = daemon.rate_table(uuid_of(&table)).await.json();
        tokio::task::yield_now().await;
    }
    let expected = (vec!["silent".to_owned()], vec!["slow".to_owned()]);
    assert_eq!(partners(&table), expected, "the answered offers appear");
}

#[tokio::test]
async fn an_answer_moves_its_partner_from_the_pending_list_to_the_offers() {
    let names = ["a", "b", "c"];
    let delays = ["100ms", "300ms", "600ms"];
    let slow = names.into_iter().zip(delays).map(|(name, delay)| answering_after(name, delay));
    let daemon = Daemon::with_partners(slow.collect()).start().await;
    let states: Vec<_> = watched(&daemon).await.iter().map(partners).collect();
    for (pending, offered) in &states {
        let mut all = [pending.as_slice(), offered].concat();
        all.sort();
        assert_eq!(all, names);
    }
    assert!(states.is_sorted_by(|(before, _), (after, _)| after.iter().all(|name| before.contains(name))));
    assert!(states.last().is_some_and(|(pending, _)| pending.is_empty()));
}

#[tokio::test]
async fn a_pending_table_is_complete_once_pending_responses_is_empty() {
    let daemon = Daemon::with_partners(vec![answering_after("slow", "300ms")]).start().await;
    let seen = watched(&daemon).await;
    let complete = seen.last().unwrap();
    assert_eq!(partners(complete), (vec![], vec!["slow".to_owned()]));
    assert_eq!(complete["pendingOriginators"], json!([]));
    // Nothing is added afterwards: not by asking again, not by a second table of the lead, not by a restart.
    assert_eq!(&daemon.rate_table(uuid_of(complete)).await.json(), complete);
    assert_eq!(daemon.post(&format!("{}/rateTables", lead_path(complete)), "{}").await.status, 200);
    assert_eq!(&daemon.rate_table(uuid_of(complete)).await.json(), complete);
    let (_, stopped) = daemon.terminate();
    let daemon = stopped.start().await;
    let again = daemon.rate_table(uuid_of(complete)).await.json();
    assert_eq!(partners(&again), partners(complete));
}

#[tokio::test]
async fn a_table_of_which_nobody_is_asked_is_complete_from_the_start() {
    let daemon = Daemon::with_partners(vec![answering_after("slow", "1s")]).start().await;
    let table = daemon.submit(r#"{"productTypes":["savings"]}"#).await.json();
    assert_eq!(table["pendingResponses"], json!([]));
}

#[tokio::test]
async fn the_status_is_the_furthest_funnel_step_of_the_actions() {
    let savings = partner("bank").savings("");
    let daemon = Daemon::with_partners(vec![savings, partner("lender").loan("")]).start().await;
    let lead = r#"{
        "productTypes": ["loan", "savings"],
        "loanInformation": {"loanAmount": 10000},
        "creditInformation": {"providedCreditRating": "good"}
    }"#;
    let table = daemon.submit_blocking(lead).await.json();
    let read = async || daemon.get(&lead_path(&table)).await.json();
    let before = read().await;
    let types = |lead: &Value| {
        let actions = lead["leadActions"].as_array().unwrap().iter();
        actions.map(|action| action["actionType"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let known = Edition::Current.values("LeadActionType");
    assert!(types(&before).iter().all(|action| known.contains(&action.as_str())));
    assert!(types(&before).contains(&before["status"].as_str().unwrap().to_owned()));

    let url = table["loanOffers"][0]["url"].as_str().unwrap();
    assert_eq!(daemon.request(hyper::Method::GET, url, "", "").await.status, 302);
    let after = read().await;
    assert_eq!(after["status"], "clicked_referral_link");
    assert_eq!(
        after["leadActions"].as_array().unwrap().len(),
        before["leadActions"].as_array().unwrap().len() + 1
    );
    assert_ne!(before["status"], after["status"]);
    assert!(before["updatedAt"].as_str() <= after["updatedAt"].as_str());
}
