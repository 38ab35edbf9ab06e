//! Offers in a partner's own words, and impossible amounts of money.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{PartnerFile, far_lender, partner};
use crate::kit::{Daemon, sample};

/// A file without a catalog: every offer is the partner's own.
fn card_market(url: &str) -> PartnerFile {
    partner("market").and(&format!(
        r#"
[products.credit_card]
timeout = "3s"

[products.credit_card.http]
url = "{url}"
sandbox_url = "{url}"
wire = {{ allow_addresses = ["127.0.0.1"], connect_timeout = "1s" }}

[products.credit_card.http.answer]
own = {{ sub_type = "credit_card", payout = {{ on = "click", fixed = 1.0 }}, conversion_probability = 0.5, disclaimer = "Terms apply." }}

[products.credit_card.http.answer.offer]
card = "offer.details"
"card.cardBenefits" = "['Lounge Access']"
landing_url = "offer.link"
payout = "offer.bid"
"#
    ))
}

fn cards() -> Deed {
    let details = |name: &str| json!({"cardImageUrl": "https://far.example/a.png", "cardType": "visa", "cardName": name, "lateFee": "29.5"});
    let offers = json!([
        {"details": details("For Maren Tolliver alone"), "link": "https://far.example/a?c={clickId}", "bid": 40},
        {"details": details("For anybody"), "link": "https://far.example/b"},
        {"details": {"cardImageUrl": "canary", "cardType": "visa"}, "link": "https://far.example/c"},
    ]);
    Deed::Json(200, json!({ "offers": offers }).to_string())
}

fn names(table: &Value) -> Vec<&str> {
    let offers = table["creditCardOffers"].as_array().unwrap().iter();
    offers.map(|offer| offer["details"]["cardName"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_partner_without_a_catalog_brings_its_own_offers_which_are_kept_with_its_answer() {
    let far = FarSide::start(|_| cards()).await;
    let daemon = Daemon::with_partners(vec![card_market(&far.url("/cards"))]).start().await;
    let table = daemon.submit_blocking(sample("credit_card")).await.json();
    assert_eq!(names(&table), ["For Maren Tolliver alone", "For anybody"], "{table} {}", daemon.log());
    let first = &table["creditCardOffers"][0];
    assert_eq!((&first["details"]["lateFee"], &first["disclaimer"]), (&json!(29.5), &json!("Terms apply.")));
    assert_eq!(first["details"]["cardBenefits"], json!(["Lounge Access"]));
    assert_eq!((&first["recommendationScore"], &first["partner"]["name"]), (&json!(10), &json!("market")));

    // The third is told of without a word that the partner said.
    daemon.logged(".cardImageUrl must be an absolute http or https URL").await;
    assert!(!daemon.log().contains("canary") && !daemon.log().contains("Maren"), "{}", daemon.log());
    let metrics = daemon.metrics().await;
    assert!(
        metrics.contains("offerd_offers_not_shown_total{partner=\"market\",product_type=\"credit_card\"} 1"),
        "{metrics}"
    );
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(why.contains("1 of its offers not shown"), "{why}");

    let click = daemon.request(Method::GET, first["url"].as_str().unwrap(), "", "").await;
    let uuid = first["uuid"].as_str().unwrap();
    assert_eq!(click.header("location"), Some(format!("https://far.example/a?c={uuid}").as_str()));

    let daemon = daemon.start_again().await;
    let poll = daemon.rate_table(table["uuid"].as_str().unwrap()).await.json();
    assert_eq!(names(&poll), names(&table), "its words are read back after a start");
}

#[tokio::test]
async fn words_of_its_own_are_sealed_and_go_with_the_lead() {
    let far = FarSide::start(|request| {
        let sent: Value = serde_json::from_str(&request.body).unwrap();
        let details = json!({"cardImageUrl": "https://far.example/a.png", "cardType": "visa", "cardName": sent["email"]});
        Deed::Json(200, json!({"offers": [{"details": details, "link": "https://far.example/"}]}).to_string())
    })
    .await;
    let market = card_market(&far.url("/cards"));
    let market = market.replaced("wire =", "json = { email = \"lead.personalInformation.email\" }\nwire =");
    let daemon = Daemon::with_partners(vec![market]).start().await;
    let lead: Value = serde_json::from_str(&sample("credit_card")).unwrap();
    let email = lead["personalInformation"]["email"].as_str().unwrap();
    let table = daemon.submit_blocking(lead.to_string()).await.json();
    assert_eq!(names(&table), [email], "{table} {}", daemon.log());
    let erased = daemon.command(&["lead", "erase", table["leadUuid"].as_str().unwrap()]);
    assert!(erased.status.success(), "{erased:?}");
    assert_eq!(daemon.rate_table(table["uuid"].as_str().unwrap()).await.status, 404);
    let plan = daemon.kill().plan;
    plan.canaries().assert_in_none_of(&[plan.store()]);
}

#[tokio::test]
async fn an_offer_of_the_catalog_is_shown_in_the_partners_words() {
    let answer = json!({"offers": [
        {"term": 36, "apr": 9.5, "print": "As we told you."},
        {"term": 24, "apr": 0.0875, "print": "A fraction."},
        {"term": 24, "apr": 8.75, "payment": 475.0},
        {"term": 24, "apr": 8.75, "payment": 900.0},
    ]});
    let far = FarSide::start(move |_| Deed::Json(200, answer.to_string())).await;
    let lender = far_lender("far", &far.url("/"), "");
    let lender = lender.replaced(
        "apr = \"offer.apr\"",
        "apr = \"offer.apr\", terms_text = \"offer.print\", monthly_payment = \"offer.payment\"",
    );
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let loans = table["loanOffers"].as_array().unwrap();
    let mut shown: Vec<(&Value, &Value)> =
        loans.iter().map(|loan| (&loan["termLength"], &loan["terms"])).collect();
    shown.sort_by_key(|(term, _)| term.as_i64());
    assert_eq!(shown, [(&json!(24), &Value::Null), (&json!(36), &json!("As we told you."))], "{table}");

    daemon.logged("above 0 and below 1 percent").await;
    daemon.logged("its monthly payment is more than 2 % off").await;
    let metrics = daemon.metrics().await;
    assert!(
        metrics.contains("offerd_offers_doubted_total{partner=\"far\",product_type=\"loan\"} 1"),
        "{metrics}"
    );
}
