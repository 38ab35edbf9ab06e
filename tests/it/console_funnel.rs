//! The funnel in the console: the feeds, counted once, over restarts too.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::console::html;
use crate::kit::Daemon;
use crate::kit::partners::partner;

/// Longest wait for the figures to be counted.
const PATIENCE: Duration = Duration::from_secs(60);

const LEAD: &str = r#"{
    "productTypes": ["loan", "savings"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

/// Waits until the page holds a row.
async fn counted(daemon: &Daemon, path: &str, row: &str) -> String {
    let looking = async {
        loop {
            let page = html(daemon, path).await;
            if page.contains(row) {
                return page;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("{row} was not counted"))
}

/// The row of a product: leads, rate tables, with offers, offers, clicks, applied, funded, payouts.
fn row(figures: [&str; 8]) -> String {
    let names = ["Leads", "Rate tables", "With offers", "Offers", "Clicks", "Applied", "Funded", "Payouts"];
    let cells = names.iter().zip(figures);
    cells.map(|(name, figure)| format!("<td class=\"num\" data-label=\"{name}\">{figure}</td>")).collect()
}

async fn live() -> Daemon {
    let partners = vec![partner("bank").loan("").savings(""), partner("lender").loan("")];
    let mut daemon = Daemon::with_partners(partners).start().await;
    let made = |kind: &str| {
        let made = daemon.command(&["token", "create", "--company", "Live & Co", "--kind", kind]);
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    (daemon.publishable, daemon.confidential) = (made("publishable"), made("confidential"));
    daemon
}

async fn click(daemon: &Daemon, offer: &Value) {
    let url = format!("{}/click/{}", daemon.api, offer["uuid"].as_str().unwrap());
    assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 302);
}

/// Reports on an offer over the command line, as whoever keeps the daemon may.
fn report(daemon: &Daemon, offer: &Value, transaction: &str, event: &str) {
    let file = daemon.file("events.csv");
    let uuid = offer["uuid"].as_str().unwrap();
    let text = format!("partner,transactionId,eventType,offerUuid\nbank,{transaction},{event},{uuid}\n");
    std::fs::write(&file, text).unwrap();
    let told = daemon.command(&["events", "import", file.to_str().unwrap()]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
}

fn loan_of_bank(table: &Value) -> &Value {
    let loans = table["loanOffers"].as_array().unwrap();
    loans.iter().find(|offer| offer["originator"]["key"] == "bank").unwrap()
}

/// Waits until a report says this of loans.
async fn reported(daemon: &Daemon, wanted: &Value) {
    let loans = || {
        let told = daemon.command(&["report", "--by", "product", "--format", "json"]);
        let report: Value = serde_json::from_slice(&told.stdout).unwrap();
        let rows = report["rows"].as_array().unwrap();
        rows.iter().find(|row| row["by"] == json!(["loan"])).cloned().unwrap_or_default()
    };
    let is_wanted = |row: Value| wanted.as_object().unwrap().iter().all(|(name, one)| row[name] == *one);
    let looking = async {
        while !is_wanted(loans()) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, looking).await;
    waited.unwrap_or_else(|_| panic!("{wanted}: {}", loans()));
}

#[tokio::test]
async fn each_stage_is_counted_by_product_and_company_and_once_over_a_crash() {
    let daemon = live().await;
    let mut table = Value::Null;
    for _ in 0..3 {
        table = daemon.submit_blocking(LEAD).await.json();
    }
    let loan = loan_of_bank(&table);
    click(&daemon, loan).await;
    click(&daemon, loan).await;
    report(&daemon, loan, "a", "applied");
    report(&daemon, loan, "f", "funded");

    // The kit's loans earn a hundred dollars when they are funded.
    let loans = row(["3", "3", "3", "6", "2", "1", "1", "$100"]);
    let page = counted(&daemon, "/console/funnel", &loans).await;
    assert!(page.contains(&row(["3", "3", "3", "3", "0", "0", "0", "$0"])), "savings: {page}");
    assert!(page.contains(&row(["3", "3", "3", "9", "2", "1", "1", "$100"])), "the company: {page}");
    assert!(page.contains("Live &amp; Co") && !page.contains("Still counting"), "{page}");
    for heading in ["Leads and rate tables", "Offers shown", "Clicks, applications and fundings", "Payouts"] {
        assert!(page.contains(&format!("<h2>{heading} by day</h2>")), "{heading}: {page}");
    }
    assert!(page.contains("<td>$100</td>"), "dollars are told as such: {page}");
    let stranger = html(&daemon, "/console/funnel?leads=test").await;
    assert!(stranger.contains("Nothing in this period"), "tests are counted apart: {stranger}");
    let others = "leads=live\">3 live leads</a>";
    assert!(
        stranger.contains(others) && !page.contains("there are <a"),
        "and it is told where to look: {stranger}"
    );

    let daemon = daemon.kill().start().await;
    daemon.submit_blocking(LEAD).await;
    let loans = row(["4", "4", "4", "8", "2", "1", "1", "$100"]);
    counted(&daemon, "/console/funnel?time=year&product=loan", &loans).await;
}

#[tokio::test]
async fn what_the_page_does_not_offer_is_refused() {
    let daemon = live().await;
    for query in ["product=moon", "company=me"] {
        let answer = crate::console::page(&daemon, &format!("/console/funnel?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
    }
}

/// The partner's clock is wrong for one of the reports: nothing happens before there is a lead.
#[tokio::test]
async fn what_is_taken_back_goes_from_the_funnel_as_from_reports_also_over_a_crash() {
    let daemon = live().await;
    let token = daemon.command(&["token", "create", "--partner", "bank"]);
    let token = String::from_utf8(token.stdout).unwrap().trim().to_owned();
    let table = daemon.submit_blocking(LEAD).await.json();
    let loan = loan_of_bank(&table);
    click(&daemon, loan).await;
    let send = async |report: Value| {
        let url = format!("{}/partnerEvents", daemon.integrations);
        daemon.request(Method::POST, &url, &token, &report.to_string()).await.status
    };
    let now = chrono::Utc::now().to_rfc3339();
    for (transaction, event, at) in
        [("a", "applied", now.as_str()), ("f", "funded", &now), ("g", "funded", "2025-01-01T00:00:00Z")]
    {
        let report = json!({
            "transactionId": transaction, "eventType": event, "offerUuid": loan["uuid"], "occurredAt": at,
        });
        assert_eq!(send(report).await, 201, "{transaction}");
    }
    counted(&daemon, "/console/funnel", &row(["1", "1", "1", "2", "1", "1", "2", "$200"])).await;
    reported(
        &daemon,
        &json!({"leads": 1, "shown": 2, "clicks": 1, "applied": 1, "funded": 2, "payouts": 200.0}),
    )
    .await;

    for transaction in ["a", "g"] {
        assert_eq!(send(json!({"transactionId": transaction, "revoked": true})).await, 200, "{transaction}");
    }
    let daemon = daemon.kill().start().await;
    let page = counted(&daemon, "/console/funnel", &row(["1", "1", "1", "2", "1", "0", "1", "$100"])).await;
    assert!(page.contains(&row(["1", "1", "1", "3", "1", "0", "1", "$100"])), "the company: {page}");
    reported(
        &daemon,
        &json!({"leads": 1, "shown": 2, "clicks": 1, "applied": 0, "funded": 1, "payouts": 100.0}),
    )
    .await;
}
