//! Reports of partners, and their effects.

use hyper::Method;
use offerd::analytics::{ArrivalTime, Events, Feeds, Horizon, PageRequest, Payouts};
use offerd::model::{EventType, LeadEvent, ProductType, Viewer};
use offerd::store::Clock;
use offerd::web::signature;
use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon};

const LOAN: &str = r#"{
    "productTypes": ["loan", "savings", "insurance"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

/// A daemon with a lender, a company whose leads are live, and a lead of it.
struct World {
    daemon: Daemon,
    company: String,
    lender: String,
    table: Value,
}

impl World {
    async fn new() -> Self {
        let lender = partner("lender").loan("").savings("").and(PAYS_BY_CLICK);
        let daemon = Daemon::with_partners(vec![lender, partner("other").savings("")]).start().await;
        let company = token(&daemon, &["--company", "Live", "--kind", "confidential"]);
        let lender = token(&daemon, &["--partner", "lender"]);
        let url = format!("{}/leads/rateTables", daemon.api);
        let table = daemon.request(Method::POST, &url, &company, LOAN).await.json();
        Self { daemon, company, lender, table }
    }

    fn lead_uuid(&self) -> &str {
        self.table["leadUuid"].as_str().unwrap()
    }

    /// The lender's loan offer.
    fn offer(&self) -> &str {
        self.table["loanOffers"][0]["uuid"].as_str().unwrap()
    }

    async fn report(&self, report: &Value) -> Answer {
        self.report_as(&self.lender, report).await
    }

    async fn report_as(&self, token: &str, report: &Value) -> Answer {
        let url = format!("{}/partnerEvents", self.daemon.integrations);
        self.daemon.request(Method::POST, &url, token, &report.to_string()).await
    }

    /// Reports a funding of the loan offer; returns its warning.
    async fn funded(&self, transaction: &str, more: Value) -> Option<String> {
        let mut report =
            json!({"transactionId": transaction, "eventType": "funded", "clickId": self.offer()});
        report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = self.report(&report).await;
        assert_eq!(answer.status, 201, "{}", answer.json());
        answer.json()["warning"].as_str().map(str::to_owned)
    }

    async fn lead(&self) -> Value {
        let url = format!("{}/leads/{}", self.daemon.api, self.lead_uuid());
        self.daemon.request(Method::GET, &url, &self.company, "").await.json()
    }

    async fn actions(&self, action_type: &str) -> Vec<Value> {
        let lead = self.lead().await;
        let actions = lead["leadActions"].as_array().unwrap().iter();
        actions.filter(|action| action["actionType"] == action_type).cloned().collect()
    }
}

/// The lender's cover pays by the click.
const PAYS_BY_CLICK: &str = r#"
[products.insurance]
timeout = "2s"

[[products.insurance.offers]]
key = "cover"
name = "Cover"
description = "Pays by the click."
landing_url = "https://lender.example/cover?click={clickId}&lead={leadUuid}"
payout = { on = "click", fixed = 1.25 }
conversion_probability = 1.0
"#;

/// Makes a token by the command line.
fn token(daemon: &Daemon, arguments: &[&str]) -> String {
    let output = daemon.command(&[&["token", "create"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a_report_becomes_a_lead_action_and_the_lead_status() {
    let world = World::new().await;
    let report = json!({
        "transactionId": "T-1", "eventType": "funded", "clickId": world.offer(), "amountInCents": 1_200_050,
        "occurredAt": "2026-11-20T10:00:00Z",
    });
    let answer = world.report(&report).await;
    assert_eq!(answer.status, 201, "{}", answer.json());
    let receipt = answer.json();
    assert_eq!(receipt["leadUuid"], world.lead_uuid());
    assert_eq!(receipt["productType"], "loan");
    assert_eq!(receipt["payoutInCents"], 10000);

    assert_eq!(world.lead().await["status"], "funded");
    let funded = world.actions("funded").await;
    assert_eq!(funded.len(), 1);
    assert_eq!(funded[0]["uuid"], receipt["uuid"]);
    assert_eq!(funded[0]["originatorKey"], "lender");
    assert_eq!(funded[0]["actionDate"], "2026-11-20T10:00:00.000Z");
    assert_eq!(funded[0]["amount"], 12001);
    assert!(funded[0]["demandSubAccountId"].is_i64());
}

#[tokio::test]
async fn every_event_type_becomes_its_action() {
    let world = World::new().await;
    let actions = [
        ("listed", Some("listed")),
        ("applied", Some("applied")),
        ("rejected", Some("rejected")),
        ("approved", Some("approved")),
        ("notFunded", Some("not_funded")),
        ("funded", Some("funded")),
        ("opened", Some("special_offer_conversion")),
        ("conversion", None),
    ];
    for (event_type, action) in actions {
        let report =
            json!({"transactionId": event_type, "eventType": event_type, "offerUuid": world.offer()});
        assert_eq!(world.report(&report).await.status, 201, "{event_type}");
        if let Some(action) = action {
            assert_eq!(world.actions(action).await.len(), 1, "{event_type}");
        }
    }
    let rejected = json!({
        "transactionId": "with a reason", "eventType": "rejected", "offerUuid": world.offer(),
        "rejectReason": "low_fico",
    });
    assert_eq!(world.report(&rejected).await.status, 201);
    assert_eq!(world.actions("rejected").await[1]["rejectReason"], "low_fico");
}

/// What the interface has no event for is a step of the lead and nothing else; the handbook says so.
#[tokio::test]
async fn what_came_to_nothing_or_was_only_sent_off_is_a_step_of_the_lead_and_no_event() {
    let world = World::new().await;
    for event_type in ["applied", "rejected", "notFunded", "submitted"] {
        let report =
            json!({"transactionId": event_type, "eventType": event_type, "offerUuid": world.offer()});
        assert_eq!(world.report(&report).await.status, 201, "{event_type}");
    }
    let url = |path: &str| format!("{}{path}/{}", world.daemon.api, world.lead_uuid());
    let version = [("api-version", "2025-04-01")];
    let read = async |path| {
        let answer = world.daemon.request_with(Method::GET, &url(path), &world.company, &version, "").await;
        answer.json()
    };
    let lead = read("/leads").await;
    let steps: Vec<_> =
        lead["leadActions"].as_array().unwrap().iter().map(|step| &step["actionType"]).collect();
    for step in ["applied", "rejected", "not_funded", "submitted"] {
        assert!(steps.contains(&&json!(step)), "{steps:?}");
    }
    let info = read("/supplyAnalytics/leadsInfo").await;
    let events = info["data"]["events"].as_array().unwrap().iter();
    let reported: Vec<_> =
        events.filter(|event| event.get("offerUuid").is_some()).map(|event| &event["eventType"]).collect();
    assert_eq!(reported, ["applied"], "{info}");
    let chapter = include_str!("../../src/handbook/partner.md");
    assert!(chapter.contains("`rejected`, `notFunded` and `submitted` are steps of the lead only"));
}

#[tokio::test]
async fn a_report_that_is_sent_again_counts_once_also_after_a_crash() {
    let world = World::new().await;
    let report = json!({"transactionId": "T-1", "eventType": "applied", "clickId": world.offer()});
    let first = world.report(&report).await;
    let (company, lender, table) = (world.company.clone(), world.lender.clone(), world.table.clone());
    let world = World { daemon: world.daemon.kill().start().await, company, lender, table };

    let second = world.report(&report).await;
    assert_eq!((first.status, second.status), (201, 200));
    assert_eq!(first.json(), second.json());
    assert_eq!(world.actions("applied").await.len(), 1);

    let other = json!({"transactionId": "T-1", "eventType": "funded", "clickId": world.offer()});
    let refused = world.report(&other).await;
    assert_eq!((refused.status, refused.attributes()), (409, vec!["transactionId".to_owned()]));
}

#[tokio::test]
async fn what_is_taken_back_counts_no_longer() {
    let world = World::new().await;
    let applied = json!({"transactionId": "T-1", "eventType": "applied", "clickId": world.offer()});
    let funded = json!({"transactionId": "T-2", "eventType": "funded", "clickId": world.offer()});
    assert_eq!(world.report(&applied).await.status, 201);
    assert_eq!(world.report(&funded).await.status, 201);

    let revocation = json!({"transactionId": "T-2", "revoked": true});
    let revoked = world.report(&revocation).await;
    assert_eq!(revoked.status, 200);
    assert!(revoked.json()["revokedAt"].is_string());
    assert_eq!(world.lead().await["status"], "applied");
    assert!(world.actions("funded").await[0]["deletedAt"].is_string());

    assert_eq!(world.report(&revocation).await.json(), revoked.json(), "once is enough");
    assert_eq!(world.report(&funded).await.json(), revoked.json(), "what was taken back stays so");
    let unknown = world.report(&json!({"transactionId": "T-3", "revoked": true})).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn a_partner_that_knows_only_the_lead_reports_by_it() {
    let world = World::new().await;
    let report = json!({"transactionId": "T-1", "eventType": "funded", "leadUuid": world.lead_uuid()});
    let receipt = world.report(&report).await.json();
    assert!(receipt.get("productType").is_none(), "the lender was asked about three: {receipt}");
    assert!(receipt.get("payoutInCents").is_none(), "they earn differently: {receipt}");
    let warning = receipt["warning"].as_str().unwrap();
    assert!(warning.contains("pay differently") && warning.contains("`clickId`"), "{warning}");

    let report = json!({
        "transactionId": "T-2", "eventType": "funded", "leadUuid": world.lead_uuid(), "productType": "savings",
    });
    let receipt = world.report(&report).await.json();
    assert_eq!((&receipt["productType"], &receipt["payoutInCents"]), (&json!("savings"), &json!(5000)));

    let report = json!({
        "transactionId": "T-3", "eventType": "applied", "leadUuid": world.lead_uuid(), "payoutInCents": 0.5,
    });
    assert_eq!(world.report(&report).await.json()["payoutInCents"], 0.5, "the partner says what it pays");
}

#[tokio::test]
async fn a_report_by_the_lead_is_about_the_one_offer_that_was_clicked() {
    let world = World::new().await;
    let click = async |array: &str| {
        let url = world.table[array][0]["url"].as_str().unwrap();
        assert_eq!(world.daemon.request(Method::GET, url, "", "").await.status, 302);
    };
    let report = async |transaction: &str| {
        let report = json!({
            "transactionId": transaction, "eventType": "funded", "leadUuid": world.lead_uuid(), "amountInCents": 500_000,
        });
        world.report(&report).await.json()
    };
    click("loanOffers").await;
    let receipt = report("T-1").await;
    let about = [&receipt["offerUuid"], &receipt["productType"], &receipt["payoutInCents"]];
    assert_eq!(about, [&json!(world.offer()), &json!("loan"), &json!(10_000)]);
    assert!(receipt.get("warning").is_none(), "{receipt}");

    click("savingsOffers").await;
    let receipt = report("T-2").await;
    assert!(receipt.get("payoutInCents").is_none() && receipt["warning"].is_string(), "{receipt}");
    assert_eq!(report("T-2").await, receipt, "the same again");

    let listed = async || -> Value {
        let output = world.daemon.command(&["events", "flagged", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let unbooked = listed().await;
    assert_eq!((unbooked.as_array().unwrap().len(), &unbooked[0]["partner"]), (1, &json!("lender")));
    assert_eq!(
        (&unbooked[0]["transactionId"], &unbooked[0]["warning"]),
        (&json!("T-2"), &receipt["warning"])
    );
    assert_eq!(world.report(&json!({"transactionId": "T-2", "revoked": true})).await.status, 200);
    assert_eq!(listed().await, json!([]), "what was taken back needs no payout");
}

#[tokio::test]
async fn what_is_far_from_the_usual_is_flagged() {
    let world = World::new().await;
    let revoked = async |transaction: &str| {
        let revocation = json!({"transactionId": transaction, "revoked": true});
        assert_eq!(world.report(&revocation).await.status, 200);
    };
    for (nth, (more, wanted)) in [
        (json!({"payoutInCents": 50_000, "amountInCents": 1_200_000}), None),
        (
            json!({"payoutInCents": 50_001}),
            Some("payout $500.01 is far from the $100.00 of the partner file"),
        ),
        (json!({"payoutInCents": 1_999}), Some("payout $19.99 is far from the $100.00")),
        (json!({"payoutInCents": 0}), Some("books nothing: `payoutInCents` is 0")),
        (json!({"amountInCents": 100}), Some("amount $1.00 is far from the $10000.00 of the lead's request")),
    ]
    .into_iter()
    .enumerate()
    {
        let warning = world.funded(&format!("far-{nth}"), more).await;
        match wanted {
            None => assert_eq!(warning, None),
            Some(wanted) => {
                assert!(warning.as_deref().is_some_and(|told| told.contains(wanted)), "{warning:?}")
            }
        }
        revoked(&format!("far-{nth}")).await;
    }
}

#[tokio::test]
async fn a_second_funding_is_flagged_until_an_operator_settles_it() {
    let world = World::new().await;
    assert_eq!(world.funded("T-1", json!({})).await, None);
    let second = world.funded("T-2", json!({})).await;
    assert!(second.is_some_and(|told| told.contains("funded before")));
    assert!(world.funded("T-3", json!({})).await.is_some());

    let run = |words: &[&str]| {
        let output = world.daemon.command(words);
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let flagged = || {
        let listed: Value = serde_json::from_str(&run(&["events", "flagged", "--json"]).1).unwrap();
        let ids = listed.as_array().unwrap().iter().map(|one| one["transactionId"].clone());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(flagged(), ["T-2", "T-3"]);
    let judged = |verb: &str, transaction: &str, reason: &str| {
        run(&["events", verb, transaction, "--partner", "lender", "--reason", reason]).0
    };
    assert!(!judged("reverse", "T-2", " ") && !judged("confirm", "T-9", "none"), "refused");
    assert!(judged("reverse", "T-2", "reported twice") && judged("confirm", " T-3 ", "a second loan"));
    assert_eq!(flagged(), [json!(null); 0]);
    assert!(!judged("confirm", "T-3", "again") && !judged("reverse", "T-2", "again"), "settled");
    assert!(
        world.report(&json!({"transactionId": "T-2", "revoked": true})).await.json()["revokedAt"].is_string()
    );
    let audit = run(&["audit", "list", "--action", "events", "--format", "csv"]).1;
    for part in ["events.reverse", "reported twice", "events.confirm", "a second loan", "of lender"] {
        assert!(audit.contains(part), "{part}: {audit}");
    }
}

/// An erasure leaves the money: it counts as before, is taken back, and comes late.
#[tokio::test]
async fn an_erased_lead_is_billed_as_before() {
    let world = World::new().await;
    let funded = |transaction: &str, by: &str, of: &str| json!({"transactionId": transaction, "eventType": "funded", by: of, "productType": "loan"});
    let (offer, lead) = (world.offer().to_owned(), world.lead_uuid().to_owned());
    for transaction in ["T-1", "T-2"] {
        assert_eq!(world.report(&funded(transaction, "clickId", &offer)).await.status, 201);
    }
    let run = |words: &[&str]| {
        let output = world.daemon.command(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let counted = || {
        run(&["report", "rebuild"]);
        ["day,partner", "company", "campaign", "product,subType"]
            .map(|by| run(&["report", "--by", by, "--format", "csv"]))
    };
    let before = counted();
    assert!(before[0].contains(",lender,"), "{before:?}");
    run(&["lead", "erase", &lead]);
    assert_eq!(counted(), before);

    let again = world.report(&funded("T-1", "clickId", &offer)).await;
    assert_eq!((again.status, &again.json()["payoutInCents"]), (200, &json!(10_000)), "it counts once");
    let revoked = world.report(&json!({"transactionId": "T-1", "revoked": true})).await;
    assert!(revoked.status == 200 && revoked.json()["revokedAt"].is_string(), "{}", revoked.json());
    for (transaction, by, of) in
        [("T-3", "clickId", &offer), ("T-4", "offerUuid", &offer), ("T-5", "leadUuid", &lead)]
    {
        let late = world.report(&funded(transaction, by, of)).await;
        assert_eq!((late.status, &late.json()["payoutInCents"]), (201, &json!(10_000)), "{transaction}");
        assert_eq!(world.report(&funded(transaction, by, of)).await.status, 200, "{transaction} again");
    }
    assert_eq!(world.report(&json!({"transactionId": "T-3", "revoked": true})).await.status, 200);
    let other = token(&world.daemon, &["--partner", "other"]);
    assert_eq!(world.report_as(&other, &funded("T", "clickId", &offer)).await.status, 422);

    let statement = world.daemon.file("statement.csv");
    std::fs::write(&statement, "transaction_id,amount\nT-1,0\nT-2,100\nT-4,100\nT-5,100\n").unwrap();
    run(&["report", "reconcile", "lender", statement.to_str().unwrap()]);
    let (_, stopped) = world.daemon.terminate();
    let export = stopped.plan.command(&["lead", "export", &lead]).output().unwrap();
    assert!(!export.status.success(), "nothing leads back to the person");
}

#[tokio::test]
async fn a_partner_reports_on_nothing_but_its_own() {
    let world = World::new().await;
    let other = token(&world.daemon, &["--partner", "other"]);
    let offer = json!({"transactionId": "T", "eventType": "applied", "clickId": world.offer()});
    let refused = world.report_as(&other, &offer).await;
    assert_eq!((refused.status, refused.attributes()), (422, vec!["clickId".to_owned()]));
    assert_eq!(refused.json()[0]["type"], "invalidUuidReference");
    assert_eq!(refused.json()[0]["message"], "names no offer of this partner");
    let unasked = json!({
        "transactionId": "T", "eventType": "applied", "leadUuid": world.lead_uuid(), "productType": "loan",
    });
    let refused = world.report_as(&other, &unasked).await;
    let message = "names no lead that this partner was asked about for this product type";
    assert_eq!((refused.status, &refused.json()[0]["message"]), (422, &json!(message)));

    let nobody = "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77";
    for (attribute, report) in [
        ("offerUuid", json!({"transactionId": "T", "eventType": "applied", "offerUuid": nobody})),
        ("leadUuid", json!({"transactionId": "T", "eventType": "applied", "leadUuid": nobody})),
        (
            "leadUuid",
            json!({"transactionId": "T", "eventType": "applied", "clickId": world.offer(), "leadUuid": nobody}),
        ),
        (
            "leadUuid",
            json!({"transactionId": "T", "eventType": "applied", "leadUuid": world.lead_uuid(), "productType": "mortgage"}),
        ),
    ] {
        let refused = world.report(&report).await;
        assert_eq!((refused.status, refused.attributes()), (422, vec![attribute.to_owned()]), "{report}");
    }
    assert_eq!(world.report_as(&world.company, &offer).await.status, 401, "a company is no partner");
    assert_eq!(world.report_as("", &offer).await.status, 401);
    let url = format!("{}/leads/rateTables", world.daemon.api);
    assert_eq!(world.daemon.request(Method::POST, &url, &world.lender, "{}").await.status, 401);
}

#[tokio::test]
async fn what_is_wrong_with_a_report_is_told_at_once() {
    let world = World::new().await;
    let answer = world.report(&json!({"amountInCents": -1, "occurredAt": "2026-11-20T10:00:00Z"})).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.attributes(), ["transactionId", "eventType", "clickId", "amountInCents"]);
    let future = json!({
        "transactionId": "T", "eventType": "applied", "clickId": world.offer(), "occurredAt": "2126-01-01T00:00:00Z",
    });
    assert_eq!(world.report(&future).await.attributes(), ["occurredAt"]);
    let url = format!("{}/partnerEvents", world.daemon.integrations);
    for amount in ["\"amountInCents\":12000.00", "\"amountInCents\":1,\"amountInCents\":2"] {
        let body = format!(
            r#"{{"transactionId":"T","eventType":"applied","clickId":"{}",{amount}}}"#,
            world.offer()
        );
        let refused = world.daemon.request(Method::POST, &url, &world.lender, &body).await;
        assert_eq!((refused.status, refused.attributes()), (422, vec!["amountInCents".to_owned()]), "{body}");
    }
    assert_eq!(world.daemon.request(Method::POST, &url, &world.lender, "[]").await.status, 400);
}

#[tokio::test]
async fn a_network_that_can_only_fire_a_url_signs_it() {
    let world = World::new().await;
    let secret = token(&world.daemon, &["--partner", "lender", "--signing"]);
    let listed = world.daemon.command(&["token", "list", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let key = listed.as_array().unwrap().iter().find(|token| token["kind"] == "signing").unwrap();
    assert_eq!(key["partner"], "lender");
    assert!(!listed.to_string().contains(&secret));

    let key_id = key["id"].as_str().unwrap();
    let query: Vec<(String, String)> = [
        ("keyId", key_id),
        ("transactionId", "T 1"),
        ("eventType", "applied"),
        ("clickId", world.offer()),
        ("amountInCents", "500"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    let url = |query: &[(String, String)], signature: &str| {
        let pairs: Vec<String> =
            query.iter().map(|(name, value)| format!("{name}={}", value.replace(' ', "%20"))).collect();
        format!("{}/partnerEvents?{}&signature={signature}", world.daemon.integrations, pairs.join("&"))
    };
    let signature = signature::sign(&query, &secret);

    let mut forged = query.clone();
    forged[2].1 = "funded".to_owned();
    assert_eq!(world.daemon.request(Method::GET, &url(&forged, &signature), "", "").await.status, 401);
    let signed = url(&query, &signature);
    let head = world.daemon.request(Method::HEAD, &signed, "", "").await;
    assert_eq!((head.status, head.header("allow")), (405, Some("GET, OPTIONS, POST")));
    assert_eq!(world.actions("applied").await.len(), 0, "HEAD reports nothing");
    for _ in 0..2 {
        let answer = world.daemon.request(Method::GET, &signed, "", "").await;
        assert_eq!((answer.status, &answer.json()["transactionId"]), (200, &json!("T 1")));
    }
    assert_eq!(world.actions("applied").await.len(), 1);

    assert!(world.daemon.command(&["token", "revoke", key_id]).status.success());
    assert_eq!(world.daemon.request(Method::GET, &signed, "", "").await.status, 401);
}

#[tokio::test]
async fn a_token_is_for_a_partner_that_there_is() {
    let world = World::new().await;
    let refused = world.daemon.command(&["token", "create", "--partner", "lander"]);
    assert!(!refused.status.success() && refused.stdout.is_empty());
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("`lander`") && told.contains("lender"), "{told}");
}

#[tokio::test]
async fn a_test_lead_earns_nothing() {
    let world = World::new().await;
    let table = world.daemon.submit(LOAN).await.json();
    let offer = &table["loanOffers"][0]["uuid"];
    let report = json!({"transactionId": "T", "eventType": "funded", "clickId": offer, "payoutInCents": 100});
    let answer = world.report(&report).await;
    assert_eq!(answer.status, 201);
    assert!(answer.json().get("payoutInCents").is_none());
}

#[tokio::test]
async fn a_report_stands_in_the_feeds_and_what_is_taken_back_is_a_payout_of_less_than_nothing() {
    let world = World::new().await;
    let cover = world.table["specialOffers"][0]["url"].as_str().unwrap();
    for _ in 0..2 {
        assert_eq!(world.daemon.request(Method::GET, cover, "", "").await.status, 302);
    }
    for transaction in ["T-1", "T-2"] {
        let report = json!({
            "transactionId": transaction, "eventType": "funded", "clickId": world.offer(),
            "amountInCents": 1_000_000, "occurredAt": "2026-11-20T10:00:00Z",
        });
        assert_eq!(world.report(&report).await.status, 201);
    }
    let rejected = json!({"transactionId": "T-3", "eventType": "rejected", "clickId": world.offer()});
    assert_eq!(world.report(&rejected).await.status, 201);
    assert_eq!(world.report(&json!({"transactionId": "T-1", "revoked": true})).await.status, 200);

    let lead = world.lead().await;
    let company = lead["companyUUID"].as_str().unwrap();
    let (_, stopped) = world.daemon.terminate();
    let events = stopped.feed_in_two_hours::<Events>(company).data;
    let payouts = stopped.feed_in_two_hours::<Payouts>(company).data;
    let told = |event_type: EventType| -> Vec<&LeadEvent> {
        events.iter().filter(|event| event.event_type == event_type).collect()
    };
    let funded = told(EventType::Funded);
    assert_eq!(funded.len(), 2, "one a transaction");
    assert_ne!(funded[0].id, funded[1].id);
    assert_eq!(funded[0].amount_in_cents, Some(1_000_000));
    assert_eq!(funded[0].event_created_at.to_string(), "2026-11-20T10:00:00.000Z");
    assert_eq!(funded[0].financial_institution_name.as_deref(), Some("lender"));
    assert_eq!(funded[0].product_type, Some(ProductType::Loan));
    assert_eq!(told(EventType::OfferClicked).len(), 2);
    assert!(
        events.iter().all(|event| event.lead_uuid.to_string() == world.table["leadUuid"].as_str().unwrap())
    );

    // The second click earns nothing more.
    let cents: Vec<f64> = payouts.iter().map(|payout| payout.payout_in_cents).collect();
    assert_eq!(cents, [125.0, 10_000.0, 10_000.0, -10_000.0]);
}

/// The newer form has no payouts of less than nothing: what was taken back comes again, under the same id, with the time.
#[tokio::test]
async fn what_is_taken_back_comes_again_in_the_newer_form_with_the_time() {
    let world = World::new().await;
    let report = json!({
        "transactionId": "T-1", "eventType": "funded", "clickId": world.offer(),
        "amountInCents": 1_000_000, "occurredAt": "2026-11-20T10:00:00Z",
    });
    assert_eq!(world.report(&report).await.status, 201);
    let revoked = world.report(&json!({"transactionId": "T-1", "revoked": true})).await;
    let revoked_at = revoked.json()["revokedAt"].clone();
    let company = world.lead().await["companyUUID"].as_str().unwrap().parse().unwrap();
    let (_, stopped) = world.daemon.terminate();
    let store = stopped.plan.open_store();
    let feeds = Feeds::new(store, "https://offers.example".to_owned(), usize::MAX);
    let later = Horizon::at(ArrivalTime(Clock::system().now_us() + 7_200_000_000));
    let asked = PageRequest::prompt(ArrivalTime::FIRST);

    let events = feeds.page::<Events>(Viewer::of_all(company), asked, later).unwrap().data;
    let funded: Vec<&LeadEvent> =
        events.iter().filter(|event| event.event_type == EventType::Funded).collect();
    assert_eq!((funded.len(), &funded[0].id), (2, &funded[1].id));
    assert_eq!(funded[0].event_deleted_at, None);
    let again = serde_json::to_value(funded[1]).unwrap();
    assert_eq!((&again["eventDeletedAt"], &again["amountInCents"]), (&revoked_at, &json!(1_000_000)));
    assert_eq!(again["eventCreatedAt"], "2026-11-20T10:00:00.000Z");
    assert!(funded[0].pagination_timestamp < funded[1].pagination_timestamp);

    let payouts = feeds.page::<Payouts>(Viewer::of_all(company), asked, later).unwrap().data;
    let payouts = serde_json::to_value(&payouts).unwrap();
    let [earned, again] = &payouts.as_array().unwrap()[..] else { panic!("{payouts}") };
    for field in ["uuid", "leadUuid", "bookedAt", "payoutInCents", "productType", "supplySubAccountUuid"] {
        assert!(earned[field] == again[field] && !earned[field].is_null(), "{field}: {payouts}");
    }
    assert_eq!((&again["payoutInCents"], &again["deletedAt"]), (&json!(10_000), &revoked_at));
    assert!(earned.get("deletedAt").is_none());
    assert_eq!(again["financialInstitutionName"], "lender");
}
