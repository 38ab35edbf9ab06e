//! The v1 edition: its differences, and the same facts.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon, PartnerFile, sample};

const V1: &str = "application/vnd.offerd.v1+json";

/// A card of which only the rate on purchases and an introductory rate are known.
const CARD: &str = r#"
[products.credit_card]
timeout = "2s"

[[products.credit_card.offers]]
key = "card"
sub_type = "credit_card"
landing_url = "https://card.example/apply?click={clickId}"
payout = { on = "approved", fixed = 70.0 }
conversion_probability = 0.1

[products.credit_card.offers.card]
cardName = "Card"
cardType = "visa"
cardImageUrl = "https://images.card.example/card.png"
cardBenefits = ["Lounge Access"]
minPurchaseApr = 19.99
maxPurchaseApr = 29.99
minBalanceTransferIntroApr = 0.0
maxBalanceTransferIntroApr = 0.0
balanceTransferIntroAprTerm = 12
balanceTransferIntroAprTermUnit = "open"
minAnnualFee = 0.0
maxAnnualFee = 95.0
"#;

/// A line of credit for whoever is rated fair.
const LINE: &str = r#"
[products.loan]
timeout = "8s"
needs = ["loanInformation.loanAmount"]
SIMULATE

[[products.loan.offers]]
key = "line"
sub_type = "line_of_credit"
landing_url = "https://line.example/apply?click={clickId}"
payout = { on = "funded", fixed = 75.0 }
conversion_probability = 0.1
amount = { min = 500, max = 20000 }
terms = [0]
term_unit = "open"
apr_type = "variable"
sub_type_disclaimer = "Interest accrues on what is drawn."
bands = [ { ratings = ["fair"], rate = [16.5, 18.0] } ]
"#;

/// Fair in v1, poor in the current edition.
const SCORED: &str = r#"{
    "productTypes": ["loan"],
    "loanInformation": {"loanAmount": 5000},
    "creditInformation": {"providedNumericCreditScore": 610}
}"#;

fn line(simulate: &str) -> PartnerFile {
    partner("line").and(&LINE.replace("SIMULATE", simulate))
}

async fn daemon() -> Daemon {
    Daemon::with_partners(vec![partner("card").and(CARD), line("")]).start().await
}

async fn v1(daemon: &Daemon, method: Method, path: &str, body: &str) -> Answer {
    let url = format!("{}{path}", daemon.api);
    daemon.request_with(method, &url, &daemon.confidential, &[("accept", V1)], body.to_owned()).await
}

async fn v1_get(daemon: &Daemon, path: &str) -> Answer {
    v1(daemon, Method::GET, path, "").await
}

async fn v1_submit(daemon: &Daemon, lead: impl AsRef<str>) -> Answer {
    v1(daemon, Method::POST, "/leads/rateTables", lead.as_ref()).await
}

/// A submit's status, and the attributes that its errors name.
fn outcome(answer: &Answer) -> (u16, Vec<String>) {
    (answer.status, if answer.status < 300 { Vec::new() } else { answer.attributes() })
}

/// A status, and the attribute that the error names.
type Taken = (u16, &'static str);

/// Leads, and how the current edition and v1 take them.
fn taken() -> Vec<(Value, Taken, Taken)> {
    let card = |card: Value| json!({"productTypes": ["savings"], "creditCardInformation": card});
    let of = |section: &str, name: &str, value: Value| json!({section: {name: value}});
    vec![
        (json!({}), (200, ""), (201, "")),
        (json!({"productTypes": ["savings", "yacht"]}), (422, "productTypes[1]"), (400, "productTypes[1]")),
        (json!({"productTypes": ["insurance"]}), (200, ""), (400, "productTypes[0]")),
        (json!({"productTypes": ["life_insurance"]}), (200, ""), (400, "productTypes[0]")),
        (json!({"productTypes": ["loan", "other"]}), (200, ""), (400, "productTypes[1]")),
        (
            of("personalInformation", "dateOfBirth", json!("1.2.1980")),
            (422, "personalInformation.dateOfBirth"),
            (400, "personalInformation.dateOfBirth"),
        ),
        (
            of("personalInformation", "educationLevel", json!("PhD")),
            (200, ""),
            (400, "personalInformation.educationLevel"),
        ),
        (
            of("educationInformation", "educationLevel", json!("doctorate")),
            (200, ""),
            (400, "educationInformation.educationLevel"),
        ),
        (
            of("financialInformation", "employmentStatus", json!("employed_full_time")),
            (200, ""),
            (400, "financialInformation.employmentStatus"),
        ),
        (
            of("financialInformation", "backAccountType", json!("vault")),
            (422, "financialInformation.backAccountType"),
            (400, "financialInformation.backAccountType"),
        ),
        (of("financialInformation", "backAccountType", json!("savings")), (200, ""), (201, "")),
        (of("loanInformation", "purpose", json!("auto")), (422, "loanInformation.purpose"), (201, "")),
        (
            of("loanInformation", "purpose", json!("auto_purchase")),
            (200, ""),
            (400, "loanInformation.purpose"),
        ),
        (
            of("loanInformation", "purpose", json!("auto_refinance")),
            (200, ""),
            (400, "loanInformation.purpose"),
        ),
        (of("loanInformation", "purpose", json!("wedding")), (200, ""), (201, "")),
        (card(json!({"cardPurposes": ["yacht"]})), (422, "creditCardInformation.cardPurposes[0]"), (201, "")),
        (
            card(json!({"cardBenefits": ["improve_credit", "cash_back"]})),
            (200, ""),
            (400, "creditCardInformation.cardBenefits[1]"),
        ),
        (card(json!({"cardBenefits": 7})), (200, ""), (400, "creditCardInformation.cardBenefits")),
        (card(json!({"cardBenefits": ["improve_credit"]})), (200, ""), (201, "")),
        (json!([]), (400, ""), (400, "")),
    ]
}

/// Attributes of a rate table, as the editions show them; null is absent.
fn shown_table() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("/creditCardOffers/0/details/annualFee", json!(null), json!(95)),
        ("/creditCardOffers/0/details/maxAnnualFee", json!(95), json!(null)),
        ("/creditCardOffers/0/details/minAnnualFee", json!(0), json!(null)),
        ("/creditCardOffers/0/details/maxPurchaseApr", json!(29.99), json!(29.99)),
        ("/creditCardOffers/0/details/maxCashAdvanceApr", json!(null), json!(29.99)),
        ("/creditCardOffers/0/details/minCashAdvanceApr", json!(null), json!(19.99)),
        ("/creditCardOffers/0/details/maxBalanceTransferApr", json!(null), json!(29.99)),
        ("/creditCardOffers/0/details/minBalanceTransferApr", json!(null), json!(19.99)),
        ("/creditCardOffers/0/details/maxPurchaseIntroApr", json!(null), json!(-1)),
        ("/creditCardOffers/0/details/minPurchaseIntroApr", json!(null), json!(-1)),
        ("/creditCardOffers/0/details/maxCashAdvanceIntroApr", json!(null), json!(-1)),
        ("/creditCardOffers/0/details/minCashAdvanceIntroApr", json!(null), json!(-1)),
        ("/creditCardOffers/0/details/maxBalanceTransferIntroApr", json!(0), json!(0)),
        ("/creditCardOffers/0/details/balanceTransferIntroAprTermUnit", json!("open"), json!("month")),
        ("/creditCardOffers/0/details/balanceTransferIntroAprTerm", json!(12), json!(12)),
        ("/creditCardOffers/0/details/cardBenefits", json!(["Lounge Access"]), json!(["Lounge Access"])),
        ("/loanOffers/0/termUnit", json!("open"), json!("month")),
        ("/loanOffers/0/termLength", json!(0), json!(0)),
        ("/loanOffers/0/productSubType", json!("line_of_credit"), json!("line_of_credit")),
        ("/pendingOriginators", json!([]), json!([])),
        ("/pendingResponses", json!([]), json!([])),
    ]
}

/// Attributes of a lead that was sent in the current edition, as the editions show them.
fn shown_lead() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("/loanInformation/purpose", json!("auto_refinance"), json!("auto")),
        ("/loanInformation/loanAmount", json!(5000), json!(5000)),
        ("/financialInformation/bankAccountType", json!("checking"), json!(null)),
        ("/financialInformation/backAccountType", json!(null), json!("checking")),
        ("/financialInformation/employmentStatus", json!("employed_part_time"), json!("employed")),
        ("/personalInformation/educationLevel", json!("PhD"), json!("other")),
        ("/educationInformation/educationLevel", json!("doctorate"), json!("other_grad_degree")),
        ("/creditCardInformation/cardPurposes", json!(["cash_back", "low_interest"]), json!(null)),
        ("/creditCardInformation/cardBenefits", json!(null), json!(["earning_rewards"])),
        ("/status", json!("api_listing"), json!("api_listing")),
    ]
}

/// A status, and the attributes that the errors name.
type Answered = (u16, Vec<&'static str>);

/// Paths with their parameters, and the status and attributes with which the current edition and v1 answer them.
fn asked() -> Vec<(&'static str, Answered, Answered)> {
    let fine = || (200, vec![]);
    let mut rows = vec![
        ("/offerPreview/loanOffers", fine(), fine()),
        ("/offerPreview/loanOffers?loanPurpose=auto", (422, vec!["loanPurpose"]), fine()),
        ("/offerPreview/loanOffers?loanPurpose=auto_purchase", fine(), (400, vec!["loanPurpose"])),
        ("/offerPreview/loanOffers?loanPurpose=auto_refinance", fine(), (400, vec!["loanPurpose"])),
        (
            "/offerPreview/loanOffers?loanPurpose=auto,boat",
            (422, vec!["loanPurpose"]),
            (400, vec!["loanPurpose"]),
        ),
        ("/offerPreview/loanOffers?loanPurpose=wedding", fine(), fine()),
        (
            "/offerPreview/loanOffers?zipCode=1&loanPurpose=auto_refinance&loanAmount=much",
            (422, vec!["loanAmount", "zipCode"]),
            (400, vec!["loanPurpose", "loanAmount", "zipCode"]),
        ),
        ("/offerPreview/creditCardOffers?cardPurposes=improve_credit,earning_rewards", fine(), fine()),
        (
            "/offerPreview/creditCardOffers?cardPurposes=improve_credit,cash_back",
            fine(),
            (400, vec!["cardPurposes"]),
        ),
        ("/offerPreview/creditCardOffers?cardBenefits=yacht", fine(), fine()),
        (
            "/offerPreview/savingsOffers?maxDepositAmount=-1",
            (422, vec!["maxDepositAmount"]),
            (400, vec!["maxDepositAmount"]),
        ),
        ("/offerPreview/savingsOffers?zipCode=94105", fine(), fine()),
        // What is specified for the feeds is not said to differ.
        ("/supplyAnalytics/leadEvents", (422, vec!["timestamp"]), (422, vec!["timestamp"])),
    ];
    for feed in [
        "/supplyAnalytics/leadEvents?timestamp=2020-08-01T00:00:00Z",
        "/supplyAnalytics/leadPayouts?timestamp=2020-08-01T00:00:00Z",
        "/supplyAnalytics/leadClientTags?timestamp=2020-08-01T00:00:00Z",
    ] {
        rows.push((feed, fine(), fine()));
    }
    rows
}

fn assert_shown(expected: Vec<(&str, Value, Value)>, current: &Value, v1: &Value) {
    for (at, in_current, in_v1) in expected {
        let found = |answer: &Value| answer.pointer(at).cloned().unwrap_or_default();
        assert_eq!((found(current), found(v1)), (in_current, in_v1), "{at}");
    }
}

#[tokio::test]
async fn v1_differs_where_it_is_said_to_and_only_there() {
    let daemon = daemon().await;
    for (lead, current, in_v1) in taken() {
        let named = |(status, attribute): Taken| {
            let errors = if status < 300 { Vec::new() } else { vec![attribute.to_owned()] };
            (status, errors)
        };
        assert_eq!(outcome(&daemon.submit(lead.to_string()).await), named(current), "current: {lead}");
        assert_eq!(outcome(&v1_submit(&daemon, lead.to_string()).await), named(in_v1), "v1: {lead}");
    }
    let twice = r#"{"legalInformation": {"consentsToTcpa": true, "consentsToTcpa": false}}"#;
    let fault = vec!["legalInformation.consentsToTcpa".to_owned()];
    assert_eq!(outcome(&daemon.submit(twice).await), (422, fault.clone()));
    assert_eq!(outcome(&v1_submit(&daemon, twice).await), (400, fault));

    let lead = json!({
        "productTypes": ["loan", "credit_card"],
        "loanInformation": {"loanAmount": 5000, "purpose": "auto_refinance"},
        "creditInformation": {"providedCreditRating": "fair"},
        "financialInformation": {"bankAccountType": "checking", "employmentStatus": "employed_part_time"},
        "personalInformation": {"educationLevel": "PhD"},
        "educationInformation": {"educationLevel": "doctorate"},
        "creditCardInformation": {"cardPurposes": ["cash_back", "low_interest"]},
    });
    let table = daemon.submit_blocking(lead.to_string()).await.json();
    let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
    assert_shown(shown_table(), &table, &v1_get(&daemon, &path).await.json());
    let path = format!("/leads/{}", table["leadUuid"].as_str().unwrap());
    assert_shown(shown_lead(), &daemon.get(&path).await.json(), &v1_get(&daemon, &path).await.json());

    let bands = (daemon.submit(SCORED).await.json(), v1_submit(&daemon, SCORED).await.json());
    let offers = |table: &Value| table["loanOffers"].as_array().unwrap().len();
    assert_eq!((offers(&bands.0), offers(&bands.1)), (0, 1), "610 is fair in v1 only");
}

#[tokio::test]
async fn previews_and_feeds_are_asked_for_in_values_of_the_edition() {
    let daemon = daemon().await;
    for (path, current, in_v1) in asked() {
        let answers = [daemon.get(path).await, v1_get(&daemon, path).await];
        for (answer, (status, attributes)) in answers.iter().zip([current, in_v1]) {
            let attributes = attributes.into_iter().map(str::to_owned).collect();
            assert_eq!(outcome(answer), (status, attributes), "{path}");
        }
    }
}

#[tokio::test]
async fn previews_are_worded_as_rate_tables_are() {
    let daemon = daemon().await;
    for (path, array) in [
        ("/offerPreview/creditCardOffers", "/creditCardOffers"),
        ("/offerPreview/loanOffers?providedCreditRating=fair&loanAmount=5000", "/loanOffers"),
    ] {
        let shown = shown_table().into_iter();
        let expected: Vec<_> = shown
            .filter_map(|(at, current, in_v1)| Some((at.strip_prefix(array)?, current, in_v1)))
            .collect();
        assert!(expected.len() >= 3);
        assert_shown(expected, &daemon.get(path).await.json(), &v1_get(&daemon, path).await.json());
    }
}

#[tokio::test]
async fn the_newer_form_of_the_feeds_is_in_v1_too() {
    let daemon = daemon().await;
    let url = format!("{}/supplyAnalytics/leadEvents?sinceTimestamp=2020-08-01T00:00:00Z", daemon.api);
    let headers = [("accept", V1), ("api-version", "2025-04-01")];
    let answer = daemon.request_with(Method::GET, &url, &daemon.confidential, &headers, "").await;
    assert_eq!(answer.status, 200);
    let page = answer.json();
    let next = page["nextUrl"].as_str().unwrap();
    assert!(next.contains("?paginationToken="), "{next}");
    let followed = daemon.request_with(Method::GET, next, &daemon.confidential, &[("accept", V1)], "").await;
    assert_eq!(followed.status, 200);
}

#[tokio::test]
async fn what_is_not_said_to_differ_is_the_same() {
    let daemon = daemon().await;
    let uuid = "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b79";
    let lead = json!({ "uuid": uuid }).to_string();
    assert_eq!(v1_submit(&daemon, &lead).await.status, 201);
    let statuses = [
        (v1_submit(&daemon, &lead).await.status, 409),
        (v1_submit(&daemon, "{").await.status, 400),
        (v1_submit(&daemon, "").await.status, 400),
        (v1_get(&daemon, &format!("/leads/{uuid}")).await.status, 200),
        (v1_get(&daemon, &format!("/originator/rateTables/{uuid}")).await.status, 404),
        (v1_get(&daemon, "/originator/rateTables/17").await.status, 400),
        (v1_get(&daemon, "/nowhere").await.status, 404),
        (v1(&daemon, Method::DELETE, "/leads/rateTables", "").await.status, 405),
        (v1_get(&daemon, "/docs").await.status, 200),
    ];
    for (nth, (status, expected)) in statuses.into_iter().enumerate() {
        assert_eq!(status, expected, "{nth}");
    }
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    let accept = [("accept", V1)];
    let blocking = daemon.request_with(Method::POST, &url, &daemon.publishable, &accept, SCORED).await;
    assert_eq!(blocking.status, 201);
    assert_eq!(blocking.json()["loanOffers"].as_array().unwrap().len(), 1);
    let publishable = format!("{}/leads/{uuid}", daemon.api);
    let refused = daemon.request_with(Method::GET, &publishable, &daemon.publishable, &accept, "").await;
    assert_eq!(refused.status, 401);
}

#[tokio::test]
async fn both_editions_tell_the_same_facts() {
    let daemon = Daemon::with_sample_partners().start().await;
    for name in ["everything", "credit_card", "line_of_credit", "second_look", "insurance", "savings"] {
        let table = daemon.submit(sample(name)).await.json();
        let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
        let current = daemon.complete(table["uuid"].as_str().unwrap()).await;
        assert_same_facts(name, &current, &v1_get(&daemon, &path).await.json());
    }
}

#[tokio::test]
async fn who_is_pending_is_the_same_in_both_editions() {
    let slow = partner("slow").loan(r#"simulate = { delay = "1s" }"#);
    let daemon = Daemon::with_partners(vec![slow]).start().await;
    let lead = r#"{"productTypes":["loan"],"loanInformation":{"loanAmount":5000},
        "creditInformation":{"providedCreditRating":"good"}}"#;
    let submitted = v1_submit(&daemon, lead).await;
    assert_eq!(submitted.header("retry-after"), Some("1"));
    let table = submitted.json();
    assert_eq!(table["pendingOriginators"][0]["key"], "slow");
    assert_eq!(table["pendingResponses"][0]["partner"]["name"], "slow");
    daemon.complete(table["uuid"].as_str().unwrap()).await;
    let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
    assert_eq!(v1_get(&daemon, &path).await.json()["pendingOriginators"], json!([]));
}

/// A partner whose offer is of a type that v1 lacks.
fn insurer(simulate: &str) -> PartnerFile {
    let product = r#"
[products.insurance]
timeout = "8s"
SIMULATE

[[products.insurance.offers]]
key = "cover"
name = "Cover"
description = "Covers what happens."
landing_url = "https://insurer.example/apply?click={clickId}"
payout = { on = "applied", fixed = 10.0 }
conversion_probability = 0.1
"#;
    partner("insurer").and(&product.replace("SIMULATE", simulate))
}

#[tokio::test]
async fn a_lead_that_names_no_product_type_asks_for_those_of_v1_and_not_for_second_look() {
    let partners = vec![partner("saver").savings(""), insurer(""), partner("other").second_look(2.0, "")];
    let daemon = Daemon::with_partners(partners).start().await;
    for lead in ["{}", r#"{"productTypes":[]}"#, r#"{"productTypes":null}"#] {
        let current = daemon.submit_blocking(lead).await.json();
        assert_eq!(current["specialOffers"].as_array().unwrap().len(), 2, "{lead}");
        let table = v1_submit(&daemon, lead).await.json();
        let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
        // Even in the current edition there is nothing that v1 does not ask for.
        let table = daemon.get(&path).await.json();
        assert_eq!(table["specialOffers"], json!([]), "{lead}");
        assert_eq!(table["savingsOffers"].as_array().unwrap().len(), 1, "{lead}");
    }
}

#[tokio::test]
async fn what_is_of_a_type_that_v1_lacks_is_neither_shown_nor_pending_there() {
    let slow = partner("lender").loan(r#"simulate = { delay = "2s" }"#);
    let daemon = Daemon::with_partners(vec![slow, insurer(r#"simulate = { delay = "2s" }"#)]).start().await;
    let lead = r#"{"productTypes":["loan","insurance"],"loanInformation":{"loanAmount":5000},
        "creditInformation":{"providedCreditRating":"good"}}"#;
    let table = daemon.submit(lead).await.json();
    assert_eq!(table["pendingResponses"].as_array().unwrap().len(), 2);
    let uuid = table["uuid"].as_str().unwrap();
    let path = format!("/originator/rateTables/{uuid}");
    let in_v1 = v1_get(&daemon, &path).await.json();
    let pending = in_v1["pendingResponses"].as_array().unwrap();
    assert_eq!((pending.len(), &pending[0]["productTypes"]), (1, &json!(["loan"])));

    let complete = daemon.complete(uuid).await;
    assert_eq!(complete["specialOffers"].as_array().unwrap().len(), 1);
    let in_v1 = v1_get(&daemon, &path).await.json();
    assert_eq!((&in_v1["specialOffers"], &in_v1["pendingResponses"]), (&json!([]), &json!([])));
    assert_eq!(in_v1["loanOffers"].as_array().unwrap().len(), 1);
}

/// Whatever vendor stands in `Accept`, unless the setting names some.
#[tokio::test]
async fn v1_is_whoevers_unless_the_setting_narrows_it() {
    let statuses = async |daemon: &Daemon| {
        let mut statuses = Vec::new();
        for vendor in ["offerd", "acme", "shop", "Somebody-Else"] {
            let accept = format!("application/vnd.{vendor}.v1+json");
            let url = format!("{}/leads/rateTables", daemon.api);
            let headers = [("accept", accept.as_str())];
            let answer = daemon.request_with(Method::POST, &url, &daemon.publishable, &headers, "{}").await;
            statuses.push(answer.status);
        }
        statuses
    };
    let daemon = daemon().await;
    assert_eq!(statuses(&daemon).await, [201, 201, 201, 201]);
    let plan = Daemon::with_partners(vec![partner("card").and(CARD)]);
    let narrowed = plan.setting("api.vendor", "acme,shop").start().await;
    assert_eq!(statuses(&narrowed).await, [200, 201, 201, 200]);
}

/// What the sample catalog has beside the specification, which v1 never had.
const ADDED: [&str; 22] = [
    "createdAt",
    "partnerPageUrl",
    "embedUrl",
    "offerCatalogProductTypes",
    "rank",
    "expiresAt",
    "amountPrefix",
    "headquarters",
    "assets",
    "brandName",
    "brandUuid",
    "federalInsuranceType",
    "incentiveDetails",
    "cdTermUnit",
    "cdTermLength",
    "previewDetails",
    "annualFeeText",
    "introOfferTitle",
    "rewardsTitle",
    "rewardsDescription",
    "isITA",
    "badges",
];

/// All that the current edition says is in v1 too, but for special offers, the fees of cards, what is open, and what the
/// specification lacks; v1 adds to cards only.
fn assert_same_facts(at: &str, current: &Value, v1: &Value) {
    match (current, v1) {
        (Value::Object(current), Value::Object(v1)) => {
            for (key, value) in current {
                if key == "specialOffers" {
                    assert_eq!(v1[key], json!([]), "{at}: all of them are of types that v1 lacks");
                } else if ADDED.contains(&key.as_str()) {
                    assert_eq!(v1.get(key), None, "{at}.{key}");
                } else if !["maxAnnualFee", "minAnnualFee"].contains(&key.as_str()) {
                    assert_same_facts(&format!("{at}.{key}"), value, v1.get(key).unwrap_or(&Value::Null));
                }
            }
            let added = v1.keys().filter(|key| !current.contains_key(*key));
            let of_cards = |key: &String| key == "annualFee" || key.ends_with("Apr");
            assert!(added.into_iter().all(of_cards), "{at} has more than it should");
        }
        (Value::Array(current), Value::Array(v1)) => {
            assert_eq!(current.len(), v1.len(), "{at}");
            current.iter().zip(v1).for_each(|(current, v1)| assert_same_facts(at, current, v1));
        }
        (current, v1) => {
            let nearest = current == "open" && v1 == "month" && at.to_lowercase().ends_with("termunit");
            assert!(nearest || current == v1, "{at}: {current} became {v1}");
        }
    }
}

#[tokio::test]
async fn a_client_of_the_current_edition_is_never_affected() {
    let daemon = daemon().await;
    // v1's name for what a card is wanted for is any unknown key in the current edition.
    let lead = json!({
        "productTypes": ["loan", "credit_card"],
        "loanInformation": {"loanAmount": 5000},
        "creditInformation": {"providedCreditRating": "fair"},
        "creditCardInformation": {"cardBenefits": ["yacht"]},
    });
    let submitted = daemon.submit(lead.to_string()).await;
    assert_eq!(submitted.status, 200);
    let table = submitted.json();
    let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
    let in_v1 = v1_get(&daemon, &path).await;
    let current = daemon.get(&path).await;
    assert_eq!(current.body, submitted.body);

    let tags = [current.header("etag").unwrap(), in_v1.header("etag").unwrap()];
    assert_ne!(tags[0], tags[1], "an answer of one edition is not taken for the other's");
    assert_eq!(daemon.get_if_none_match(&path, tags[1]).await.status, 200);
    let url = format!("{}{path}", daemon.api);
    let held = [("accept", V1), ("if-none-match", tags[1])];
    assert_eq!(daemon.request_with(Method::GET, &url, &daemon.publishable, &held, "").await.status, 304);

    let others =
        ["*/*", "application/json", "application/json, text/plain, */*", "application/vnd.acme.v2+json"];
    for accept in others {
        let headers = [("accept", accept)];
        let answer = daemon.request_with(Method::GET, &url, &daemon.publishable, &headers, "").await;
        assert_eq!((&answer.body, answer.header("etag")), (&current.body, Some(tags[0])), "{accept}");
    }
}

#[tokio::test]
async fn a_lead_keeps_the_bands_of_its_edition_over_a_kill() {
    let slow = line(r#"simulate = { delay = "1500ms" }"#);
    let daemon = Daemon::with_partners(vec![slow]).start().await;
    let tables = [v1_submit(&daemon, SCORED).await.json(), daemon.submit(SCORED).await.json()];
    let daemon = daemon.kill().start().await;
    for (table, offers) in tables.iter().zip([1, 0]) {
        assert_eq!(table["pendingOriginators"][0]["key"], "line");
        let complete = daemon.complete(table["uuid"].as_str().unwrap()).await;
        assert_eq!(complete["loanOffers"].as_array().unwrap().len(), offers, "610 is fair in v1 only");
    }
}
