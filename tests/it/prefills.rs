//! Prefills: lead data left in one place and taken up in another.

use std::time::Duration;

use futures_util::future::join_all;
use hyper::Method;
use offerd::store::Tree;
use serde_json::{Value, json};

use crate::kit::{Answer, Daemon, Plan, sample};
use crate::lead_info::assert_documented;

const PREFILLS: &str = "/originator/prefills";

fn plan() -> Plan {
    Daemon::with_partners(Vec::new())
}

async fn give(daemon: &Daemon, lead: &str) -> Value {
    let answer = daemon.post(PREFILLS, lead).await;
    assert_eq!(answer.status, 200, "{}", answer.json());
    answer.json()
}

/// The path of one that was given.
async fn given(daemon: &Daemon, lead: &str) -> String {
    format!("{PREFILLS}/{}", give(daemon, lead).await["prefillToken"].as_str().unwrap())
}

async fn read_with(daemon: &Daemon, token: &str, path: &str) -> Answer {
    daemon.request(Method::GET, &format!("{}{path}", daemon.api), token, "").await
}

/// Waits until a metric is told with a value.
async fn told(daemon: &Daemon, line: &str) {
    let telling = async {
        while !daemon.metrics().await.lines().any(|told| told == line) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), telling).await.expect("it is told");
}

#[tokio::test]
async fn what_was_given_is_read_back_three_times_by_any_token_of_the_company() {
    let daemon = plan().start().await;
    let lead: Value = serde_json::from_str(&sample("personal_loan")).unwrap();
    let told = give(&daemon, &lead.to_string()).await;
    assert_documented(&daemon, "PrefillResponse", &told).await;
    assert_eq!(told["productTypes"], lead["productTypes"]);
    assert_eq!((&told["expiresInSeconds"], &told["maxUses"]), (&json!(180), &json!(3)));
    let path = format!("{PREFILLS}/{}", told["prefillToken"].as_str().unwrap());

    let head = daemon.request(Method::HEAD, &format!("{}{path}", daemon.api), &daemon.confidential, "").await;
    assert_eq!((head.status, head.header("allow")), (405, Some("GET, OPTIONS")), "a reading counts");
    for token in [&daemon.publishable, &daemon.confidential, &daemon.publishable] {
        let answer = read_with(&daemon, token, &path).await;
        assert_eq!((answer.status, answer.json()), (200, lead.clone()));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    assert_eq!(daemon.get(&path).await.status, 404);
    assert!(daemon.metrics().await.contains(r#"offerd_prefills_ended_total{by="reads"} 1"#));

    let nothing = give(&daemon, "{}").await;
    assert_eq!(nothing["productTypes"].as_array().unwrap().len(), 7, "who names none asks for all");
}

#[tokio::test]
async fn what_is_used_up_unknown_or_another_companys_is_answered_alike() {
    let daemon = plan().setting("limits.prefill_reads", "1").start().await;
    let used_up = given(&daemon, "{}").await;
    assert_eq!(daemon.get(&used_up).await.status, 200);
    let of_another = given(&daemon, "{}").await;
    let output = daemon.command(&["token", "create", "--company", "Other", "--kind", "confidential"]);
    let other = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let stranger = format!("{PREFILLS}/0193a7b2-1c7e-4d5a-9c11-2f6c5a0e4b77");
    for (path, token) in
        [(&used_up, &daemon.confidential), (&of_another, &other), (&stranger, &daemon.confidential)]
    {
        let answer = read_with(&daemon, token, path).await;
        let uuid = path.rsplit('/').next().unwrap();
        let message = format!("Prefill for UUID {uuid} does not exist");
        let error = json!([{
            "message": message, "type": "invalidUuidReference",
            "details": {"referenceType": "Prefill", "specified": uuid},
        }]);
        assert_eq!((answer.status, answer.json()), (404, error));
    }
    assert_eq!(daemon.get(&of_another).await.status, 200, "who may not read it has not used it up");
    assert_eq!(daemon.get(&format!("{PREFILLS}/nonsense")).await.attributes(), ["prefillToken"]);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_as_a_lead_is() {
    let daemon = plan().start().await;
    let wrong = r#"{"productTypes":["loan","yacht"],"loanInformation":{"loanAmount":"lots"}}"#;
    let (refused, of_lead) = (daemon.post(PREFILLS, wrong).await, daemon.submit(wrong).await);
    assert_eq!((refused.status, refused.json()), (of_lead.status, of_lead.json()));
    assert_eq!(refused.attributes(), ["productTypes[1]", "loanInformation.loanAmount"]);
    assert_eq!(daemon.post(PREFILLS, "[]").await.status, 400);
    let url = format!("{}{PREFILLS}", daemon.api);
    assert_eq!(daemon.request(Method::POST, &url, "", "{}").await.status, 401);
    let v1 = [("accept", "application/vnd.offerd.v1+json")];
    assert_eq!(daemon.request_with(Method::POST, &url, &daemon.publishable, &v1, "{}").await.status, 415);
    assert!(daemon.metrics().await.contains("\nofferd_prefills 0\n"), "what was refused holds no place");
}

#[tokio::test]
async fn of_many_who_read_at_once_no_more_get_it_than_may() {
    let daemon = plan().start().await;
    let path = given(&daemon, &sample("savings")).await;
    let statuses = join_all((0..20).map(|_| async { daemon.get(&path).await.status })).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 3, "{statuses:?}");
}

#[tokio::test]
async fn a_kill_gives_nobody_a_reading_more() {
    let mut daemon = plan().start().await;
    let lead: Value = serde_json::from_str(&sample("savings")).unwrap();
    let path = given(&daemon, &lead.to_string()).await;
    for _ in 0..3 {
        daemon = daemon.kill().start().await;
        assert_eq!(daemon.get(&path).await.json(), lead);
    }
    daemon = daemon.kill().start().await;
    assert_eq!(daemon.get(&path).await.status, 404);
}

#[tokio::test]
async fn they_end_by_themselves_and_nothing_is_left_of_them() {
    let daemon = plan().setting("limits.prefill_lifetime", "1s").start().await;
    let path = given(&daemon, &sample("everything")).await;
    told(&daemon, r#"offerd_prefills_ended_total{by="time"} 1"#).await;
    told(&daemon, "offerd_prefills 0").await;
    assert_eq!(daemon.get(&path).await.status, 404);
    let (_, stopped) = daemon.terminate();
    let store = stopped.plan.open_store();
    assert_eq!(store.scan(Tree::Prefills, []).count(), 0);
}

#[tokio::test]
async fn a_company_has_so_many_at_once_and_one_that_is_used_up_makes_room() {
    let plan = plan().setting("limits.prefills_per_company", "1").setting("limits.prefill_reads", "1");
    let daemon = plan.start().await;
    let path = given(&daemon, "{}").await;
    let refused = daemon.post(PREFILLS, "{}").await;
    let wait_s: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(refused.status, 429);
    assert!((60..=190).contains(&wait_s), "until the one there is over and swept: {wait_s}");
    let metrics = daemon.metrics().await;
    assert!(metrics.contains(r#"offerd_http_requests_refused_total{reason="company_prefills"} 1"#));
    assert!(metrics.contains("\nofferd_prefills 1\n"));
    let output = daemon.command(&["token", "create", "--company", "Other", "--kind", "publishable"]);
    let other = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let url = format!("{}{PREFILLS}", daemon.api);
    assert_eq!(daemon.request(Method::POST, &url, &other, "{}").await.status, 200, "each has its own");

    let daemon = daemon.kill().start().await;
    assert_eq!(daemon.post(PREFILLS, "{}").await.status, 429, "a restart counts the same");
    assert_eq!(daemon.get(&path).await.status, 200);
    assert_eq!(daemon.post(PREFILLS, "{}").await.status, 200);
}

/// Who tries tokens out is slowed down, on the daemon's own machine too.
#[tokio::test]
async fn guesses_of_one_address_are_limited_also_where_no_other_rate_holds() {
    let plan = plan().setting("limits.requests_per_second_per_address", "1");
    let daemon = plan.setting("limits.burst_per_address", "5").start().await;
    let stranger = format!("{PREFILLS}/0193a7b2-1c7e-4d5a-9c11-2f6c5a0e4b77");
    let mut statuses = Vec::new();
    for _ in 0..40 {
        statuses.push(daemon.get(&stranger).await.status);
    }
    assert_eq!(statuses[..5], [404; 5]);
    assert!(statuses.iter().filter(|status| **status == 429).count() > 20, "{statuses:?}");
    assert!(daemon.metrics().await.contains(r#"{reason="prefill_address_rate"}"#));
}

#[tokio::test]
async fn one_that_is_given_under_the_uuid_of_a_lead_is_in_its_dossier_and_goes_with_it() {
    let daemon = plan().start().await;
    let lead = daemon.submit("{}").await.json()["leadUuid"].as_str().unwrap().to_owned();
    let waiting = json!({"uuid": lead, "personalInformation": {"firstName": "Ottoline"}});
    let path = given(&daemon, &waiting.to_string()).await;
    // That of another company is none of the lead's.
    let another = ["token", "create", "--company", "Another", "--kind", "confidential", "--test"];
    let another = String::from_utf8(daemon.command(&another).stdout).unwrap();
    let url = format!("{}/originator/prefills", daemon.api);
    let given = daemon.request(Method::POST, &url, another.trim(), &waiting.to_string()).await;
    assert_eq!(given.status, 200);
    let dossier = daemon.command(&["lead", "export", &lead]);
    let dossier: Value = serde_json::from_slice(&dossier.stdout).unwrap();
    assert_eq!(dossier["prefills"], json!([waiting]));
    assert!(daemon.command(&["lead", "erase", &lead]).status.success());
    assert_eq!(daemon.get(&path).await.status, 404);
}

#[tokio::test]
async fn no_export_has_them() {
    let daemon = plan().start().await;
    given(&daemon, &sample("savings")).await;
    let (_, stopped) = daemon.terminate();
    let output = stopped.plan.command(&["export", "-", "--personal-data"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(lines.contains(r#""tree":"tokens""#) && !lines.contains("prefills"), "{lines}");
}
