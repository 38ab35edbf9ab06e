//! Sample partners: every address shown to a person leads to the daemon itself.

use std::collections::BTreeSet;

use hyper::Method;
use serde_json::Value;

use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon, sample};

async fn open(daemon: &Daemon, url: &str) -> Answer {
    daemon.request(Method::GET, url, "", "").await
}

/// Every text that is an address, or would be one.
fn addresses(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => entries.values().for_each(|value| addresses(value, found)),
        Value::Array(elements) => elements.iter().for_each(|element| addresses(element, found)),
        Value::String(text) if text.contains("://") || text.contains("{base") => {
            found.insert(text.clone());
        }
        _ => {}
    }
}

/// A partner whose logo and offer are the daemon's, with these words in its file replaced.
fn bank(replaced: &[(&str, &str)]) -> String {
    let mut text = partner("bank").savings("").text();
    let own = [
        ("https://images.bank.example/logo.png", "{baseUrl}/samples/bank/logo.svg"),
        ("https://bank.example/apply", "{baseUrl}/samples/bank/account"),
    ];
    for (part, with) in own.iter().chain(replaced) {
        assert!(text.contains(part), "`{part}` is not in {text}");
        text = text.replace(part, with);
    }
    text
}

#[tokio::test]
async fn every_address_of_the_sample_partners_exists() {
    let plan = Daemon::with_sample_partners().setting("limits.burst_per_address", "5000");
    let daemon = plan.start().await;
    let mut shown = BTreeSet::new();
    for lead in ["everything", "mortgage_purchase", "second_look", "life_insurance"] {
        addresses(&daemon.submit_blocking(sample(lead)).await.json(), &mut shown);
    }
    for path in [
        "/offerPreview/loanOffers",
        "/offerPreview/creditCardOffers",
        "/offerPreview/savingsOffers",
        "/uiUtil/featuredFinancialInstitutions",
    ] {
        let answer = daemon.get(path).await;
        assert!(!answer.json().as_array().unwrap().is_empty(), "{path}");
        addresses(&answer.json(), &mut shown);
    }
    let (mut pictures, mut pages) = (0, 0);
    for url in &shown {
        assert!(url.starts_with(&daemon.api), "{url}");
        let mut answer = open(&daemon, url).await;
        if answer.status == 302 {
            let to = answer.header("location").unwrap().to_owned();
            assert!(to.starts_with(&daemon.api), "{url} leads to {to}");
            answer = open(&daemon, &to).await;
        }
        assert_eq!(answer.status, 200, "{url}");
        match answer.header("content-type").unwrap() {
            "image/svg+xml" => pictures += 1,
            "text/html; charset=utf-8" => pages += 1,
            other => panic!("{url} is {other}"),
        }
    }
    assert!(pictures > 20 && pages > 50, "{pictures} pictures, {pages} pages");
}

#[tokio::test]
async fn they_lead_to_the_configured_base_url_wherever_the_daemon_was_when_they_were_stored() {
    let plan = Daemon::with_partners(Vec::new());
    std::fs::write(plan.partners().join("bank.toml"), bank(&[])).unwrap();
    let daemon = plan.setting("api.base_url", "https://before.example").start().await;
    let table = daemon.submit("{}").await.json();
    let shown = |table: &Value| table["savingsOffers"][0]["partner"]["imageUrl"].as_str().unwrap().to_owned();
    assert_eq!(shown(&table), "https://before.example/samples/bank/logo.svg");
    let (_, stopped) = daemon.terminate();
    let moved = stopped.setting("api.base_url", "https://after.example/api").start().await;
    let table = moved.rate_table(table["uuid"].as_str().unwrap()).await.json();
    assert_eq!(shown(&table), "https://after.example/api/samples/bank/logo.svg");
    let offer = table["savingsOffers"][0]["uuid"].as_str().unwrap();
    let clicked = open(&moved, &format!("{}/click/{offer}", moved.api)).await;
    let to = format!("https://after.example/api/samples/bank/account?click={offer}");
    assert_eq!(clicked.header("location"), Some(to.as_str()));
}

#[tokio::test]
async fn a_page_says_what_it_is_and_runs_nothing() {
    let plan = Daemon::with_partners(Vec::new());
    let file = bank(&[("A partner of the tests.", "<script>alert(1)</script>")]);
    std::fs::write(plan.partners().join("bank.toml"), file).unwrap();
    let daemon = plan.start().await;
    let click = "6f2c1d3a-98b1-4c55-9d4e-0a1b2c3d4e5f";
    let page = open(&daemon, &format!("{}/samples/bank/account?click={click}", daemon.api)).await;
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("script-src"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let text = String::from_utf8(page.body.to_vec()).unwrap();
    assert!(text.contains("does not exist") && text.contains(click), "{text}");
    assert!(text.contains("&lt;script&gt;") && !text.contains("<script"), "{text}");
    for hostile in ["%3Cimg%20src%3Dx%3E", "%22%3E%3Cscript%3E"] {
        let page = open(&daemon, &format!("{}/samples/bank/account?click={hostile}", daemon.api)).await;
        let text = String::from_utf8(page.body.to_vec()).unwrap();
        assert!(page.status == 200 && !text.contains("<img src=x") && !text.contains("<script"), "{text}");
    }
}

#[tokio::test]
async fn of_a_partner_with_addresses_of_its_own_there_is_nothing() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    for path in ["bank/logo.svg", "bank/account", "bank/account.svg", "nobody/logo.svg"] {
        assert_eq!(open(&daemon, &format!("{}/samples/{path}", daemon.api)).await.status, 404, "{path}");
    }
}

#[test]
fn check_refuses_an_address_of_samples_that_nothing_is_at() {
    let plan = Daemon::with_partners(Vec::new());
    let check = |replaced: &[(&str, &str)]| {
        std::fs::write(plan.partners().join("bank.toml"), bank(replaced)).unwrap();
        let output = plan.command(&["check"]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(check(&[]).0, Some(0));
    assert_eq!(check(&[("samples/bank/logo.svg", "our/own/logo.png")]).0, Some(0), "somebody else serves it");
    for (part, with, key, said) in [
        ("samples/bank/logo.svg", "samples/other/logo.svg", "partner.image_url", "other/logo.svg"),
        ("samples/bank/logo.svg", "samples/bank/logo.png", "partner.image_url", "bank/logo.png"),
        ("samples/bank/account?", "samples/bank/acount?", "offers[0].landing_url", "bank/acount"),
        ("{baseUrl}/samples/bank/account", "{baseURL}/x", "offers[0].landing_url", "begin with `{baseUrl}/`"),
        (
            "{baseUrl}/samples/bank/logo.svg",
            "{baseUrl}logo.svg",
            "partner.image_url",
            "begin with `{baseUrl}/`",
        ),
        (
            "{baseUrl}/samples/bank/account",
            "https://a.example/{baseUrl}/",
            "offers[0].landing_url",
            "which offerd does not fill in",
        ),
    ] {
        let (code, told) = check(&[(part, with)]);
        assert_eq!(code, Some(64), "{with}: {told}");
        assert!(told.contains("bank.toml:") && told.contains(key) && told.contains(said), "{with}: {told}");
    }
}
