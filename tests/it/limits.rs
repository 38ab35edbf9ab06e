//! Limits: caps, budgets, hours, pauses and exclusive partners, over restarts and reloads.

use serde_json::{Value, json};

use crate::kit::partners::{PartnerFile, partner};
use crate::kit::{Daemon, signal};

const LOAN: &str = r#"{
    "productTypes": ["loan"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

/// Limits of `[products.loan]`.
fn limited(key: &str, product: &str, limits: &str) -> PartnerFile {
    partner(key).loan(product).and(&format!("\n[products.loan.limits]\n{limits}\n"))
}

/// A daemon with a live company: the leads of a first start's tokens are tests.
async fn live(partners: Vec<PartnerFile>) -> Daemon {
    let mut daemon = Daemon::with_partners(partners).start().await;
    let made = run(&daemon, &["token", "create", "--company", "Live", "--kind", "publishable"]).unwrap();
    daemon.publishable = made.lines().next().unwrap().to_owned();
    daemon
}

async fn lenders(daemon: &Daemon) -> Vec<String> {
    let table = daemon.submit_blocking(LOAN).await.json();
    let offers = table["loanOffers"].as_array().unwrap().iter();
    let mut names: Vec<String> =
        offers.map(|offer| offer["originator"]["key"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn standing(daemon: &Daemon, key: &str) -> Value {
    let output = daemon.command(&["partners", "list", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = listed.as_array().unwrap().iter().find(|standing| standing["partner"] == key);
    found.expect("the partner is listed").clone()
}

fn run(daemon: &Daemon, arguments: &[&str]) -> Result<String, String> {
    let output = daemon.command(arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &told)
    } else {
        Err(told)
    }
}

#[tokio::test]
async fn a_capped_partner_is_not_asked_and_not_pending_and_stays_capped_over_a_kill() {
    let capped = limited("capped", "", "per_day = 2");
    let daemon = live(vec![capped, partner("open").loan("")]).await;
    assert_eq!(lenders(&daemon).await, ["capped", "open"]);
    assert_eq!(lenders(&daemon).await, ["capped", "open"]);
    assert_eq!(lenders(&daemon).await, ["open"]);

    let daemon = daemon.kill().start().await;
    assert_eq!(lenders(&daemon).await, ["open"]);
    let shown = standing(&daemon, "capped");
    assert_eq!((&shown["state"], &shown["askedToday"]), (&json!("capped"), &json!(2)));
    assert!(shown["until"].is_string(), "{shown}");
    assert_eq!(standing(&daemon, "open")["askedToday"], 4);

    let page = daemon.request(hyper::Method::GET, &format!("{}/metrics", daemon.admin), "", "").await;
    let page = String::from_utf8_lossy(&page.body).into_owned();
    let line = |start: &str| page.lines().find(|line| line.starts_with(start)).map(str::to_owned);
    let held_back = line("offerd_seats_held_back_total").expect("it is counted");
    assert!(held_back.contains("per_day") && held_back.ends_with(" 1"), "{held_back}");
    assert!(line("offerd_limit_used_ratio").is_some_and(|used| used.ends_with(" 1")), "{page}");
}

#[tokio::test]
async fn a_submit_that_is_refused_gives_its_asks_back() {
    let daemon = live(vec![limited("capped", "", "per_day = 2")]).await;
    let named = LOAN.replacen('{', r#"{"uuid":"7d9f2c1e-33aa-4c7f-8b5d-0a1b2c3d4e5f","#, 1);
    assert_eq!(daemon.submit_blocking(&named).await.status, 200);
    for _ in 0..3 {
        assert_eq!(daemon.submit_blocking(&named).await.status, 409);
    }
    assert_eq!(standing(&daemon, "capped")["askedToday"], 1);
    assert_eq!(lenders(&daemon).await, ["capped"]);
    assert!(lenders(&daemon).await.is_empty());
}

#[tokio::test]
async fn leads_of_test_tokens_are_not_counted() {
    let daemon = live(vec![limited("capped", "", "per_day = 1")]).await;
    let made = run(&daemon, &["token", "create", "--company", "Acme", "--kind", "publishable", "--test"]);
    let token = made.unwrap().lines().next().unwrap().to_owned();
    let url = format!("{}/leads/rateTables", daemon.api);
    for _ in 0..2 {
        let table = daemon.request(hyper::Method::POST, &url, &token, LOAN).await.json();
        assert_eq!(table["loanOffers"].as_array().unwrap().len(), 1);
    }
    assert_eq!(lenders(&daemon).await, ["capped"]);
    assert!(lenders(&daemon).await.is_empty());
}

#[tokio::test]
async fn a_pause_holds_at_once_over_a_reload_and_over_a_kill_until_it_is_ended() {
    let both = partner("both").loan("").savings("");
    let daemon = live(vec![both, partner("open").loan("")]).await;
    run(&daemon, &["partners", "pause", "both", "--product", "loan"]).unwrap();
    assert_eq!(lenders(&daemon).await, ["open"]);
    let savings = daemon.submit_blocking(r#"{"productTypes":["savings"]}"#).await.json();
    assert_eq!(savings["savingsOffers"].as_array().unwrap().len(), 1);

    signal(daemon.pid(), "HUP");
    daemon.logged("partners reloaded").await;
    assert_eq!(lenders(&daemon).await, ["open"]);

    let daemon = daemon.kill().start().await;
    assert_eq!(lenders(&daemon).await, ["open"]);
    let shown = standing(&daemon, "both");
    assert_eq!(shown["state"], "pausedByOperator");
    assert!(shown["since"].is_string());

    run(&daemon, &["partners", "resume", "both"]).unwrap();
    assert_eq!(lenders(&daemon).await, ["both", "open"]);
    let told = run(&daemon, &["partners", "resume", "both"]).unwrap_err();
    assert!(told.contains("is not paused"), "{told}");
}

#[tokio::test]
async fn a_pause_of_a_stopped_daemon_holds_when_it_starts() {
    let daemon = live(vec![partner("one").loan(""), partner("two").loan("")]).await;
    let (_, stopped) = daemon.terminate();
    let pause = ["partners", "pause", "one", "--reason", "answers 500 since noon"];
    let paused = stopped.plan.command(&pause).output().unwrap();
    assert!(paused.status.success(), "{}", String::from_utf8_lossy(&paused.stderr));
    let listed = stopped.plan.command(&["partners", "list"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("paused by an operator since"), "{listed}");
    assert!(listed.contains(", by ") && listed.contains("(uid "), "{listed}");
    assert!(listed.contains(": answers 500 since noon"), "{listed}");
    let daemon = stopped.start().await;
    assert_eq!(lenders(&daemon).await, ["two"]);
    let told = run(&daemon, &["partners", "resume", "one", "--product", "loan"]).unwrap_err();
    assert!(told.contains("as a whole"), "{told}");
}

#[tokio::test]
async fn a_fault_in_the_partner_files_keeps_nobody_from_pausing_with_the_running_daemon() {
    let daemon = live(vec![partner("one").loan("")]).await;
    std::fs::write(daemon.partners().join("broken.toml"), "x = ").unwrap();
    let paused = run(&daemon, &["partners", "pause", "one", "--json"]).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&paused).unwrap()["paused"], true);
    assert_eq!(standing(&daemon, "one")["state"], "pausedByOperator");
    run(&daemon, &["partners", "timing", "one"]).unwrap();

    let (_, stopped) = daemon.terminate();
    let listed = stopped.plan.command(&["partners", "list"]).output().unwrap();
    assert_eq!(listed.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&listed.stderr).contains("broken.toml"));
}

#[tokio::test]
async fn what_cannot_be_paused_is_told() {
    let daemon = live(vec![partner("one").loan("")]).await;
    let told = run(&daemon, &["partners", "pause", "nobody"]).unwrap_err();
    assert!(told.contains("there is no partner `nobody`; there are: one"), "{told}");
    let told = run(&daemon, &["partners", "pause", "one", "--product", "savings"]).unwrap_err();
    assert!(told.contains("`one` has no product `savings`; it has: loan"), "{told}");
    let told = run(&daemon, &["partners", "pause", "one", "--product", "yacht"]).unwrap_err();
    assert!(told.contains("must be one of"), "{told}");
}

#[tokio::test]
async fn an_exclusive_partner_gets_the_lead_alone_until_it_cannot_take_it() {
    let alone = limited("sole", "exclusive = true", "per_day = 1");
    let daemon = live(vec![alone, partner("open").loan("").savings("")]).await;
    let table = daemon.submit_blocking(LOAN.replace(r#"["loan"]"#, r#"["loan", "savings"]"#)).await.json();
    let lender = table["loanOffers"].as_array().unwrap();
    assert_eq!((lender.len(), &lender[0]["originator"]["key"]), (1, &json!("sole")));
    assert_eq!(table["savingsOffers"].as_array().unwrap().len(), 1, "other products are not touched");
    assert_eq!(lenders(&daemon).await, ["open"]);
}

#[tokio::test]
async fn of_an_exclusive_group_one_is_asked_and_who_is_not_in_it_as_well() {
    let prime = r#"exclusive = "prime""#;
    let partners = vec![
        partner("first").loan(prime),
        partner("second").loan(prime),
        partner("other").loan(r#"exclusive = "near""#),
        partner("open").loan(""),
    ];
    let daemon = live(partners).await;
    assert_eq!(lenders(&daemon).await, ["first", "open", "other"]);
    run(&daemon, &["partners", "pause", "first"]).unwrap();
    assert_eq!(lenders(&daemon).await, ["open", "other", "second"]);
}

#[tokio::test]
async fn a_budget_is_used_up_by_clicks_and_reports_and_given_back_by_revocations() {
    let limits = "\n[products.other.limits]\nper_day_budget = 5.0\n";
    let paid = partner("paid").second_look(3.0, "").and(limits);
    let daemon = live(vec![paid]).await;
    let other = async || {
        let table = daemon.submit_blocking(r#"{"productTypes":["other"]}"#).await.json();
        table["specialOffers"].as_array().unwrap().first().cloned()
    };
    let first = other().await.expect("it is asked");
    let click = first["url"].as_str().unwrap();
    for _ in 0..2 {
        let answer = daemon.request(hyper::Method::GET, click, "", "").await;
        assert!((300..400).contains(&answer.status), "{}", answer.status);
    }
    assert_eq!(standing(&daemon, "paid")["owedToday"], 3.0, "an offer earns by its first click");

    let token = run(&daemon, &["token", "create", "--partner", "paid"]).unwrap();
    let token = token.lines().next().unwrap().to_owned();
    let url = format!("{}/partnerEvents", daemon.integrations);
    let event = json!({
        "transactionId": "t-1", "eventType": "opened", "offerUuid": first["uuid"], "payoutInCents": 250
    });
    let answer = daemon.request(hyper::Method::POST, &url, &token, &event.to_string()).await;
    assert!(answer.status < 300, "{:?}", answer.json());
    assert_eq!(standing(&daemon, "paid")["state"], "overBudget");
    assert_eq!(other().await, None);

    let daemon = daemon.kill().start().await;
    let shown = standing(&daemon, "paid");
    assert_eq!((&shown["state"], &shown["owedToday"]), (&json!("overBudget"), &json!(5.5)));

    let url = format!("{}/partnerEvents", daemon.integrations);
    let revocation = json!({ "transactionId": "t-1", "revoked": true });
    let answer = daemon.request(hyper::Method::POST, &url, &token, &revocation.to_string()).await;
    assert!(answer.status < 300, "{:?}", answer.json());
    let shown = standing(&daemon, "paid");
    assert_eq!((&shown["state"], &shown["owedToday"]), (&json!("active"), &json!(3.0)));
    let daemon = daemon.kill().start().await;
    assert_eq!(standing(&daemon, "paid")["owedToday"], 3.0);
}

#[tokio::test]
async fn a_share_of_leads_and_days_are_kept_and_told() {
    let partners = vec![
        limited("half", "", "share = 0.5"),
        limited("later", "", "starts_on = 2100-01-01"),
        limited("over", "", "ends_on = 2020-12-31"),
        partner("open").loan(""),
    ];
    let daemon = live(partners).await;
    let named = |nth: u32| format!("7d9f2c1e-33aa-4c7f-8b5d-0a1b2c3d4e{nth:02x}");
    let lead = |nth: u32| LOAN.replacen('{', &format!("{{\"uuid\":\"{}\",", named(nth)), 1);
    let mut in_share = Vec::new();
    for nth in 0..8 {
        let table = daemon.submit_blocking(&lead(nth)).await.json();
        if table["loanOffers"].as_array().unwrap().len() == 2 {
            in_share.push(nth);
        }
    }
    assert_eq!(
        in_share,
        [3, 4, 5, 7],
        "whatever draws otherwise gives leads to others from one build to the next"
    );
    for (key, state) in [("half", "active"), ("later", "outsideDays"), ("over", "outsideDays")] {
        assert_eq!(standing(&daemon, key)["state"], state, "{key}");
    }
    assert!(standing(&daemon, "later")["until"].is_string());

    let explained: Value =
        serde_json::from_str(&run(&daemon, &["explain", &named(0), "--json"]).unwrap()).unwrap();
    let seats = explained["rateTables"][0]["seats"].as_array().unwrap();
    let seat = |key: &str| seats.iter().find(|seat| seat["partner"] == key).unwrap();
    for (key, why, wanted) in [
        ("half", "share", "a lead in its share of 0.5"),
        ("later", "dates", "a day from 2100-01-01 on in UTC"),
        ("over", "dates", "a day up to 2020-12-31 in UTC"),
    ] {
        assert_eq!(seat(key)["why"], why);
        assert_eq!(seat(key)["refusals"].as_array().unwrap().len(), 1, "{key}");
        assert_eq!(seat(key)["refusals"][0]["wanted"], wanted);
    }

    // What is not submitted is drawn by the uuid that it brings.
    let file = daemon.store().join("lead.json");
    for (nth, is_asked) in [(0, false), (3, true)] {
        std::fs::write(&file, lead(nth)).unwrap();
        let told = run(&daemon, &["explain", file.to_str().unwrap(), "--json"]).unwrap();
        let seats: Value = serde_json::from_str(&told).unwrap();
        let half = seats.as_array().unwrap().iter().find(|seat| seat["partner"] == "half").unwrap();
        assert_eq!(half["asked"], is_asked);
    }
}

#[tokio::test]
async fn explain_tells_what_the_running_daemon_has_counted() {
    let partners = vec![
        limited("capped", "", "per_day = 1"),
        partner("paused").loan(""),
        partner("sole").loan(r#"exclusive = true"#),
        partner("open").loan(""),
    ];
    let daemon = live(partners).await;
    run(&daemon, &["partners", "pause", "sole"]).unwrap();
    lenders(&daemon).await;
    run(&daemon, &["partners", "resume", "sole"]).unwrap();
    run(&daemon, &["partners", "pause", "paused"]).unwrap();
    let file = daemon.store().join("lead.json");
    std::fs::write(&file, LOAN).unwrap();
    let told = run(&daemon, &["explain", file.to_str().unwrap()]).unwrap();
    let row = |key: &str| told.lines().find(|line| line.trim_start().starts_with(key)).unwrap().to_owned();
    assert!(row("capped").contains("fewer asks than its cap"), "{told}");
    assert!(row("paused").contains("paused by an operator since"), "{told}");
    assert!(row("open").contains("no exclusive partner") && row("open").contains("sole"), "{told}");
}
