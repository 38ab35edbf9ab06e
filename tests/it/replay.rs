//! `offerd replay`: stored leads with other partner files.

use std::path::Path;
use std::process::Output;

use hyper::Method;
use offerd::hindsight::replay::STEP;
use serde_json::{Value, json};

use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{PartnerFile, far_lender, partner};
use crate::kit::{Daemon, sample};

const LEAD: &str = r#"{
    "productTypes": ["loan", "savings"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

/// A daemon whose company is live: the leads of a first start's tokens are tests.
async fn live(partners: Vec<PartnerFile>) -> Daemon {
    let mut daemon = Daemon::with_partners(partners).start().await;
    let made = daemon.command(&["token", "create", "--company", "Live", "--kind", "publishable"]);
    daemon.publishable = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    daemon
}

/// A directory of other partner files.
fn files(partners: &[PartnerFile]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    partners.iter().for_each(|partner| partner.write(directory.path()));
    directory
}

fn told(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn replay(daemon: &Daemon, partners: &Path, more: &[&str]) -> Value {
    let arguments = ["replay", "--json", "--partners", partners.to_str().unwrap()];
    told(&daemon.command(&[&arguments[..], more].concat()))
}

fn counted(kept: u64, changed: u64, won: u64, lost: u64) -> Value {
    json!({"kept": kept, "changed": changed, "won": won, "lost": lost})
}

fn seat<'r>(report: &'r Value, partner: &str) -> &'r Value {
    let seats = report["seats"].as_array().unwrap();
    seats.iter().find(|seat| seat["partner"] == partner).unwrap_or_else(|| panic!("{partner}: {report}"))
}

#[tokio::test]
async fn the_same_files_win_and_lose_nothing_whatever_happened() {
    let daemon = Daemon::with_sample_partners().start().await;
    let sandboxed = LEAD.replacen('{', r#"{"clientTags":{"sandbox":["declined"]},"#, 1);
    let second_look = LEAD.replace("savings", "other");
    let samples = ["personal_loan", "credit_card", "savings", "minimal"].map(sample);
    for lead in samples.iter().chain([&sandboxed, &second_look]) {
        assert_eq!(daemon.submit_blocking(lead).await.status, 200);
    }
    let report = told(&daemon.command(&["replay", "--json"]));
    let kept = report["offers"]["kept"].as_u64().unwrap();
    assert!(kept > 20, "{report}");
    assert_eq!((&report["rateTables"], &report["offers"]), (&json!(6), &counted(kept, 0, 0, 0)));
    let moved = |seat: &Value| seat["newlyAsked"] != 0 || seat["noLongerAsked"] != 0;
    assert!(!report["seats"].as_array().unwrap().iter().any(moved), "{report}");

    let (_, stopped) = daemon.terminate();
    let again = stopped.plan.command(&["replay", "--json"]).output().unwrap();
    assert_eq!(told(&again), report, "the store alone says the same");
}

#[tokio::test]
async fn catalog_offers_are_priced_anew() {
    let daemon = live(vec![
        partner("cheaper").loan(""),
        partner("stricter").loan(""),
        partner("leaver").savings(""),
        partner("same").loan(""),
    ])
    .await;
    for _ in 0..3 {
        daemon.submit_blocking(LEAD).await;
    }
    let files = files(&[
        partner("cheaper").loan("").replaced("rate = 7.0", "rate = 6.0"),
        partner("stricter").loan("").replaced("min = 1000", "min = 20000"),
        partner("newcomer").savings(""),
        partner("same").loan(""),
    ]);
    let report = replay(&daemon, files.path(), &[]);
    assert_eq!(report["offers"], counted(6, 3, 3, 6));
    assert_eq!(seat(&report, "cheaper")["offers"], counted(3, 3, 0, 0));
    assert_eq!(seat(&report, "stricter")["offers"], counted(0, 0, 0, 3));
    assert_eq!(seat(&report, "leaver")["offers"], counted(0, 0, 0, 3));
    assert_eq!(seat(&report, "leaver")["noLongerAsked"], 3);
    assert_eq!(seat(&report, "newcomer")["byOffer"], json!({"account": counted(0, 0, 3, 0)}));
    assert_eq!(seat(&report, "newcomer")["newlyAsked"], 3);
    assert_eq!(seat(&report, "same")["offers"], counted(3, 0, 0, 0));
    assert_eq!(report["loseAll"]["count"], 0);

    let limited = replay(&daemon, files.path(), &["--limit", "1"]);
    assert_eq!((&limited["rateTables"], &limited["offers"]), (&json!(1), &counted(2, 1, 1, 2)));
    assert_eq!(replay(&daemon, files.path(), &["--company", "Live"]), report);
    let made = daemon.command(&["token", "create", "--company", "Other", "--kind", "publishable"]);
    assert!(made.status.success());
    assert_eq!(replay(&daemon, files.path(), &["--company", "Other"])["rateTables"], 0);
    let unknown = daemon.command(&["replay", "--company", "Nobody"]);
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there is no company `Nobody`"));

    let page = daemon.command(&["replay", "--partners", files.path().to_str().unwrap()]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("3 rate tables: 3 offers won, 6 lost, 6 kept, of which 3 changed"), "{page}");
}

#[tokio::test]
async fn partners_over_http_are_judged_by_whether_they_would_be_asked_and_nobody_is_called() {
    let offers = json!({"offers": [{"term": 36, "apr": 9.5}, {"term": 24, "apr": 8.75}]});
    let far = FarSide::start(move |_| Deed::Json(200, offers.to_string())).await;
    let of = |key: &str| far_lender(key, &far.url("/"), "");
    let daemon = live(vec![of("stays"), of("goes")]).await;
    let table = daemon.submit_blocking(LEAD).await.json();
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 4);
    assert_eq!(far.received().len(), 2);

    let goes = of("goes").replaced("needs = [", "needs = [\"personalInformation.ssn\", ");
    let files = files(&[of("stays"), goes, of("comes")]);
    let report = replay(&daemon, files.path(), &[]);
    assert_eq!(report["offers"], counted(2, 0, 0, 2));
    assert_eq!(seat(&report, "stays")["overHttp"], true);
    assert_eq!(
        (&seat(&report, "goes")["noLongerAsked"], &seat(&report, "comes")["newlyAsked"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(far.received().len(), 2, "nobody was called");
    let page = daemon.command(&["replay", "--partners", files.path().to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&page.stdout).contains("no partner was called"));
}

#[tokio::test]
async fn offers_answered_over_http_are_matched_by_key_and_term_whatever_else_the_file_changes() {
    let offers = json!({"offers": [{"term": 36, "apr": 9.5}, {"term": 24, "apr": 8.75}]});
    let far = FarSide::start(move |_| Deed::Json(200, offers.to_string())).await;
    let of = |key: &str| far_lender(key, &far.url("/"), "");
    let daemon = live(vec![of("reworded"), of("repaid"), of("shorter")]).await;
    assert_eq!(daemon.submit_blocking(LEAD).await.json()["loanOffers"].as_array().unwrap().len(), 6);
    let files = files(&[
        of("reworded").replaced("apr_type = ", "disclaimer = \"Other words.\"\napr_type = "),
        of("repaid").replaced("percent = 2.0", "percent = 3.0"),
        of("shorter").replaced("terms = [24, 36]", "terms = [36, 48]"),
    ]);
    let report = replay(&daemon, files.path(), &[]);
    let counts = ["reworded", "repaid", "shorter"].map(|partner| seat(&report, partner)["offers"].clone());
    assert_eq!(counts, [counted(2, 0, 0, 0), counted(2, 0, 0, 0), counted(1, 0, 0, 1)], "{report}");
}

#[tokio::test]
async fn leads_that_gain_or_lose_everything_are_named() {
    let daemon = live(vec![partner("bank").loan("")]).await;
    let wants_loan = daemon.submit_blocking(LEAD.replace(", \"savings\"", "")).await.json();
    let wants_savings = daemon.submit_blocking(r#"{"productTypes":["savings"]}"#).await.json();
    let files = files(&[partner("saver").savings("")]);
    let report = replay(&daemon, files.path(), &[]);
    assert_eq!(report["loseAll"], json!({"count": 1, "leads": [wants_loan["leadUuid"]]}));
    assert_eq!(report["gainAll"], json!({"count": 1, "leads": [wants_savings["leadUuid"]]}));
}

#[tokio::test]
async fn what_files_do_not_say_stays_as_it_was() {
    let capped = partner("capped").loan("").and("\n[products.loan.limits]\nper_day = 1\n");
    let failing = r#"simulate = { delay = "1ms", failure = "error", failure_rate = 1.0 }"#;
    let daemon =
        live(vec![capped.clone(), partner("paused").loan(""), partner("failing").loan(failing)]).await;
    assert!(daemon.command(&["partners", "pause", "paused"]).status.success());
    for _ in 0..2 {
        daemon.submit_blocking(LEAD).await;
    }
    assert!(daemon.command(&["partners", "resume", "paused"]).status.success());
    let files = files(&[partner("capped").loan(""), partner("paused").loan(""), partner("failing").loan("")]);
    let report = replay(&daemon, files.path(), &[]);
    assert_eq!(report["offers"], counted(1, 0, 0, 0), "{report}");
    assert_eq!(seat(&report, "capped")["askedNow"], 1);

    // A lead that has grown since is another one.
    let table = daemon.submit_blocking(LEAD).await.json();
    let path = format!("{}/leads/{}", daemon.api, table["leadUuid"].as_str().unwrap());
    let made = daemon.command(&["token", "create", "--company", "Live", "--kind", "confidential"]);
    let token = String::from_utf8(made.stdout).unwrap();
    let grown = r#"{"loanInformation":{"loanAmount":900}}"#;
    assert_eq!(daemon.request(Method::PATCH, &path, token.trim(), grown).await.status, 200);
    assert_eq!(replay(&daemon, files.path(), &[])["skipped"], json!({"pending": 0, "grown": 1, "gone": 0}));
}

#[tokio::test]
async fn exclusive_partners_and_second_look_are_judged_by_the_files() {
    let daemon =
        live(vec![partner("one").loan(""), partner("two").loan(""), partner("instead").second_look(3.0, "")])
            .await;
    let lead = LEAD.replace("savings", "other");
    daemon.submit_blocking(&lead).await;
    let exclusive = files(&[
        partner("one").loan("exclusive = true"),
        partner("two").loan(""),
        partner("instead").second_look(3.0, ""),
    ]);
    assert_eq!(replay(&daemon, exclusive.path(), &[])["offers"], counted(1, 0, 0, 1));
    let without_loans =
        files(&[partner("instead").second_look(3.0, ""), partner("less").second_look(2.0, "")]);
    let report = replay(&daemon, without_loans.path(), &[]);
    assert_eq!(report["offers"], counted(0, 0, 1, 2), "one wins the auction of second look");
    assert_eq!(seat(&report, "instead")["offers"]["won"], 1);
}

#[tokio::test]
async fn a_running_daemon_tells_how_far_it_is_line_by_line() {
    const TABLES: usize = 2 * STEP + 1;
    let daemon = live(vec![partner("bank").savings("")]).await;
    for _ in 0..TABLES {
        assert_eq!(daemon.submit(r#"{"productTypes":["savings"]}"#).await.status, 200);
    }
    let key = daemon.admin_key.clone();
    let files = json!([["saver.toml", partner("saver").savings("").text()]]);
    let order = json!({"partnerFiles": files, "wish": {"since": 0}}).to_string();
    let url = format!("{}/replay", daemon.admin);
    let answer = daemon.request(Method::POST, &url, &key, &order).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/x-ndjson")));
    let lines: Vec<Value> = answer
        .body
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    assert_eq!(lines[0], json!({"progress": {"done": STEP, "total": TABLES}}));
    assert_eq!(lines[1], json!({"progress": {"done": 2 * STEP, "total": TABLES}}));
    assert_eq!(lines[2]["report"]["offers"], counted(0, 0, TABLES as u64, TABLES as u64));
    assert_eq!(lines.len(), 3);
    assert_eq!(daemon.request(Method::POST, &url, &daemon.publishable, &order).await.status, 401);
    assert_eq!(daemon.request(Method::POST, &url, &key, "{}").await.status, 400);
    let bad = order.replace("[products.savings]", "[products.yachts]");
    assert_eq!(daemon.request(Method::POST, &url, &key, &bad).await.status, 400);
}

#[tokio::test]
async fn faults_of_the_files_are_told() {
    let daemon = live(vec![partner("bank").loan("")]).await;
    let files = files(&[partner("bank").loan("nonsense = 1")]);
    let output = daemon.command(&["replay", "--partners", files.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nonsense"));
}
