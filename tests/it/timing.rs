//! `offerd partners timing`: told from the stored rate tables.

use hyper::Method;
use serde_json::Value;

use crate::kit::Daemon;
use crate::kit::partners::partner;

const LEAD: &str = r#"{
    "productTypes": ["loan", "savings"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"},
    "clientTags": {"sandbox": ["lender=timed_out"]}
}"#;

fn timings(output: &std::process::Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn answers_and_silences_are_counted_by_partner_and_product_over_restarts() {
    let lender = partner("lender").loan("").replaced("timeout = \"10s\"", "timeout = \"500ms\"");
    let daemon = Daemon::with_partners(vec![lender, partner("bank").savings("").loan("")]).start().await;
    for _ in 0..3 {
        assert_eq!(daemon.submit_blocking(LEAD).await.status, 200);
    }
    let timing = ["partners", "timing", "--since", "1h", "--json"];
    let running = timings(&daemon.command(&timing));
    let of = |partner: &str, product: &str| -> Value {
        let mut rows = running.iter();
        rows.find(|row| row["partner"] == partner && row["productType"] == product).unwrap().clone()
    };
    let lender = of("lender", "loan");
    assert_eq!(
        (&lender["asked"], &lender["timedOut"], &lender["timeoutMs"]),
        (&3.into(), &3.into(), &500.into())
    );
    assert_eq!(lender["p50Ms"], Value::Null);
    let bank = of("bank", "savings");
    assert_eq!((&bank["asked"], &bank["offered"], &bank["timedOut"]), (&3.into(), &3.into(), &0.into()));
    assert!(bank["p99Ms"].is_u64());
    assert_eq!(bank["shorter"][0]["timeoutMs"], 7500);
    assert_eq!(running.len(), 3);

    let people = daemon.command(&["partners", "timing"]);
    assert!(String::from_utf8_lossy(&people.stdout).contains("out of time"));
    let nobody = daemon.command(&["partners", "timing", "nope"]);
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("there is no partner `nope`; there are: "));
    assert!(!nobody.status.success());
    let (_, stopped) = daemon.terminate();
    assert_eq!(
        timings(&stopped.plan.command(&timing).output().unwrap()),
        running,
        "the store alone says the same"
    );
}

#[tokio::test]
async fn a_wait_that_may_adapt_is_shortened_to_what_answers_take() {
    let adaptive = "adaptive_timeout = { false_timeouts = 0.01, floor = \"250ms\" }";
    let daemon = Daemon::with_partners(vec![partner("fast").savings(adaptive), partner("plain").savings("")]);
    let daemon = daemon.start().await;
    let made = daemon.command(&["token", "create", "--company", "Live", "--kind", "publishable"]);
    let token = String::from_utf8(made.stdout).unwrap();
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    for _ in 0..210 {
        assert_eq!(daemon.request(Method::POST, &url, token.trim(), "{}").await.status, 200);
    }
    let timing = ["partners", "timing", "--since", "1h", "--json"];
    let adapted =
        |rows: &[Value]| -> Vec<Value> { rows.iter().map(|row| row["adaptedTimeoutMs"].clone()).collect() };
    assert_eq!(adapted(&timings(&daemon.command(&timing))), [250.into(), Value::Null]);

    // What was learnt is read from the stored tables at the next start.
    let daemon = daemon.kill().start().await;
    assert_eq!(adapted(&timings(&daemon.command(&timing))), [250.into(), Value::Null]);
}

#[tokio::test]
async fn a_wait_that_could_not_adapt_is_a_fault_of_the_file() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let wrong = partner("wrong").savings("adaptive_timeout = { false_timeouts = 0.9, floor = \"11s\" }");
    wrong.write(daemon.partners());
    let output = daemon.command(&["check"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(
        told.contains("adaptive_timeout.false_timeouts") && told.contains("adaptive_timeout.floor"),
        "{told}"
    );
}
