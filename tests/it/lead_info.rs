//! The events of one lead, and the fields that only the newer form has.

use std::collections::BTreeSet;

use hyper::Method;
use offerd::analytics::Events;
use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon};

const NEWER: [(&str, &str); 1] = [("api-version", "2025-04-01")];

const LEAD: &str = r#"{
    "productTypes": ["loan", "savings"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"},
    "clientTags": {"channel": ["newsletter"]}
}"#;

/// A daemon with a lender, a live company, and a lead of it.
struct World {
    daemon: Daemon,
    lender: String,
    lead: String,
    table: Value,
}

impl World {
    async fn beside(other: &str) -> Self {
        let partners = vec![partner("lender").loan("").savings(""), partner("other").savings(other)];
        let daemon = Daemon::with_partners(partners).start().await.with_live_company();
        let output = daemon.command(&["token", "create", "--partner", "lender"]);
        let lender = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        let table = daemon.submit(LEAD).await.json();
        let lead = table["leadUuid"].as_str().unwrap().to_owned();
        Self { daemon, lender, lead, table }
    }

    async fn new() -> Self {
        Self::beside("").await
    }

    fn offer(&self) -> &str {
        self.table["loanOffers"][0]["uuid"].as_str().unwrap()
    }

    async fn report(&self, report: Value) {
        let url = format!("{}/partnerEvents", self.daemon.integrations);
        let status = self.daemon.request(Method::POST, &url, &self.lender, &report.to_string()).await.status;
        assert!([200, 201].contains(&status), "{report}: {status}");
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let url = format!("{}{path}", self.daemon.api);
        self.daemon.request_with(Method::GET, &url, &self.daemon.confidential, headers, "").await
    }

    async fn info(&self) -> Answer {
        self.get(&format!("/supplyAnalytics/leadsInfo/{}", self.lead), &NEWER).await
    }
}

/// Holds an answer against what the OpenAPI document says of it.
pub async fn assert_documented(daemon: &Daemon, noun: &str, answer: &Value) {
    let document = daemon.get("/openapi.json").await.json();
    let schema =
        json!({"$ref": format!("#/components/schemas/{noun}"), "components": document["components"]});
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(answer).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{noun}: {faults:?}: {answer}");
    let known = document["components"]["schemas"][noun]["properties"].as_object().unwrap();
    assert!(answer.as_object().unwrap().keys().all(|key| known.contains_key(key)), "{noun}: {answer}");
}

fn of_type<'e>(info: &'e Value, event_type: &str) -> Vec<&'e Value> {
    let events = info["data"]["events"].as_array().unwrap().iter();
    events.filter(|event| event["eventType"] == event_type).collect()
}

#[tokio::test]
async fn a_lead_is_told_at_once_with_what_it_earned_and_its_tags() {
    let world = World::new().await;
    assert_eq!(world.daemon.get(&format!("/click/{}", world.offer())).await.status, 302);
    world
        .report(json!({
            "transactionId": "T-1", "eventType": "funded", "clickId": world.offer(), "amountInCents": 1_200_050,
        }))
        .await;
    world
        .report(json!({
            "transactionId": "T-2", "eventType": "conversion", "clickId": world.offer(), "payoutInCents": 12.6,
        }))
        .await;
    let answer = world.info().await;
    let info = answer.json();
    assert_eq!((answer.status, &info["warnings"]), (200, &json!([])));
    assert_documented(&world.daemon, "LeadInfoResponse", &info).await;
    for event in info["data"]["events"].as_array().unwrap() {
        assert_documented(&world.daemon, "LeadEvent", event).await;
    }
    for event_type in ["leadCreated", "appSubmitted", "apiApproved", "offerClicked", "funded", "conversion"] {
        assert!(!of_type(&info, event_type).is_empty(), "{event_type}: {info}");
    }
    for event in info["data"]["events"].as_array().unwrap() {
        assert_eq!(event["leadUuid"], world.lead);
        assert!(event["supplySubAccountUuid"].is_string() && event["paginationTimestamp"].is_string());
    }
    for (event_type, data) in [
        ("offerClicked", json!({"productType": "loan"})),
        ("funded", json!({"productType": "loan", "amount": 12_001})),
        ("conversion", json!({"productType": "loan", "payoutInCents": 13})),
    ] {
        let event = of_type(&info, event_type)[0];
        assert_eq!(event["eventData"], data, "{event_type}");
        assert_eq!(
            (&event["offerUuid"], &event["productSubType"]),
            (&json!(world.offer()), &json!("personal_loan"))
        );
    }
    assert!(of_type(&info, "leadCreated")[0].get("eventData").is_none());
    let payouts = info["data"]["payouts"].as_array().unwrap();
    assert_eq!(payouts.len(), 2);
    assert!(
        payouts
            .iter()
            .all(|payout| payout["uuid"].is_string() && payout["financialInstitutionName"] == "lender")
    );
    let tags = &info["data"]["clientTags"];
    assert_eq!((&tags[0]["key"], &tags[0]["value"]), (&json!("channel"), &json!("newsletter")));
}

#[tokio::test]
async fn what_was_taken_back_stands_once_with_the_time() {
    let world = World::new().await;
    world.report(json!({"transactionId": "T-1", "eventType": "funded", "clickId": world.offer()})).await;
    world.report(json!({"transactionId": "T-1", "revoked": true})).await;
    let info = world.info().await.json();
    let [funded] = &of_type(&info, "funded")[..] else { panic!("{info}") };
    assert!(funded["eventDeletedAt"].is_string() && funded["offerUuid"] == world.offer(), "{funded}");
    let [payout] = &info["data"]["payouts"].as_array().unwrap()[..] else { panic!("{info}") };
    assert!(payout["deletedAt"].is_string() && payout["payoutInCents"] == 10_000, "{payout}");
}

#[tokio::test]
async fn while_a_table_is_pending_it_is_said_that_more_is_to_come() {
    let world = World::beside("simulate = { delay = '3s' }").await;
    let table = world.table["uuid"].as_str().unwrap();
    let answer = world.info().await;
    let warnings = answer.json()["warnings"].clone();
    assert_eq!((answer.status, warnings.as_array().unwrap().len()), (206, 1));
    assert!(warnings[0].as_str().unwrap().contains(table), "{warnings}");
    world.daemon.complete(table).await;
    assert_eq!(world.info().await.status, 200);
}

#[tokio::test]
async fn it_is_asked_for_in_the_newer_form_and_told_of_ones_own_leads_only() {
    let world = World::new().await;
    let path = format!("/supplyAnalytics/leadsInfo/{}", world.lead);
    for (headers, kind) in [
        (&[][..], "missing"),
        (&[("api-version", "2024-01-01")][..], "malformed"),
        (&[("api-version", "nonsense")][..], "malformed"),
        (&[("api-version", "2025-4-1")][..], "malformed"),
        (&[("api-version", "2025-04-01"), ("api-version", "1.106")][..], "malformed"),
    ] {
        let refused = world.get(&path, headers).await;
        assert_eq!((refused.status, refused.attributes()), (422, vec!["API-Version".to_owned()]));
        assert_eq!(refused.json()[0]["type"], kind);
        let message = refused.json()[0]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("2025-04-01") && !message.contains("absent"), "{message}");
    }
    let stranger = "/supplyAnalytics/leadsInfo/0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77";
    let unknown = world.get(stranger, &NEWER).await;
    assert_eq!(unknown.status, 404);
    assert!(world.daemon.command(&["lead", "erase", &world.lead]).status.success());
    assert_eq!(world.info().await.status, 404);
}

/// A partner may report what the specification has no word for; only who asks for the newer form is told.
#[tokio::test]
async fn what_the_specification_has_no_word_for_is_told_by_the_newer_form_only() {
    let world = World::new().await;
    let newer = [
        "lenderQualifiedLead",
        "affiliateOfferClicked",
        "firstPayment",
        "isContacted",
        "salesQualified",
        "firstContact",
        "rateLocked",
    ];
    let lines = newer[1..].iter().map(|name| format!("lender,{name},{name},{}\n", world.offer()));
    let csv = format!("partner,transactionId,eventType,clickId\n{}", lines.collect::<String>());
    let file = world.daemon.file("events.csv");
    std::fs::write(&file, csv).unwrap();
    let imported = world.daemon.command(&["events", "import", file.to_str().unwrap()]);
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    for event_type in [newer[0], "submitted"] {
        world
            .report(json!({"transactionId": event_type, "eventType": event_type, "clickId": world.offer()}))
            .await;
    }

    let info = world.info().await.json();
    for event_type in newer {
        let [event] = &of_type(&info, event_type)[..] else { panic!("{event_type}: {info}") };
        assert_eq!(event["offerUuid"], world.offer());
    }
    let path = format!("/leads/{}", world.lead);
    let actions = |lead: &Value| -> BTreeSet<String> {
        let actions = lead["leadActions"].as_array().unwrap().iter();
        actions.map(|action| action["actionType"].as_str().unwrap().to_owned()).collect()
    };
    let (plain, told) = (world.get(&path, &[]).await.json(), world.get(&path, &NEWER).await.json());
    let more: Vec<String> = actions(&told).difference(&actions(&plain)).cloned().collect();
    assert_eq!(more, ["lender_qualified_lead", "submitted"]);
    assert_eq!((&plain["status"], &told["status"]), (&json!("api_listing"), &json!("lender_qualified_lead")));

    let company = plain["companyUUID"].as_str().unwrap().to_owned();
    let (_, stopped) = world.daemon.terminate();
    let events = serde_json::to_value(stopped.feed_in_two_hours::<Events>(&company).data).unwrap();
    for event in events.as_array().unwrap() {
        assert!(!newer.contains(&event["eventType"].as_str().unwrap()), "{event}");
        for field in ["eventData", "offerUuid", "productSubType"] {
            assert!(event.get(field).is_none(), "{event}");
        }
    }
}
