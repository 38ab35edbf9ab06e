//! `offerd explain`, for a given and for a stored lead, and the part that its company may read.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::far_lender;
use crate::kit::partners::{PartnerFile, partner};
use crate::kit::{Answer, Daemon, sample};

const LEAD: &str = r#"{
    "productTypes": ["loan"],
    "personalInformation": {"state": "WA", "ssn": "536-22-8714"},
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

fn limited(key: &str, limits: &str) -> PartnerFile {
    partner(key).loan("").and(&format!("\n[products.loan.limits]\n{limits}\n"))
}

/// A daemon whose company is live: the leads of a first start's tokens are tests.
async fn live(partners: Vec<PartnerFile>) -> Daemon {
    let mut daemon = Daemon::with_partners(partners).start().await;
    daemon.publishable = token(&daemon, "Live", "publishable");
    daemon.confidential = token(&daemon, "Live", "confidential");
    daemon
}

fn token(daemon: &Daemon, company: &str, kind: &str) -> String {
    let made = daemon.command(&["token", "create", "--company", company, "--kind", kind]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap().lines().next().unwrap().to_owned()
}

async fn submitted(daemon: &Daemon, lead: &str) -> Value {
    let answer = daemon.submit_blocking(lead).await;
    assert_eq!(answer.status, 200);
    answer.json()
}

fn uuid<'t>(table: &'t Value, key: &str) -> &'t str {
    table[key].as_str().unwrap()
}

/// What the command line tells of a uuid.
fn explained(daemon: &Daemon, uuid: &str) -> Value {
    told(&daemon.command(&["explain", uuid, "--json"]))
}

fn told(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The seat of a partner at the only rate table.
fn seat<'e>(explained: &'e Value, partner: &str) -> &'e Value {
    let seats = explained["rateTables"][0]["seats"].as_array().unwrap();
    seats.iter().find(|seat| seat["partner"] == partner).unwrap_or_else(|| panic!("{partner}: {explained}"))
}

async fn document(daemon: &Daemon, lead: &str, token: &str) -> Answer {
    let url = format!("{}/leads/{lead}/explanation", daemon.api);
    daemon.request(Method::GET, &url, token, "").await
}

fn result<'d>(document: &'d Value, partner: &str) -> &'d Value {
    let partners = document["rateTables"][0]["partners"].as_array().unwrap();
    partners.iter().find(|one| one["partnerName"] == partner).unwrap_or_else(|| panic!("{partner}"))
}

/// The number of the line of a partner file that holds a text.
fn line_of(daemon: &Daemon, file: &str, text: &str) -> usize {
    let file = std::fs::read_to_string(daemon.partners().join(file)).unwrap();
    file.lines().position(|line| line.contains(text)).unwrap() + 1
}

/// Holds the document against what `/openapi.json` says of it.
async fn assert_conforms(daemon: &Daemon, document: &Value) {
    let mut schema = daemon.get("/openapi.json").await.json();
    schema["$ref"] = json!("#/components/schemas/LeadExplanation");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(document).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
}

/// A partner that is waited for so long.
fn waited_for(file: PartnerFile, time: &str) -> PartnerFile {
    let timeout = |time: &str| format!("\ntimeout = \"{time}\"");
    file.replaced(&timeout("3s"), &timeout(time))
        .replaced("connect_timeout = \"1s\"", "connect_timeout = \"10s\"")
}

/// Who answers has the time for it, however busy the machine is.
fn patient(file: PartnerFile) -> PartnerFile {
    waited_for(file, "14s")
}

#[tokio::test]
async fn every_partner_has_the_reason_that_was_recorded_or_is_found_again() {
    let decliner = FarSide::start(|_| Deed::Json(200, json!({"no": true}).to_string())).await;
    let rejecter = FarSide::start(|_| Deed::Json(200, json!({"no": "low_fico"}).to_string())).await;
    let silent = FarSide::start(|_| Deed::Silence).await;
    let failing = FarSide::start(|_| Deed::Json(503, "{}".to_owned())).await;
    let offering =
        FarSide::start(|_| Deed::Json(200, json!({"offers": [{"term": 36, "apr": "soon"}]}).to_string()))
            .await;
    let daemon = live(vec![
        partner("bank").loan(""),
        patient(far_lender("decliner", &decliner.url("/"), "")),
        patient(far_lender("rejecter", &rejecter.url("/"), "")),
        waited_for(far_lender("silent", &silent.url("/"), ""), "400ms"),
        patient(far_lender("failing", &failing.url("/"), "")),
        patient(far_lender("mistaken", &offering.url("/"), "")),
        partner("picky").loan("eligibility = { \"personalInformation.state\" = { in = [\"NY\"] } }"),
        far_lender("small", &offering.url("/"), "").replaced("max = 50000", "max = 5000"),
        partner("saver").savings(""),
        partner("resting").loan("paused = true"),
    ])
    .await;
    let table = submitted(&daemon, LEAD).await;
    let explained = explained(&daemon, uuid(&table, "leadUuid"));
    let why = |partner: &str| seat(&explained, partner)["why"].as_str().unwrap().to_owned();
    let cause = |partner: &str| seat(&explained, partner)["cause"].as_str().unwrap_or_default().to_owned();

    assert_eq!(why("bank"), "offers");
    let offer = &seat(&explained, "bank")["offers"][0];
    assert_eq!((&offer["name"], &offer["why"]), (&json!("personal"), &json!("shown")));
    assert_eq!(offer["uuid"], table["loanOffers"][0]["uuid"]);
    assert!(seat(&explained, "bank")["endedAfterMs"].is_u64());

    assert_eq!(why("decliner"), "declined");
    assert_eq!(why("rejecter"), "rejected");
    assert_eq!(seat(&explained, "rejecter")["rejectReason"], "low_fico");
    assert_eq!(why("silent"), "timed_out");
    assert!(seat(&explained, "silent")["endedAfterMs"].as_u64().unwrap() >= 300);
    assert_eq!(why("failing"), "bad_answer");
    assert_eq!(cause("failing"), "the answer has status 503");

    // A mapping that fails names its file, its line and its cause.
    assert_eq!(why("mistaken"), "bad_answer");
    let line = line_of(&daemon, "mistaken.toml", "apr = \"offer.apr\"");
    let place = format!("mistaken.toml:{line}: `answer.offer.apr` must be a number");
    assert!(cause("mistaken").starts_with(&place), "{}", cause("mistaken"));

    assert_eq!(why("picky"), "unmet");
    let refusal = &seat(&explained, "picky")["refusals"][0];
    assert_eq!(refusal["attribute"], "personalInformation.state");
    assert_eq!(refusal["found"], "WA");
    // A partner that lives elsewhere is not sent a lead that none of its offers is for.
    let small = seat(&explained, "small");
    assert_eq!(small["why"], "unmet");
    assert_eq!(small["offers"][0]["refusals"][0]["attribute"], "loanInformation.loanAmount");
    assert_eq!((why("saver"), why("resting")), ("not_wanted".to_owned(), "paused".to_owned()));
    assert_eq!(explained["rateTables"][0]["sameFiles"], true);

    assert_found_by_table_and_by_offer(&daemon, &table, &explained);
    let page = daemon.command(&["explain", uuid(&table, "leadUuid")]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("rejected the person: low_fico") && !page.contains("536-22"), "{page}");
    assert_document_tells_what_a_company_may_know(&daemon, uuid(&table, "leadUuid")).await;

    let (_, stopped) = daemon.terminate();
    let again = stopped.plan.command(&["explain", uuid(&table, "leadUuid"), "--json"]).output().unwrap();
    assert_eq!(told(&again), explained, "the store alone says the same");
}

fn assert_found_by_table_and_by_offer(daemon: &Daemon, table: &Value, explained: &Value) {
    let by_table = self::explained(daemon, uuid(table, "uuid"));
    assert_eq!(by_table, *explained, "a rate table leads to the same");
    let by_offer = self::explained(daemon, uuid(&table["loanOffers"][0], "uuid"));
    assert_eq!(by_offer, *explained, "and so does an offer");
}

/// That each partner has its result, and none of what lies behind it.
async fn assert_document_tells_what_a_company_may_know(daemon: &Daemon, lead: &str) {
    let document = document(daemon, lead, &daemon.confidential).await;
    assert_eq!(document.status, 200);
    let text = String::from_utf8_lossy(&document.body).into_owned();
    assert!(!text.contains("status 503") && !text.contains("toml") && !text.contains("536-22"), "{text}");
    let document = document.json();
    // A uuid or a time may hold it by chance.
    let mut failing = result(&document, "failing").clone();
    failing
        .as_object_mut()
        .unwrap()
        .retain(|key, _| !["Uuid", "At", "Ms"].iter().any(|ending| key.ends_with(ending)));
    assert!(!failing.to_string().contains("503"), "{failing}");
    for (partner, wanted) in [
        ("bank", "offers"),
        ("decliner", "declined"),
        ("rejecter", "rejected"),
        ("silent", "timed_out"),
        ("failing", "unavailable"),
        ("mistaken", "unavailable"),
        ("picky", "conditions_not_met"),
        ("small", "conditions_not_met"),
        ("saver", "not_asked_for"),
        ("resting", "unavailable"),
    ] {
        assert_eq!(result(&document, partner)["result"], wanted, "{partner}");
    }
    assert_conforms(daemon, &document).await;
    let condition = &result(&document, "picky")["conditions"][0];
    assert_eq!(condition["attribute"], "personalInformation.state");
}

#[tokio::test]
async fn who_submits_its_tags_and_the_place_decide_and_are_told() {
    let only = |key: &str, condition: &str| partner(key).loan(&format!("eligibility = {{ {condition} }}"));
    let daemon = live(vec![
        only("near", r#""personalInformation.zipcode" = { prefix_in = ["941", "10"] }"#),
        only("far", r#""personalInformation.zipcode" = { prefix_not_in = ["9"] }"#),
        only("tagged", r#""clientTags.channel" = { any_of = ["web"] }"#),
        only("untagged", r#""clientTags.channel" = { none_of = ["web"] }"#),
        only("others", r#"company = { in = ["7d9f2c1e-33aa-4c7f-8b5d-0a1b2c3d4e5f"] }"#),
        only("cautious", "loanToIncome = { max = 20 }"),
    ])
    .await;
    let listed = told(&daemon.command(&["token", "list", "--json"]));
    let company = listed.as_array().unwrap().iter().find(|token| token["company"] == "Live").unwrap();
    let own = format!("company = {{ in = [\"{}\"] }}", company["companyUuid"].as_str().unwrap());
    only("ours", &own).write(daemon.partners());
    assert!(daemon.command(&["reload"]).status.success());

    let lead = LEAD
        .replace(r#""state": "WA""#, r#""state": "CA", "zipcode": "94105-1804""#)
        .replace(r#""productTypes""#, r#""financialInformation": {"annualIncome": 40000}, "clientTags": {"channel": ["Web"]}, "productTypes""#);
    let table = submitted(&daemon, &lead).await;
    let explained = explained(&daemon, uuid(&table, "leadUuid"));
    for partner in ["near", "tagged", "ours"] {
        assert_eq!(seat(&explained, partner)["why"], "offers", "{partner}");
    }
    for (partner, attribute, wanted, found) in [
        (
            "far",
            "personalInformation.zipcode",
            "`personalInformation.zipcode` does not begin with 9",
            "given (personal)",
        ),
        ("untagged", "clientTags.channel", "`clientTags.channel` has none of web", "given (personal)"),
        (
            "others",
            "company",
            "`company` in 7d9f2c1e-33aa-4c7f-8b5d-0a1b2c3d4e5f",
            company["companyUuid"].as_str().unwrap(),
        ),
        ("cautious", "loanToIncome", "`loanToIncome` at most 20", "25"),
    ] {
        let told = seat(&explained, partner);
        assert_eq!(told["why"], "unmet", "{partner}");
        let refusal = json!({ "attribute": attribute, "wanted": wanted, "found": found });
        assert_eq!(told["refusals"], json!([refusal]), "{partner}");
    }

    // With whom a partner works is not told to clients.
    let document = document(&daemon, uuid(&table, "leadUuid"), &daemon.confidential).await.json();
    let others = result(&document, "others");
    assert_eq!((&others["result"], &others["conditions"]), (&json!("conditions_not_met"), &json!([])));
    assert_eq!(others["offers"][0]["conditions"], json!([]));
    assert_eq!(result(&document, "cautious")["conditions"][0]["attribute"], "loanToIncome");
}

#[tokio::test]
async fn what_limits_kept_out_is_told_as_it_was_and_to_clients_without_figures() {
    // Open for a minute of the day, twelve hours from now.
    let closed = "schedule = [{ days = [\"mon..sun\"], from = \"FROM\", to = \"TO\" }]";
    let hour = (chrono::Utc::now().format("%H").to_string().parse::<u32>().unwrap() + 12) % 24;
    let closed = closed.replace("FROM", &format!("{hour:02}:00")).replace("TO", &format!("{hour:02}:01"));
    let daemon = live(vec![
        limited("capped", "per_day = 1"),
        limited("closed", &closed),
        partner("paused").loan(""),
        partner("open").loan(""),
        partner("alone").savings("exclusive = true"),
        partner("left").savings(""),
    ])
    .await;
    let lead = LEAD.replace("[\"loan\"]", "[\"loan\",\"savings\"]");
    assert!(daemon.command(&["partners", "pause", "paused", "--reason", "an outage"]).status.success());
    submitted(&daemon, &lead).await;
    let table = submitted(&daemon, &lead).await;
    let lead = uuid(&table, "leadUuid");

    let in_force = explained(&daemon, lead);
    let found = seat(&in_force, "paused")["refusals"][0]["found"].as_str().unwrap();
    assert!(found.starts_with("paused by an operator since ") && found.ends_with(": an outage"), "{found}");

    // What was recorded holds, whatever has changed since.
    assert!(daemon.command(&["partners", "resume", "paused"]).status.success());
    let explained = explained(&daemon, lead);
    for (partner, why) in [
        ("capped", "per_day"),
        ("closed", "schedule"),
        ("paused", "paused"),
        ("open", "offers"),
        ("left", "exclusive"),
    ] {
        assert_eq!(seat(&explained, partner)["why"], why, "{partner}");
    }
    assert_eq!(seat(&explained, "capped")["refusals"][0]["wanted"], "fewer asks in the day than its cap");
    assert_eq!(seat(&explained, "closed")["refusals"].as_array().unwrap().len(), 1);
    assert_eq!(seat(&explained, "paused")["refusals"][0]["found"], "paused by an operator");
    assert_eq!(seat(&explained, "left")["refusals"][0]["found"], "alone");

    // What the command leaves out does not change what it counts.
    let counted = |arguments: &[&str]| {
        let printed = daemon.command(&[&["explain", lead], arguments].concat()).stdout;
        String::from_utf8(printed).unwrap().lines().last().unwrap().to_owned()
    };
    assert_eq!(counted(&[]), counted(&["--matched"]));

    let document = document(&daemon, lead, &daemon.confidential).await.json();
    for (partner, wanted) in [
        ("capped", "limit"),
        ("closed", "schedule"),
        ("paused", "unavailable"),
        ("open", "offers"),
        ("left", "limit"),
    ] {
        let told = result(&document, partner);
        assert_eq!((&told["result"], &told["conditions"]), (&json!(wanted), &json!([])), "{partner}");
    }
}

#[tokio::test]
async fn a_breaker_that_kept_a_partner_out_is_told() {
    let far = FarSide::start(|_| Deed::Json(500, "{}".to_owned())).await;
    let daemon = live(vec![far_lender("far", &far.url("/"), "")]).await;
    let mut last = Value::Null;
    for _ in 0..40 {
        let table = submitted(&daemon, LEAD).await;
        last = explained(&daemon, uuid(&table, "leadUuid"));
        if seat(&last, "far")["why"] == "kept_out" {
            break;
        }
    }
    let far = seat(&last, "far");
    assert_eq!(far["why"], "kept_out", "{last}");
    let cause = far["cause"].as_str().unwrap();
    assert!(cause.starts_with("the breaker is open, asks again in "), "{far}");
    assert!(cause.ends_with(" s; last: the answer has status 500"), "{far}");
}

#[tokio::test]
async fn a_partner_with_as_many_calls_as_it_may_have_names_the_key_to_raise() {
    let far = FarSide::start(|_| Deed::Silence).await;
    let slow = far_lender("slow", &far.url("/"), "").replaced("timeout = \"3s\"", "timeout = \"10s\"");
    let daemon = live(vec![slow.replaced("wire = {", "wire = { concurrency = 1,")]).await;
    daemon.submit(LEAD).await;
    far.until(|received| received.len() == 1).await;
    let table = submitted(&daemon, LEAD).await;
    let explained = explained(&daemon, uuid(&table, "uuid"));
    let slow = seat(&explained, "slow");
    let cause =
        "as many calls are in flight as `wire.concurrency` allows (1): the partner stalls, or raise it";
    assert_eq!((&slow["why"], &slow["cause"]), (&json!("kept_out"), &json!(cause)));
}

#[tokio::test]
async fn second_look_is_told() {
    let lead = LEAD.replace("[\"loan\"]", "[\"loan\",\"other\"]");
    let daemon = live(vec![partner("bank").loan(""), partner("instead").second_look(3.0, "")]).await;
    let table = submitted(&daemon, &lead).await;
    assert_eq!(seat(&explained(&daemon, uuid(&table, "uuid")), "instead")["why"], "not_needed");

    let daemon = live(vec![partner("best").second_look(3.0, ""), partner("less").second_look(2.0, "")]).await;
    let table = submitted(&daemon, &lead).await;
    let explained = explained(&daemon, uuid(&table, "uuid"));
    assert_eq!(seat(&explained, "best")["offers"][0]["why"], "shown");
    assert_eq!(seat(&explained, "less")["offers"][0]["why"], "outbid");

    // Limits hold when second look begins, and what they kept out then is told as what they keep out at first.
    let limits = "\n[products.other.limits]\nper_day = 1\n";
    let daemon = live(vec![partner("capped").second_look(3.0, "").and(limits)]).await;
    submitted(&daemon, &lead).await;
    let table = submitted(&daemon, &lead).await;
    let explained = self::explained(&daemon, uuid(&table, "uuid"));
    let capped = seat(&explained, "capped");
    assert_eq!((&capped["why"], &capped["askedAt"]), (&json!("per_day"), &Value::Null));
    assert_eq!(capped["refusals"][0]["found"], "as many as its cap");
}

#[tokio::test]
async fn a_pending_table_is_told_as_far_as_it_has_come() {
    let far = FarSide::start(|_| Deed::Silence).await;
    let slow = far_lender("slow", &far.url("/"), "").replaced("timeout = \"3s\"", "timeout = \"10s\"");
    let daemon = live(vec![partner("bank").loan(""), slow]).await;
    let table = daemon.submit(LEAD).await.json();
    assert_eq!(table["pendingResponses"].as_array().unwrap().len(), 1);
    let explained = explained(&daemon, uuid(&table, "uuid"));
    assert_eq!(explained["rateTables"][0]["pending"], true);
    let slow = seat(&explained, "slow");
    assert_eq!((&slow["why"], &slow["endedAfterMs"]), (&json!("pending"), &Value::Null));
    assert!(slow["askedAt"].is_string());
    assert_eq!(seat(&explained, "bank")["why"], "offers");
    let document = document(&daemon, uuid(&table, "leadUuid"), &daemon.confidential).await.json();
    assert_eq!(document["rateTables"][0]["pending"], true);
    assert_eq!(result(&document, "slow")["result"], "pending");
}

#[tokio::test]
async fn a_lead_with_several_tables_has_each_of_them_told() {
    let daemon = live(vec![partner("bank").loan("")]).await;
    let first = submitted(&daemon, LEAD).await;
    let path = format!("/leads/{}/rateTables", uuid(&first, "leadUuid"));
    let second = daemon.post(&path, r#"{"loanInformation":{"loanAmount":20000}}"#).await.json();
    let tables = |explained: &Value| -> Vec<String> {
        let tables = explained["rateTables"].as_array().unwrap().iter();
        tables.map(|table| uuid(table, "uuid").to_owned()).collect()
    };
    let both = explained(&daemon, uuid(&first, "leadUuid"));
    assert_eq!(tables(&both), [uuid(&first, "uuid"), uuid(&second, "uuid")]);
    assert_eq!(both["rateTables"][0]["sameLead"], false, "it has grown since the first");
    assert_eq!(both["rateTables"][1]["sameLead"], true);
    assert_eq!(tables(&explained(&daemon, uuid(&second, "uuid"))), [uuid(&second, "uuid")]);
}

#[tokio::test]
async fn changed_files_and_a_grown_lead_are_said_to_be_so() {
    let daemon = live(vec![partner("bank").loan("")]).await;
    let table = submitted(&daemon, LEAD).await;
    let lead = uuid(&table, "leadUuid").to_owned();
    let path = format!("{}/leads/{lead}", daemon.api);
    let grown = r#"{"loanInformation":{"loanAmount":900}}"#;
    assert_eq!(daemon.request(Method::PATCH, &path, &daemon.confidential, grown).await.status, 200);
    let (_, stopped) = daemon.terminate();
    partner("bank").loan("eligibility = { age = { min = 18 } }").write(stopped.plan.partners());
    partner("newcomer").loan("").replaced("min = 1000", "min = 500").write(stopped.plan.partners());

    let output = stopped.plan.command(&["explain", &lead, "--json"]).output().unwrap();
    let explained = told(&output);
    let table = &explained["rateTables"][0];
    assert_eq!((&table["sameFiles"], &table["sameLead"]), (&json!(false), &json!(false)));
    assert_eq!(seat(&explained, "bank")["why"], "offers", "what was recorded holds");
    assert_eq!(seat(&explained, "newcomer")["why"], "unlisted");
    let page = stopped.plan.command(&["explain", &lead]).output().unwrap();
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(
        page.contains("the partner files have changed since") && page.contains("the lead has changed since")
    );
}

#[tokio::test]
async fn the_document_is_for_confidential_tokens_of_the_company() {
    let daemon = live(vec![partner("bank").loan("")]).await;
    let table = submitted(&daemon, LEAD).await;
    let lead = uuid(&table, "leadUuid");
    let other = token(&daemon, "Other", "confidential");
    let status = async |token: &str| document(&daemon, lead, token).await.status;
    assert_eq!(status(&daemon.confidential).await, 200);
    assert_eq!(status(&daemon.publishable).await, 401);
    assert_eq!(status("").await, 401);
    assert_eq!(status(&other).await, 404);
    assert_eq!(document(&daemon, uuid(&table, "uuid"), &daemon.confidential).await.status, 404);
    let url = format!("{}/leads/{lead}/explanation", daemon.api);
    let v1 = [("accept", "application/vnd.offerd.v1+json")];
    let answer = daemon.request_with(Method::GET, &url, &daemon.confidential, &v1, "").await;
    assert_eq!(answer.status, 415);
}

#[tokio::test]
async fn the_admin_listener_tells_it_to_who_has_the_key() {
    let daemon = live(vec![partner("bank").loan("")]).await;
    let table = submitted(&daemon, LEAD).await;
    let url = format!("{}/leads/{}/explanation", daemon.admin, uuid(&table, "leadUuid"));
    assert_eq!(daemon.request(Method::GET, &url, &daemon.confidential, "").await.status, 401);
    // A running daemon tells it whatever has become of the partner files.
    partner("bank").loan("nonsense = 1").write(daemon.partners());
    assert_eq!(seat(&explained(&daemon, uuid(&table, "uuid")), "bank")["why"], "offers");
    let unknown = daemon.command(&["explain", "0f0f0f0f-0000-4000-8000-000000000000"]);
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no lead, rate table or shown offer"));
}

#[tokio::test]
async fn a_lead_that_is_given_is_told_as_json_too() {
    let daemon = live(vec![partner("bank").loan(""), partner("saver").savings("")]).await;
    let file = daemon.partners().join("lead.json");
    std::fs::write(&file, sample("personal_loan")).unwrap();
    let seats = told(&daemon.command(&["explain", file.to_str().unwrap(), "--json"]));
    let bank = seats.as_array().unwrap().iter().find(|seat| seat["partner"] == "bank").unwrap();
    assert_eq!((&bank["asked"], &bank["offers"][0]["matched"]), (&json!(true), &json!(true)));
    let saver = seats.as_array().unwrap().iter().find(|seat| seat["partner"] == "saver").unwrap();
    assert_eq!(saver["asked"], false);
}
