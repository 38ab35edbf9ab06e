//! Partner health, in a metric, `offerd partners list` and the console, the worst first; and failures, in the log.

use serde_json::Value;

use crate::console::html;
use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{PartnerFile, far_lender, partner};
use crate::kit::{Daemon, Plan};

/// Asks all lenders; where the lead is a test, those that are named end so.
async fn asked(daemon: &Daemon, ends: &[&str]) {
    let tags = serde_json::to_string(ends).unwrap();
    let lead = format!(
        r#"{{"productTypes": ["loan"], "loanInformation": {{"loanAmount": 10000}},
            "creditInformation": {{"providedCreditRating": "good"}}, "clientTags": {{"sandbox": {tags}}}}}"#
    );
    assert_eq!(daemon.submit_blocking(&lead).await.status, 200);
}

fn listed(daemon: &Daemon) -> Vec<Value> {
    let output = daemon.command(&["partners", "list", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Key and health of each partner, as they are listed.
fn healths(daemon: &Daemon) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    listed(daemon).iter().map(|row| (text(&row["partner"]), text(&row["health"]["health"]))).collect()
}

async fn gauge(daemon: &Daemon, partner: &str) -> String {
    let series = format!("offerd_partner_health{{partner=\"{partner}\",product_type=\"loan\"}} ");
    let metrics = daemon.metrics().await;
    metrics.lines().find_map(|line| line.strip_prefix(&series)).expect("it is told").to_owned()
}

fn lenders() -> Vec<PartnerFile> {
    ["amber", "birch", "cedar"].map(|key| partner(key).loan("")).to_vec()
}

/// Three lenders: one that is well, one that fails whoever asks it, and one that declines.
async fn lenders_of_each_kind() -> Plan {
    let failing = FarSide::start(|_| Deed::Json(500, String::new())).await;
    let declining = FarSide::start(|_| Deed::Json(200, r#"{"no": true}"#.to_owned())).await;
    let far = |key: &str, side: &FarSide| far_lender(key, &side.url("/"), "");
    let partners = vec![partner("amber").loan(""), far("birch", &failing), far("cedar", &declining)];
    let plan = Daemon::with_partners(partners);
    plan.write_settings("[alerts]\nevery = '20ms'\n");
    plan
}

fn pair(partner: &str, health: &str) -> (String, String) {
    (partner.to_owned(), health.to_owned())
}

fn all_unknown() -> [(String, String); 3] {
    ["amber", "birch", "cedar"].map(|partner| pair(partner, "unknown"))
}

/// The alerts that are listed.
fn alerts(daemon: &Daemon) -> Vec<Value> {
    let output = daemon.command(&["alerts", "list", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    listed["alerts"].as_array().unwrap().clone()
}

/// A test may ask a partner to fail, or ask its sandbox; also as long as nobody else has asked since the start.
#[tokio::test]
async fn tests_say_nothing_of_how_well_a_partner_is() {
    let daemon = Daemon::with_partners(lenders()).start().await;
    for _ in 0..12 {
        asked(&daemon, &["birch=malformed", "cedar=unreachable"]).await;
    }
    assert_eq!(healths(&daemon), all_unknown());
    assert_eq!(gauge(&daemon, "birch").await, "0");
    let page = html(&daemon, "/console/partners/birch").await;
    assert!(page.contains("12 failed"), "what became of them is shown: {page}");
}

#[tokio::test]
async fn an_alert_of_a_partner_says_in_words_what_it_does() {
    let daemon = lenders_of_each_kind().await.start().await.with_live_company();
    for _ in 0..6 {
        asked(&daemon, &[]).await;
    }
    let waiting = async {
        loop {
            if let Some(alert) =
                alerts(&daemon).into_iter().find(|alert| alert["name"] == "OfferdPartnerUnwell")
            {
                return alert;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let alert = tokio::time::timeout(crate::kit::PATIENCE, waiting).await.expect("it is raised");
    let told = alert["summary"].as_str().unwrap();
    assert!(told.starts_with("birch (loan) is worse than usual: failing: "), "{told}");
    assert_eq!(alert["labels"], serde_json::json!({ "partner": "birch", "product_type": "loan" }));
}

#[tokio::test]
async fn the_worst_stand_first_wherever_they_are_shown() {
    let daemon = lenders_of_each_kind().await.start().await.with_live_company();
    assert_eq!(healths(&daemon), all_unknown());
    for _ in 0..6 {
        asked(&daemon, &[]).await;
    }
    assert_eq!(
        healths(&daemon),
        [pair("birch", "failing"), pair("amber", "healthy"), pair("cedar", "healthy")]
    );
    let cause = listed(&daemon)[0]["health"]["cause"].as_str().unwrap().to_owned();
    assert!(cause.starts_with("6 of 6 asks failed in the last 1 min, usually"), "{cause}");
    assert_eq!(gauge(&daemon, "birch").await, "3");
    assert_eq!(gauge(&daemon, "amber").await, "0");

    let people = daemon.command(&["partners", "list"]);
    let people = String::from_utf8(people.stdout).unwrap();
    assert!(people.contains(&format!("failing: {cause}")), "{people}");
    let page = html(&daemon, "/console/partners").await;
    let place = |key: &str| page.find(&format!("href=\"/console/partners/{key}\"")).unwrap();
    assert!(place("birch") < place("amber") && place("amber") < place("cedar"), "{page}");
    assert!(page.contains("<span class=\"pill bad\">failing</span>") && page.contains(&cause), "{page}");
    assert!(html(&daemon, "/console/partners/birch").await.contains(&cause));
    assert!(html(&daemon, "/console").await.contains("1 failing"));

    // Who is taken out is nobody's trouble any more.
    assert!(daemon.command(&["partners", "pause", "birch"]).status.success());
    assert_eq!(healths(&daemon)[1], pair("birch", "not_asked"));
    assert_eq!(gauge(&daemon, "birch").await, "0");
}

#[tokio::test]
async fn counters_of_every_outcome_are_there_before_anything_happens() {
    let daemon = Daemon::with_partners(lenders()).start().await;
    let metrics = daemon.metrics().await;
    for partner in ["amber", "birch", "cedar"] {
        for word in ["offers", "declined", "timed_out", "unreachable", "bad_answer", "kept_out", "panicked"] {
            let told = format!(
                "offerd_partner_outcomes_total{{partner=\"{partner}\",product_type=\"loan\",outcome=\"{word}\"}} 0"
            );
            assert!(metrics.contains(&told), "{told}: {metrics}");
        }
        assert_eq!(gauge(&daemon, partner).await, "0");
    }
    partner("later").loan("").write(daemon.partners());
    assert!(daemon.command(&["reload"]).status.success());
    let metrics = daemon.metrics().await;
    let told =
        "offerd_partner_outcomes_total{partner=\"later\",product_type=\"loan\",outcome=\"timed_out\"} 0";
    assert!(metrics.contains(told), "those of a partner that comes with a reload too: {metrics}");
}

#[tokio::test]
async fn failures_are_one_line_a_minute_and_partner_and_each_of_its_own_at_debug() {
    let ends = ["amber=malformed", "birch=unreachable"];
    let quiet = Daemon::with_partners(lenders()).start().await;
    for _ in 0..5 {
        asked(&quiet, &ends).await;
    }
    let log = quiet.log();
    let of = |partner: &str| {
        let said = format!("partner=\"{partner}\"");
        log.lines()
            .filter(|line| line.contains("asks of this partner failed") && line.contains(&said))
            .count()
    };
    assert_eq!((of("amber"), of("birch"), of("cedar")), (1, 1, 0), "{log}");
    assert!(!log.contains("an ask of a partner failed"), "{log}");
    let (_, stopped) = quiet.terminate();
    let log = stopped.plan.log();
    assert!(log.contains("failed=4 outcomes=\"bad_answer=4\""), "the rest is told at the end: {log}");

    let wordy = Daemon::with_partners(lenders()).setting("log.filter", "info,offerd_engine::matching=debug");
    let wordy = wordy.start().await;
    for _ in 0..5 {
        asked(&wordy, &ends).await;
    }
    let log = wordy.log();
    let singles = log.lines().filter(|line| line.contains("an ask of a partner failed"));
    assert_eq!(singles.count(), 10, "{log}");
}
