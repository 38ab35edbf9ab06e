//! `offerd partners timing`: told from the stored rate tables.

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
    let (_, stopped) = daemon.terminate();
    assert_eq!(
        timings(&stopped.plan.command(&timing).output().unwrap()),
        running,
        "the store alone says the same"
    );
}
