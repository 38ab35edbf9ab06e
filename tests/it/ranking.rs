//! Ranking: the effect of a company's clicks and fundings on the order of its offers, and its explanation.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::{PartnerFile, partner};
use crate::kit::{Daemon, Plan};

/// Longest wait for what was learnt to be in force.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a command answers as JSON.
fn told(daemon: &Daemon, words: &[&str]) -> Value {
    let output = daemon.command(&[words, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Two lenders with the same loan, of which the first pays more.
fn lenders() -> Vec<PartnerFile> {
    vec![partner("dearer").loan(""), partner("lender").loan("").replaced("fixed = 100.0", "fixed = 80.0")]
}

/// Learns at once, and from little.
fn learning(plan: Plan) -> Plan {
    let settings = [
        ("ranking.default", "expected_value"),
        ("ranking.matures_after", "0s"),
        ("ranking.refresh", "1s"),
        ("ranking.prior_rate", "0.1"),
        ("ranking.prior_strength", "2"),
        ("ranking.half_life", "0s"),
    ];
    settings.into_iter().fold(plan, |plan, (key, value)| plan.setting(key, value))
}

fn lead(rating: &str) -> String {
    let lead = json!({
        "productTypes": ["loan"],
        "loanInformation": {"loanAmount": 10000},
        "creditInformation": {"providedCreditRating": rating},
    });
    lead.to_string()
}

fn token(daemon: &Daemon, arguments: &[&str]) -> String {
    let output = daemon.command(&[&["token", "create"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

async fn table(daemon: &Daemon, company: &str) -> Value {
    let url = format!("{}/leads/rateTables", daemon.api);
    let answer = daemon.request(Method::POST, &url, company, &lead("good")).await;
    assert_eq!(answer.status, 200, "{}", answer.json());
    answer.json()
}

/// The loan offers of a table: whose, score, conversion probability, uuid.
fn offers(table: &Value) -> Vec<(String, f64, f64, String)> {
    let offer = |offer: &Value| {
        let figure = |name: &str| offer[name].as_f64().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (score, conversion) = (figure("recommendationScore"), figure("conversionProbability"));
        (text(&offer["originator"]["key"]), score, conversion, text(&offer["uuid"]))
    };
    table["loanOffers"].as_array().unwrap().iter().map(offer).collect()
}

fn order(table: &Value) -> Vec<String> {
    offers(table).into_iter().map(|(key, ..)| key).collect()
}

async fn click(daemon: &Daemon, offer: &str) {
    let url = format!("{}/click/{offer}", daemon.api);
    assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 302);
}

async fn funded(daemon: &Daemon, partner: &str, transaction: &str, about: (&str, &str)) {
    let report = json!({"transactionId": transaction, "eventType": "funded", about.0: about.1});
    let url = format!("{}/partnerEvents", daemon.integrations);
    let answer = daemon.request(Method::POST, &url, partner, &report.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.json());
}

/// Clicks on the offers of so many leads of a company, of which those of `lender` are funded.
async fn taught(daemon: &Daemon, company: &str, leads: usize) {
    let partner = token(daemon, &["--partner", "lender"]);
    for nth in 0..leads {
        let table = table(daemon, company).await;
        for (key, _, _, offer) in offers(&table) {
            click(daemon, &offer).await;
            // It counts once, however often it is opened.
            click(daemon, &offer).await;
            if key == "lender" {
                // A partner may know the lead only.
                let by_lead = ("leadUuid", table["leadUuid"].as_str().unwrap());
                let about = if nth == 0 { by_lead } else { ("clickId", &*offer) };
                funded(daemon, &partner, &format!("T-{nth}"), about).await;
            }
        }
    }
}

#[tokio::test]
async fn clicks_and_fundings_of_a_company_change_the_order_of_its_offers_and_of_nobody_elses() {
    let daemon = learning(Daemon::with_partners(lenders())).start().await;
    let [own, other] =
        ["Own", "Other"].map(|name| token(&daemon, &["--company", name, "--kind", "confidential"]));
    let before = table(&daemon, &own).await;
    assert_eq!(order(&before), ["dearer", "lender"]);
    let (_, score, conversion, _) = &offers(&before)[0];
    assert_eq!(*conversion, 0.1, "nothing was seen yet: what the settings believe");
    let interest = 0.80 * 100.0 / 107.0;
    assert!((score - interest * 0.1 * 100.0).abs() < 1e-4, "interest × conversion × payout: {score}");

    taught(&daemon, &own, 4).await;
    until_learnt(&daemon).await;
    let after = table(&daemon, &own).await;
    assert_eq!(order(&after), ["lender", "dearer"]);
    let learnt = offers(&after);
    assert!(learnt[0].2 > 0.6 && learnt[1].2 < 0.3, "{learnt:?}");
    assert_eq!(offers(&table(&daemon, &other).await)[0].1, *score, "what one has learnt is its own");
    let tested = daemon.submit_blocking(lead("good")).await.json();
    assert_eq!(order(&tested), ["dearer", "lender"], "test leads learn of test leads");

    let daemon = daemon.start_again().await;
    assert_eq!(offers(&table(&daemon, &own).await)[0].2, learnt[0].2, "and it stays learnt");
    let explained = told(&daemon, &["explain", before["uuid"].as_str().unwrap()]);
    let offer = &explained["rateTables"][0]["seats"][0]["offers"][0];
    assert_eq!(
        offer["standing"]["conversionFrom"], "prior",
        "as it was then, whatever was learnt since: {offer}"
    );
}

#[tokio::test]
async fn without_a_ranking_offers_are_as_they_have_always_been() {
    let daemon = Daemon::with_partners(lenders()).start().await;
    let own = token(&daemon, &["--company", "Own", "--kind", "confidential"]);
    taught(&daemon, &own, 2).await;
    let told = offers(&table(&daemon, &own).await);
    let told: Vec<_> =
        told.iter().map(|(key, score, conversion, _)| (key.as_str(), *score, *conversion)).collect();
    assert_eq!(told, [("dearer", 8.0, 0.1), ("lender", 6.4, 0.1)], "0.1 × $100 × 0.80, and so on");
}

#[tokio::test]
async fn who_asks_is_told_what_was_learnt_and_why_each_offer_stands_where_it_stands() {
    let daemon = learning(Daemon::with_partners(lenders())).start().await;
    let own = token(&daemon, &["--company", "Own", "--kind", "confidential"]);
    taught(&daemon, &own, 4).await;
    until_learnt(&daemon).await;
    let table = table(&daemon, &own).await;

    let learnt = told(&daemon, &["ranking", "--company", "Own", "--partner", "lender"]);
    assert_eq!(learnt["default"], "expected_value");
    let rows = learnt["rows"].as_array().unwrap();
    let places: Vec<_> = rows.iter().map(|row| (&row["offer"], &row["rating"])).collect();
    let (offer, rating) = (json!("personal"), json!("good"));
    assert_eq!(places, [(&Value::Null, &Value::Null), (&offer, &Value::Null), (&offer, &rating)]);
    for row in rows {
        assert_eq!((&row["clicks"], &row["conversions"]), (&json!(4.0), &json!(4.0)), "{row}");
        let [low, estimate, high] = ["low", "estimate", "high"].map(|name| row[name].as_f64().unwrap());
        assert!(low < estimate && estimate < high && high < 1.0, "{row}");
    }
    assert_eq!(told(&daemon, &["ranking", "--test"])["rows"], json!([]), "nobody has clicked as a test");

    let url = format!("{}/leads/{}/explanation", daemon.api, table["leadUuid"].as_str().unwrap());
    let to_client = daemon.request(Method::GET, &url, &own, "").await.json();
    assert_eq!(
        to_client["rateTables"][0]["partners"][0]["offers"][0]["conversionFrom"], "learnt",
        "{to_client}"
    );

    let explained = told(&daemon, &["explain", table["uuid"].as_str().unwrap()]);
    let seats = explained["rateTables"][0]["seats"].as_array().unwrap().clone();
    let offer_of = |key: &str| seats.iter().find(|seat| seat["partner"] == key).unwrap()["offers"][0].clone();
    let (first, second) = (offer_of("lender"), offer_of("dearer"));
    let standing = &first["standing"];
    assert_eq!((&standing["rank"], &standing["conversionFrom"]), (&json!(1), &json!("band")));
    assert_eq!(standing["ranking"]["weights"]["consumerRating"], 0.0);
    assert_eq!(standing["parts"]["payout"], 80.0);
    let parts = ["interest", "conversion", "payout"].map(|name| standing["parts"][name].as_f64().unwrap());
    let product = parts.iter().product::<f64>();
    let score = table["loanOffers"][0]["recommendationScore"].as_f64().unwrap();
    assert!((product - score).abs() < score * 1e-5, "the parts make the score: {product} {score}");
    let why = standing["above"]["why"].as_str().unwrap();
    assert!(
        why.starts_with("conversion (") && why.contains("in spite of payout ($80.00 against $100.00"),
        "{why}"
    );
    assert_eq!((&second["standing"]["rank"], &second["standing"]["above"]), (&json!(2), &Value::Null));

    let text = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("place 1 of its list") && text.contains("expected_value: interest"), "{text}");
}

#[tokio::test]
async fn a_company_has_a_ranking_of_its_own_and_a_reload_takes_in_another() {
    let settings = |own: &str, default: &str| {
        format!(
            "[ranking]\ndefault = '{default}'\n[ranking.named.for_people]\ninterest = 1.0\nconversion = 0.0\npayout = 0.0\n\
             consumer_rating = 0.0\ncompanies = ['{own}']\n"
        )
    };
    let plan = Daemon::with_partners(lenders());
    plan.write_settings(&settings("Own", ""));
    let daemon = plan.start().await;
    let [own, other] =
        ["Own", "Other"].map(|name| token(&daemon, &["--company", name, "--kind", "confidential"]));
    daemon.write_settings(&settings("Own", "expected_value"));
    reloaded(&daemon);
    let score = offers(&table(&daemon, &own).await)[0].1;
    assert!(
        (score - 0.80 * 100.0 / 107.0).abs() < 1e-5,
        "what the offer is worth to the person alone: {score}"
    );
    assert_eq!(offers(&table(&daemon, &other).await)[0].2, 0.05, "of others the default, by its prior");

    daemon.write_settings(&settings("Other", ""));
    reloaded(&daemon);
    assert_eq!(offers(&table(&daemon, &own).await)[0].1, 8.0, "by the files again");

    daemon.write_settings(
        "[ranking]\ndefault = 'nothing'\n[ranking.named.a]\ninterest = 5.0\nconversion = 0.0\n\
        payout = 0.0\nconsumer_rating = 0.0\n",
    );
    let told = daemon.command(&["reload"]);
    let told = String::from_utf8(told.stderr).unwrap() + &String::from_utf8(told.stdout).unwrap();
    for wanted in ["must be empty, `expected_value` or a ranking of", "must be 0, or from 0.001 to 4, got 5"]
    {
        assert!(told.contains(wanted), "{told}");
    }
}

fn reloaded(daemon: &Daemon) {
    let output = daemon.command(&["reload"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn the_console_shows_the_same_and_each_offer_why_it_stands_where_it_stands() {
    let daemon = learning(Daemon::with_partners(lenders())).start().await;
    let table = daemon.submit_blocking(lead("good")).await.json();
    let cookie = daemon.signed_in().await.to_owned();
    let page = async |path: &str| {
        let url = format!("{}{path}", daemon.admin);
        let answer = daemon.request_with(Method::GET, &url, "", &[("cookie", &cookie)], String::new()).await;
        assert_eq!(answer.status, 200, "{path}");
        String::from_utf8(answer.body.to_vec()).unwrap()
    };
    let shown = page("/console/ranking").await;
    assert!(shown.contains("expected_value") && shown.contains("Nothing yet"), "{shown}");
    let shown = page(&format!("/console/rateTables/{}", table["uuid"].as_str().unwrap())).await;
    assert!(shown.contains("why it ranks here") && shown.contains("expected_value: interest"), "{shown}");
    assert!(shown.contains("the prior of the settings"), "{shown}");
}

/// Waits until four clicks on each lender's offers are learnt, and the fundings of one.
async fn until_learnt(daemon: &Daemon) {
    let learnt = |partner: &str| {
        let row = told(daemon, &["ranking", "--partner", partner])["rows"][0].clone();
        (row["clicks"].as_f64(), row["conversions"].as_f64())
    };
    let looking = async {
        while learnt("dearer") != (Some(4.0), Some(0.0)) || learnt("lender") != (Some(4.0), Some(4.0)) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("what was clicked on is learnt");
}

#[tokio::test]
async fn who_is_not_known_is_told_from_who_has_no_clicks_yet() {
    let daemon = learning(Daemon::with_partners(lenders())).start().await;
    token(&daemon, &["--company", "Acme", "--kind", "publishable"]);
    for (arguments, wanted) in [
        (["--company", "Acmee"], "there is no company `Acmee`; did you mean `Acme`?"),
        (["--partner", "lendr"], "there is no partner `lendr`; did you mean `lender`?"),
    ] {
        let output = daemon.command(&[&["ranking"][..], &arguments].concat());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(wanted), "{text}");
    }
    let known = daemon.command(&["ranking", "--company", "Acme", "--partner", "lender"]);
    assert!(known.status.success(), "{}", String::from_utf8_lossy(&known.stderr));
}
