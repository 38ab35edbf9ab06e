//! Approval probability: how likely the partners are to lend, by their own rules.

use hyper::Method;
use serde_json::{Value, json};

use crate::conformance::schema::{Edition, assert_conforms};
use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon};

const PATH: &str = "/approvalProbability/loanReports";

async fn report(daemon: &Daemon, asked: Value) -> Answer {
    daemon.post(PATH, asked.to_string()).await
}

fn asked() -> Value {
    json!({"annualIncome": 72_000, "creditRating": "good", "totalDebt": 18_000, "state": "WA", "loanAmount": 10_000})
}

fn token(daemon: &Daemon, arguments: &[&str]) -> String {
    let output = daemon.command(&[&["token", "create"], arguments].concat());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

async fn read(daemon: &Daemon, token: &str, uuid: &str) -> Answer {
    daemon.request(Method::GET, &format!("{}{PATH}/{uuid}", daemon.api), token, "").await
}

#[tokio::test]
async fn it_is_made_of_the_catalogue_and_read_again_as_it_was_made() {
    let daemon = Daemon::with_sample_partners().start().await;
    let made = report(&daemon, asked()).await;
    assert_eq!(made.status, 201);
    let made_of = made.json();
    assert_conforms(Edition::Current, "LoanReport", &made_of);
    let uuid = made_of["uuid"].as_str().unwrap().to_owned();
    assert_eq!(made.header("location"), Some(format!("{PATH}/{uuid}").as_str()));
    for (name, value) in asked().as_object().unwrap() {
        assert_eq!(&made_of[name], value, "{name}");
    }
    assert!(made_of.get("countOfDerogatories").is_none());
    assert!(!made_of["financialInsitutions"].as_array().unwrap().is_empty());
    let network = made_of["networkProbabilities"].as_array().unwrap();
    assert!(network.iter().any(|one| one["productSubType"] == "personal_loan"), "{network:?}");

    let again = report(&daemon, asked()).await.json();
    assert_eq!(
        again["financialInsitutions"], made_of["financialInsitutions"],
        "the same is estimated every time"
    );
    assert_ne!(again["uuid"], made_of["uuid"]);
    let events = daemon.metrics().await;
    assert!(events.contains(r#"offerd_loan_reports_total{event="made"} 2"#), "{events}");

    let daemon = daemon.kill().start().await;
    let read = daemon.get(&format!("{PATH}/{uuid}")).await;
    assert_eq!((read.status, read.json()), (200, made_of), "after a kill too");
}

#[tokio::test]
async fn who_is_better_off_is_more_likely_to_get_a_loan() {
    let daemon = Daemon::with_sample_partners().start().await;
    let network = async |change: Value| -> f64 {
        let mut asked = asked();
        asked.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let report = report(&daemon, asked).await.json();
        let network = report["networkProbabilities"].as_array().unwrap().iter();
        network.filter_map(|one| one["probability"].as_f64()).fold(0.0, f64::max)
    };
    let plain = network(json!({})).await;
    assert!(plain > 0.0 && plain < 1.0, "{plain}");
    assert!(network(json!({"annualIncome": 20_000})).await < plain);
    assert!(network(json!({"totalDebt": 60_000})).await < plain);
    assert!(network(json!({"countOfDerogatories": 2})).await < plain);
    assert!(network(json!({"creditRating": "poor"})).await < plain);
}

#[tokio::test]
async fn every_fault_is_told_at_once() {
    let daemon = Daemon::with_partners(vec![partner("lender").loan("")]).start().await;
    let missing = report(&daemon, json!({"state": "WA"})).await;
    assert_eq!(
        (missing.status, missing.attributes()),
        (422, vec!["annualIncome".into(), "creditRating".into()])
    );
    let wrong = json!({
        "annualIncome": -1, "creditRating": "A", "totalDebt": "much", "countOfDerogatories": 1.5, "state": "XX",
        "loanPurpose": "auto", "loanAmount": 1e12,
    });
    let refused = report(&daemon, wrong.clone()).await;
    let mut named = refused.attributes();
    named.sort();
    let mut wanted: Vec<String> = wrong.as_object().unwrap().keys().cloned().collect();
    wanted.sort();
    assert_eq!((refused.status, named), (422, wanted));
    assert_conforms(Edition::Current, "ApiErrors", &refused.json());
    assert_eq!(daemon.post(PATH, "[]").await.status, 400);
    assert_eq!(daemon.post(PATH, "{").await.status, 400);
    assert_eq!(daemon.get(&format!("{PATH}/7")).await.status, 400);
    let url = format!("{}{PATH}", daemon.api);
    assert_eq!(daemon.request(Method::POST, &url, "", &asked().to_string()).await.status, 401);
}

#[tokio::test]
async fn another_company_and_a_test_of_a_live_report_find_nothing() {
    let daemon = Daemon::with_partners(vec![partner("lender").loan("")]).start().await;
    let own = token(&daemon, &["--company", "Own", "--kind", "publishable"]);
    let own_test = token(&daemon, &["--company", "Own", "--kind", "publishable", "--test"]);
    let foreign = token(&daemon, &["--company", "Foreign", "--kind", "confidential"]);
    let url = format!("{}{PATH}", daemon.api);
    let made = daemon.request(Method::POST, &url, &own, &asked().to_string()).await.json();
    let uuid = made["uuid"].as_str().unwrap();
    assert_eq!(read(&daemon, &own, uuid).await.json(), made);
    let unknown = read(&daemon, &own, "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77").await;
    assert_eq!(unknown.status, 404);
    for token in [&own_test, &foreign] {
        let answer = read(&daemon, token, uuid).await;
        assert_eq!(answer.status, 404);
        assert_conforms(Edition::Current, "ApiErrors", &answer.json());
        let told =
            String::from_utf8_lossy(&answer.body).replace(uuid, "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77");
        assert_eq!(told, String::from_utf8_lossy(&unknown.body), "as one that never was");
    }
}

#[tokio::test]
async fn of_many_reports_the_last_are_kept_over_a_restart_too() {
    let plan = Daemon::with_partners(vec![partner("lender").loan("")]);
    let daemon = plan.setting("approval.reports_per_company", "3").start().await;
    let make =
        async |daemon: &Daemon| report(daemon, asked()).await.json()["uuid"].as_str().unwrap().to_owned();
    let mut made = Vec::new();
    for _ in 0..4 {
        made.push(make(&daemon).await);
    }
    let daemon = daemon.kill().start().await;
    made.push(make(&daemon).await);
    let mut statuses = Vec::new();
    for uuid in &made {
        statuses.push(daemon.get(&format!("{PATH}/{uuid}")).await.status);
    }
    assert_eq!(statuses, [404, 404, 200, 200, 200]);
    let metrics = daemon.metrics().await;
    assert!(metrics.contains(r#"offerd_loan_reports_total{event="displaced"} 1"#), "{metrics}");
}

#[tokio::test]
async fn seats_that_are_paused_or_priced_elsewhere_say_nothing() {
    let daemon =
        Daemon::with_partners(vec![partner("lender").loan(""), partner("bank").savings("")]).start().await;
    let names = async || {
        let report = report(&daemon, asked()).await.json();
        let institutions = report["financialInsitutions"].as_array().unwrap().clone();
        institutions.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["lender"]);
    assert!(daemon.command(&["partners", "pause", "lender"]).status.success());
    assert_eq!(names().await, [""; 0]);
}
