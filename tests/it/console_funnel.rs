//! The funnel in the console: what the feeds say, counted once, over restarts too.

use std::time::Duration;

use hyper::Method;
use serde_json::Value;

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

#[tokio::test]
async fn each_stage_is_counted_by_product_and_company_and_once_over_a_crash() {
    let daemon = live().await;
    let mut table = Value::Null;
    for _ in 0..3 {
        table = daemon.submit_blocking(LEAD).await.json();
    }
    let of_bank = |offer: &&Value| offer["originator"]["key"] == "bank";
    let loan = table["loanOffers"].as_array().unwrap().iter().find(of_bank).unwrap();
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
    assert!(stranger.contains("Nothing in this time"), "tests are counted apart: {stranger}");
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
