//! A partner's statement, held against what is booked: by the command and on the console's page.

use serde_json::{Value, json};

use crate::kit::Daemon;
use crate::kit::partners::partner;
use crate::people::{Browser, add, text};

/// A daemon whose partner has reported four payouts and reversed one.
async fn booked() -> Daemon {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await.with_live_company();
    let offer = daemon.submit("{}").await.json()["savingsOffers"][0]["uuid"].as_str().unwrap().to_owned();
    let mut csv = "partner,transactionId,eventType,clickId,payoutInCents,revoked\n".to_owned();
    for (id, cents) in [("T-1", "1250"), ("T-2", "100000"), ("T-3", "500"), ("T-4", "700")] {
        csv += &format!("bank,{id},conversion,{offer},{cents},\n");
    }
    let file = written(&daemon, "reports.csv", &(csv + "bank,T-3,,,,true\n"));
    let imported = daemon.command(&["events", "import", &file]);
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    daemon
}

fn written(daemon: &Daemon, name: &str, text: &str) -> String {
    let file = daemon.file(name);
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

const STATEMENT: &str =
    "transaction_id,amount,note\nT-1,12.50,x\nT-2,\"$1,000.00\",\nT-2,0.01,again\nT-9,3,\n";

#[tokio::test]
async fn a_statement_shows_what_matches_and_what_differs() {
    let daemon = booked().await;
    let file = written(&daemon, "statement.csv", STATEMENT);
    let reconciled = |words: &[&str]| {
        let output = daemon.command(&[&["report", "reconcile", "bank", &file, "--json"], words].concat());
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let (code, found) = reconciled(&[]);
    assert_eq!(code, Some(1), "they differ");
    let sum = |count, here, there| json!({"count": count, "hereInCents": here, "thereInCents": there});
    assert_eq!(found["matched"], sum(1, 1250.0, 1250.0));
    assert_eq!(found["missingHere"], sum(1, 0.0, 300.0));
    assert_eq!(found["missingThere"], sum(1, 700.0, 0.0));
    assert_eq!(found["otherAmount"], sum(1, 100_000.0, 100_001.0));
    let differences: Vec<_> = found["differences"].as_array().unwrap().iter().collect();
    let told = |one: &Value| (one["transactionId"].clone(), one["result"].clone(), one["lines"].clone());
    assert_eq!(
        differences.into_iter().map(told).collect::<Vec<_>>(),
        [
            (json!("T-2"), json!("otherAmount"), json!([3, 4])),
            (json!("T-4"), json!("missingThere"), json!([])),
            (json!("T-9"), json!("missingHere"), json!([5])),
        ],
        "what was reversed is owed by nobody"
    );

    let (code, found) = reconciled(&["--until", "2020-01-31"]);
    assert_eq!((code, &found["missingHere"]["count"]), (Some(1), &json!(3)));
    assert!(found["differences"][0]["countsOn"].is_string(), "it is booked on another day: {found}");

    let csv = daemon.command(&["report", "reconcile", "bank", &file, "--csv"]);
    assert!(String::from_utf8_lossy(&csv.stdout).contains("\nother amount,T-2,1000.00,1000.01,"), "{csv:?}");
    let whole = written(&daemon, "whole.csv", "transaction_id,amount\nT-1,12.5\nT-2,1000\nT-3,0\nT-4,7\n");
    let same = daemon.command(&["report", "reconcile", "bank", &whole]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
}

#[tokio::test]
async fn what_cannot_be_compared_is_told() {
    let daemon = booked().await;
    let refused = |partner: &str, name: &str, statement: &str| {
        let file = written(&daemon, name, statement);
        let output = daemon.command(&["report", "reconcile", partner, &file]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let told = refused("bank", "names.csv", "transactionId,amount\nT-1,12.50\n");
    assert!(told.contains("no column `transaction_id`; if `transactionId` is it, rename that"), "{told}");
    let told = refused("bank", "amounts.csv", "transaction_id,amount\nT-1,\"12,50\"\nT-2,x\n");
    assert!(told.contains("amounts.csv: line 2 `amount`") && told.contains("line 3 `amount`"), "{told}");
    let told = refused("bnak", "fine.csv", STATEMENT);
    assert!(told.contains("did you mean `bank`?"), "{told}");
}

#[tokio::test]
async fn the_page_shows_the_same_of_a_pasted_file() {
    let daemon = booked().await;
    add(&daemon, "analyst", "analyst");
    let analyst = Browser::of(&daemon, "analyst").await;
    let path = "/console/reports/statement";
    let pasted = [("partner", "bank"), ("statement", STATEMENT)];
    let page = text(&analyst.post(path, &pasted).await);
    for part in ["Differences</h2>", "other amount", "<code>T-9</code>", "$1,000.01", ">3, 4<"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let file = analyst.post(path, &[pasted[0], pasted[1], ("as", "csv")]).await;
    let named = "attachment; filename=\"reconciliation-bank.csv\"";
    assert_eq!(file.header("content-disposition"), Some(named));

    let lines: String = (0..5_000).map(|nth| format!("X-{nth},{nth}.25\r\n")).collect();
    let long = format!("transaction_id,amount\r\n{lines}");
    let page = text(&analyst.post(path, &[("partner", "bank"), ("statement", &long)]).await);
    assert!(page.contains("<td class=\"num\" data-label=\"Transactions\">5,000</td>"), "{page}");
    let wrong = analyst.post(path, &[("partner", "bank"), ("statement", "id,amount\n")]).await;
    assert_eq!(wrong.status, 400);
    assert!(text(&wrong).contains("no column <code>transaction_id</code>"), "{}", text(&wrong));
    let endless = "x".repeat(4 << 20);
    let refused = analyst.post(path, &[("partner", "bank"), ("statement", &endless)]).await;
    assert!(refused.status == 413 && text(&refused).contains("<h1>"), "{}", text(&refused));
}
