//! `offerd partners timing`: from the stored rate tables, and from late answers.

use std::sync::Arc;

use hyper::Method;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::console::html;
use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{far_lender, partner};
use crate::kit::{Daemon, sample};

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
    let lender = partner("lender")
        .loan(r#"simulate = { delay = "1ms" }"#)
        .replaced("timeout = \"10s\"", "timeout = \"500ms\"");
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
    assert_eq!(bank["timeouts"], json!([]), "no timeout matters to who answers at once");
    let quarter = &lender["timeouts"][0];
    assert_eq!((&quarter["timeoutMs"], &quarter["percent"]), (&125.into(), &25.into()));
    assert_eq!((&quarter["offers"]["share"], &quarter["offers"]["low"]), (&0.0.into(), &0.0.into()));
    assert!(quarter["tablesP95Ms"].as_u64() < lender["timeouts"][3]["tablesP95Ms"].as_u64(), "{lender}");
    assert_eq!(lender["timeouts"][5]["offers"], Value::Null, "nobody has waited so long");
    assert_eq!(running.len(), 3);

    let people = daemon.command(&["partners", "timing"]);
    let people = String::from_utf8_lossy(&people.stdout).into_owned();
    for words in ["out of time", "lender (tests)", "> 500 ms", "of today's offers", "as it is", "not seen"] {
        assert!(people.contains(words), "{words}: {people}");
    }
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

/// What it would have won is known, though no table takes it in.
#[tokio::test]
async fn an_answer_that_comes_too_late_tells_what_a_longer_timeout_would_win() {
    let told = Arc::new(Notify::new());
    let answer = json!({"offers": [{"term": 36, "apr": 9.5, "link": "https://far.example/"}]}).to_string();
    let deed = Deed::JsonWhenTold(Arc::clone(&told), answer);
    let far = FarSide::start(move |_| deed.clone()).await;
    let lender = far_lender("far", &far.url("/"), "").replaced("timeout = \"3s\"", "timeout = \"2s\"");
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"], json!([]));
    told.notify_one();
    let watched = "offerd_wire_late_seconds_count{pool=\"far\",endpoint=\"loan_test\"} 1";
    while !daemon.metrics().await.contains(watched) {}
    let command = ["partners", "timing", "far", "--json"];
    // It is read aside, once it is there.
    let far = loop {
        let row = timings(&daemon.command(&command)).remove(0);
        if row["watched"] == 1 {
            break row;
        }
    };
    assert_eq!((&far["timedOut"], &far["tests"]), (&1.into(), &true.into()));
    assert_eq!(far["p95Ms"], far["seenToMs"], "that is when it came");
    let offered = |nth: usize| far["timeouts"][nth]["offers"]["share"].clone();
    assert_eq!((offered(3), offered(5)), (0.0.into(), 1.0.into()), "{far}");
    let uuid = table["uuid"].as_str().unwrap();
    assert_eq!(daemon.rate_table(uuid).await.json(), table, "a late offer never enters");

    let page = html(&daemon, "/console/partners/far/timeouts").await;
    for words in ["1 asks of tests: 0 with offers", "1 timed out; offerd kept watching 1 of those"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let people = daemon.command(&["partners", "timing", "far"]);
    let people = String::from_utf8(people.stdout).unwrap();
    for row in ["0.0 % (0.0 to 97.5)", "100.0 % (2.5 to 100.0)"] {
        assert!(page.contains(row) && people.contains(row), "{row}: {people} {page}");
    }
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
