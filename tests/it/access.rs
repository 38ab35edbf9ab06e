//! Access: every path of the OpenAPI document, by nine kinds of caller, to own and foreign records, test and live.

use std::collections::BTreeSet;

use hyper::Method;
use offerd::store::entities::LeadRecord;
use offerd::store::{Commit, Store, Tree, codec};
use offerd::web::signature;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon};

/// Names nothing.
const STRANGER: &str = "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77";

/// What may be told to a confidential token only.
const PERSONAL: [&str; 5] =
    ["Ottoline", "Quillfeather", "ottoline@quillfeather.example", "2065550142", "536-22-8761"];

/// What the answers to a caller are, by what is asked about: nothing that there is (or something new), then the company's own
/// live record and its own of a test, then another company's live one and its one of a test.
type About = [u16; 5];

/// The answers to each of the callers, in the order of [`Callers`].
type Cells = [About; 9];

/// Nine kinds of caller.
struct Callers {
    /// No token at all; what is no token; one that was revoked; the four of a company; a partner's token.
    tokens: [String; 8],
    /// And who signs a query: the id of the key, and its text.
    signing: (String, String),
}

const CALLERS: [&str; 9] = [
    "nobody",
    "nonsense",
    "a revoked token",
    "a publishable token",
    "a publishable test token",
    "a confidential token",
    "a confidential test token",
    "a partner's token",
    "a signed query",
];
const CONFIDENTIAL: [usize; 2] = [5, 6];
const SIGNED: usize = 8;

const REFUSED: About = [401; 5];

const fn everyone(about: About) -> Cells {
    [about; 9]
}

/// The answers to the tokens of a company: publishable, publishable of tests, confidential, confidential of tests.
const fn company(tokens: [About; 4]) -> Cells {
    let [publishable, publishable_test, confidential, confidential_test] = tokens;
    [
        REFUSED,
        REFUSED,
        REFUSED,
        publishable,
        publishable_test,
        confidential,
        confidential_test,
        REFUSED,
        REFUSED,
    ]
}

/// The same to every token of a company.
const fn tokens(about: About) -> Cells {
    company([about; 4])
}

/// By any token of a company, those of tests for records of tests only.
const fn seen(live: About, test: About) -> Cells {
    company([live, test, live, test])
}

/// The same, by confidential tokens only.
const fn seen_in_confidence(live: About, test: About) -> Cells {
    company([REFUSED, REFUSED, live, test])
}

const fn partners(token: About, signed: About) -> Cells {
    [REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, token, signed]
}

/// Every path: who is answered what.
#[rustfmt::skip]
const MATRIX: &[(&str, &str, Cells)] = &[
    // The uuid of any lead is taken, whoever asks.
    ("post", "/leads/rateTables", tokens([200, 409, 409, 409, 409])),
    ("post", "/blocking/leads/rateTables", tokens([200, 409, 409, 409, 409])),
    ("post", "/leads", tokens([201, 409, 409, 409, 409])),
    ("get", "/originator/rateTables/{uuid}", seen([404, 200, 200, 404, 404], [404, 404, 200, 404, 404])),
    ("get", "/originator/rateTables/{uuid}/events", seen([404, 200, 200, 404, 404], [404, 404, 200, 404, 404])),
    ("post", "/leads/{leadUuid}/rateTables", seen([404, 200, 200, 404, 404], [404, 404, 200, 404, 404])),
    ("get", "/leads/{uuid}", seen_in_confidence([404, 200, 200, 404, 404], [404, 404, 200, 404, 404])),
    ("patch", "/leads/{uuid}", seen_in_confidence([404, 200, 200, 404, 404], [404, 404, 200, 404, 404])),
    ("get", "/leads/{uuid}/explanation", seen_in_confidence([404, 200, 200, 404, 404], [404, 404, 200, 404, 404])),
    // A person opens an offer without a token.
    ("get", "/click/{id}", everyone([404, 302, 302, 302, 302])),
    // So are offer pages, by an address that a company gives to a person.
    ("get", "/offers/{page}", everyone([404, 200, 200, 200, 200])),
    ("get", "/offers/{page}/embed", everyone([404, 200, 200, 200, 200])),
    ("get", "/offers/{page}/events", everyone([404, 200, 200, 200, 200])),
    ("get", "/offers/{page}/{offer}/seen.gif", everyone([200; 5])),
    ("get", "/uiEvent/offerDisplays/{leadUuid}/{rateTableUuid}/{offerUuid}/pixel.gif", everyone([200; 5])),
    ("post", "/uiEvent/offerDisplays", seen([400, 201, 201, 400, 400], [400, 400, 201, 400, 400])),
    ("post", "/uiEvent/sessionInits", tokens([201; 5])),
    ("get", "/supplyAnalytics/leadEvents", seen_in_confidence([200; 5], [200; 5])),
    ("get", "/supplyAnalytics/leadPayouts", seen_in_confidence([200; 5], [200; 5])),
    ("get", "/supplyAnalytics/leadClientTags", seen_in_confidence([200; 5], [200; 5])),
    ("get", "/supplyAnalytics/leadsInfo/{leadUuid}", seen_in_confidence([404, 200, 200, 404, 404], [404, 404, 200, 404, 404])),
    ("post", "/originator/prefills", tokens([200; 5])),
    ("get", "/originator/prefills/{prefillToken}", seen([404, 200, 200, 404, 404], [404, 404, 200, 404, 404])),
    ("get", "/offerPreview/loanOffers", tokens([200; 5])),
    ("get", "/offerPreview/creditCardOffers", tokens([200; 5])),
    ("get", "/offerPreview/savingsOffers", tokens([200; 5])),
    ("get", "/leads/universities", tokens([200; 5])),
    ("get", "/leads/vehicles/years", tokens([200; 5])),
    ("get", "/leads/vehicles/makes", tokens([200; 5])),
    ("get", "/leads/vehicles/models", tokens([200; 5])),
    ("get", "/leads/vehicles/trims", tokens([200; 5])),
    ("get", "/uiUtil/featuredFinancialInstitutions", tokens([200; 5])),
    ("post", "/approvalProbability/loanReports", tokens([201; 5])),
    ("get", "/approvalProbability/loanReports/{uuid}", seen([404, 200, 200, 404, 404], [404, 404, 200, 404, 404])),
    ("get", "/", everyone([200; 5])),
    ("get", "/openapi.json", everyone([200; 5])),
    ("get", "/openapi.yaml", everyone([200; 5])),
    ("get", "/openapi-all.json", everyone([200; 5])),
    ("get", "/docs", everyone([200; 5])),
    ("get", "/docs/{file}", everyone([200; 5])),
    ("get", "/handbook/{chapter}", everyone([200; 5])),
    ("get", "/llms.txt", everyone([200; 5])),
    ("get", "/demo", everyone([200; 5])),
    ("get", "/demo/{file}", everyone([200; 5])),
    // Its partner is no sample.
    ("get", "/samples/{partner}/{name}", everyone([404; 5])),
    // A partner reports on what it was asked about, whosever it is.
    // No ask has this address.
    ("post", "/callbacks/{id}", everyone([404; 5])),
    ("post", "/partnerEvents", partners([422, 201, 201, 201, 201], REFUSED)),
    ("get", "/partnerEvents", partners(REFUSED, [422, 200, 200, 200, 200])),
];

/// The one path by which a publishable token reads what is of a person: the prefill token is the permission.
const PREFILL: &str = "/originator/prefills/{prefillToken}";

/// Ids that belong together.
struct Record {
    lead: String,
    table: String,
    offer: String,
    page: String,
    prefill: String,
    report: String,
}

impl Record {
    fn of(table: &Value, prefill: &Value, report: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let offer = text(&table["savingsOffers"][0]["uuid"]);
        let (prefill, report) = (text(&prefill["prefillToken"]), text(&report["uuid"]));
        let page = text(&table["partnerPageUrl"]).rsplit('/').next().unwrap().to_owned();
        Self { lead: text(&table["leadUuid"]), table: text(&table["uuid"]), offer, page, prefill, report }
    }

    fn nothing() -> Self {
        let [lead, table, offer, page, prefill, report] = [STRANGER; 6].map(str::to_owned);
        Self { lead, table, offer, page, prefill, report }
    }
}

fn token(daemon: &Daemon, arguments: &[&str]) -> String {
    let output = daemon.command(&[&["token", "create"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn company_token(daemon: &Daemon, company: &str, kind: &str, test: bool) -> String {
    let arguments = ["--company", company, "--kind", kind, "--test"];
    token(daemon, &arguments[..if test { 5 } else { 4 }])
}

impl Callers {
    fn of(daemon: &Daemon) -> Self {
        let of = |kind, test| company_token(daemon, "Own", kind, test);
        let revoked = of("confidential", false);
        let listed = |kind: &str| -> String {
            let listed = daemon.command(&["token", "list", "--json"]);
            let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
            let tokens = listed.as_array().unwrap();
            let found = tokens.iter().find(|token| token["kind"] == kind && token["test"] != true);
            found.unwrap()["id"].as_str().unwrap().to_owned()
        };
        assert!(daemon.command(&["token", "revoke", &listed("confidential")]).status.success());
        let secret = token(daemon, &["--partner", "bank", "--signing"]);
        Self {
            signing: (listed("signing"), secret),
            tokens: [
                String::new(),
                "nonsense".to_owned(),
                revoked,
                of("publishable", false),
                of("publishable", true),
                of("confidential", false),
                of("confidential", true),
                token(daemon, &["--partner", "bank"]),
            ],
        }
    }
}

/// The records that are asked about, in the order of [`About`].
async fn records(daemon: &Daemon) -> Vec<Record> {
    let mut records = vec![Record::nothing()];
    for (company, test) in [("Own", false), ("Own", true), ("Foreign", false), ("Foreign", true)] {
        let token = company_token(daemon, company, "publishable", test);
        let lead = json!({"personalInformation": {
            "firstName": PERSONAL[0], "lastName": PERSONAL[1], "email": PERSONAL[2],
            "primaryPhone": PERSONAL[3], "ssn": PERSONAL[4],
        }});
        let url = format!("{}/leads/rateTables", daemon.api);
        let table = daemon.request(Method::POST, &url, &token, &lead.to_string()).await;
        assert_eq!(table.status, 200);
        let url = format!("{}/originator/prefills", daemon.api);
        let prefill = daemon.request(Method::POST, &url, &token, &lead.to_string()).await;
        let url = format!("{}/approvalProbability/loanReports", daemon.api);
        let report = daemon.request(Method::POST, &url, &token, LOAN_REPORT).await;
        assert_eq!(report.status, 201);
        records.push(Record::of(&table.json(), &prefill.json(), &report.json()));
    }
    records
}

const LOAN_REPORT: &str = r#"{"annualIncome": 60000, "creditRating": "good"}"#;

/// What a path is sent to name a record.
fn body(method: &str, path: &str, record: &Record, nth: usize) -> String {
    let Record { lead, table, offer, .. } = record;
    match (method, path) {
        ("post", "/leads" | "/leads/rateTables" | "/blocking/leads/rateTables") if lead != STRANGER => {
            json!({"uuid": lead}).to_string()
        }
        ("post", "/uiEvent/offerDisplays") => {
            json!({"leadUuid": lead, "rateTableUuid": table, "offerUuid": offer}).to_string()
        }
        ("post", "/partnerEvents") => {
            json!({"transactionId": format!("T{nth}"), "eventType": "applied", "clickId": offer}).to_string()
        }
        ("post", "/approvalProbability/loanReports") => LOAN_REPORT.to_owned(),
        ("post" | "patch", _) => "{}".to_owned(),
        _ => String::new(),
    }
}

/// The address of a path for a record.
fn address(base: &str, path: &str, record: &Record) -> String {
    let uuid = match path.split('/').nth(1) {
        Some("originator") => &record.table,
        Some("approvalProbability") => &record.report,
        _ => &record.lead,
    };
    let filled = path
        .replace("{uuid}", uuid)
        .replace("{leadUuid}", &record.lead)
        .replace("{rateTableUuid}", &record.table)
        .replace("{offerUuid}", &record.offer)
        .replace("{offer}", &record.offer)
        .replace("{id}", &record.offer)
        .replace("{prefillToken}", &record.prefill)
        .replace("{page}", &record.page)
        .replace("{chapter}", "client")
        .replace("{file}", if path.starts_with("/docs") { "start.js" } else { "demo.js" });
    let query = match path {
        "/leads/universities" => "?limit=1",
        path if path.starts_with("/supplyAnalytics") => "?timestamp=2020-08-01T00:00:00Z",
        _ => "",
    };
    format!("{base}{filled}{query}")
}

/// A report as a query, signed.
fn report(callers: &Callers, record: &Record, nth: usize) -> String {
    let (id, secret) = &callers.signing;
    let transaction = format!("Q{nth}");
    let query = [
        ("keyId", &id[..]),
        ("transactionId", &transaction),
        ("eventType", "applied"),
        ("clickId", &record.offer),
    ];
    let query = query.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let pairs: Vec<String> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{}&signature={}", pairs.join("&"), signature::sign(&query, secret))
}

async fn ask(
    daemon: &Daemon,
    callers: &Callers,
    caller: usize,
    (method, path): (&str, &str),
    record: &Record,
    nth: usize,
) -> Answer {
    let integrations =
        path.starts_with("/blocking") || path.starts_with("/callbacks") || path == "/partnerEvents";
    let base = if integrations { &daemon.integrations } else { &daemon.api };
    let mut url = address(base, path, record);
    if caller == SIGNED {
        let separator = if url.contains('?') { '&' } else { '?' };
        url = format!("{url}{separator}{}", report(callers, record, nth));
    }
    let token = callers.tokens.get(caller).map_or("", String::as_str);
    let verb = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
    let headers: &[(&str, &str)] =
        if path.contains("leadsInfo") { &[("api-version", "2025-04-01")] } else { &[] };
    daemon.request_with(verb, &url, token, headers, body(method, path, record, nth)).await
}

#[tokio::test]
async fn every_caller_is_answered_as_it_stands_here_on_every_path() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let daemon = plan.setting("limits.prefill_reads", "10").start().await;
    let document = daemon.get("/openapi-all.json").await.json();
    let documented: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(|method| (method.clone(), path.clone()))
        })
        .collect();
    let stated: BTreeSet<(String, String)> =
        MATRIX.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(stated, documented, "each operation of the document has its row");

    let callers = Callers::of(&daemon);
    let records = records(&daemon).await;
    let (mut wrong, mut nth) = (Vec::new(), 0);
    for (method, path, cells) in MATRIX {
        for (caller, about) in cells.iter().enumerate() {
            let mut statuses = [0; 5];
            for (record, status) in records.iter().zip(&mut statuses) {
                nth += 1;
                let answer = ask(&daemon, &callers, caller, (method, path), record, nth).await;
                *status = answer.status;
                let told = String::from_utf8_lossy(&answer.body).into_owned();
                let is_told = CONFIDENTIAL.contains(&caller) || *path == PREFILL;
                if !is_told && PERSONAL.iter().any(|text| told.contains(text)) {
                    wrong.push(format!("{method} {path} tells {} of a person: {told}", CALLERS[caller]));
                }
            }
            if statuses != *about {
                wrong.push(format!("{method} {path} by {}: {statuses:?}, not {about:?}", CALLERS[caller]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A publishable token ships in apps: it is told nothing of a person, not even what was just sent with it.
#[tokio::test]
async fn a_publishable_token_is_told_nothing_of_a_person() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let lead = json!({
        "personalInformation": {"lastName": PERSONAL[1], "email": PERSONAL[2]},
        "loanInformation": {"loanAmount": 9_000},
        "clientTags": {"campaign": ["spring"]},
    });
    let taken = daemon.post("/leads", lead.to_string()).await;
    let told = taken.json();
    assert_eq!((taken.status, &told["status"], &told["isTest"]), (201, &json!("initialized"), &json!(true)));
    for section in ["personalInformation", "loanInformation", "clientTags"] {
        assert_eq!(told.get(section), None, "{section}");
    }
    let url = format!("{}/leads", daemon.api);
    let confidential =
        daemon.request(Method::POST, &url, &daemon.confidential, &lead.to_string()).await.json();
    assert_eq!(confidential["personalInformation"], lead["personalInformation"]);
    let path = format!("/leads/{}", told["uuid"].as_str().unwrap());
    assert_eq!(daemon.get(&path).await.json()["personalInformation"], lead["personalInformation"]);
}

/// Makes a stored lead older.
async fn age(store: &Store, lead: &str, hours: i64) {
    let uuid: Uuid = lead.parse().unwrap();
    let stored = store.get(Tree::Leads, uuid.as_bytes()).unwrap().expect("the lead is stored");
    let mut record: LeadRecord = codec::decode_json(&stored).unwrap();
    record.created_at -= hours * 60 * 60 * 1000;
    let older = Commit::new().about(uuid).put(Tree::Leads, uuid.as_bytes(), codec::encode_json(&record));
    store.commit(older).await.unwrap();
}

#[tokio::test]
async fn a_publishable_token_merges_for_a_day_after_a_lead_was_made() {
    let mut daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let lead = daemon.submit("{}").await.json()["leadUuid"].as_str().unwrap().to_owned();
    let path = format!("/leads/{lead}/rateTables");
    for (hours, status) in [(23, 200), (2, 404)] {
        let (_, stopped) = daemon.terminate();
        let store = stopped.plan.open_store();
        age(&store, &lead, hours).await;
        drop(store);
        daemon = stopped.start().await;
        let email = json!({"personalInformation": {"email": format!("new{hours}@quillfeather.example")}});
        assert_eq!(daemon.post(&path, email.to_string()).await.status, status);
    }
    let unknown = daemon.post(&format!("/leads/{STRANGER}/rateTables"), "{}").await;
    let late = daemon.post(&path, "{}").await;
    let told = String::from_utf8_lossy(&late.body).replace(&lead, STRANGER);
    assert_eq!(told, String::from_utf8_lossy(&unknown.body), "an old lead is as one that never was");
    let stored = daemon.get(&format!("/leads/{lead}")).await.json();
    assert_eq!(stored["personalInformation"]["email"], "new23@quillfeather.example");
    assert!(daemon.metrics().await.contains(r#"offerd_submits_refused_total{reason="merge_too_late"} 2"#));
    let url = format!("{}{path}", daemon.api);
    assert_eq!(daemon.request(Method::POST, &url, &daemon.confidential, "{}").await.status, 200);
}

/// What a test sends is no repeat and no duplicate of what was sent in earnest, so neither tells of the other.
#[tokio::test]
async fn a_test_neither_repeats_nor_duplicates_a_live_lead() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let look_back = ["--company", "Own", "--kind", "publishable", "--duplicate-look-back", "60"];
    let live = token(&daemon, &look_back);
    let test = company_token(&daemon, "Own", "publishable", true);
    let url = format!("{}/leads/rateTables", daemon.api);
    let person = json!({"personalInformation": {"ssn": PERSONAL[4]}}).to_string();
    for (body, key) in [(&person[..], ""), ("{}", "k-1")] {
        let mut tables = BTreeSet::new();
        for token in [&live, &test] {
            let headers = [("idempotency-key", key)];
            let headers = if key.is_empty() { &[] } else { &headers[..] };
            let answer = daemon.request_with(Method::POST, &url, token, headers, body.to_owned()).await;
            assert_eq!(answer.status, 200);
            tables.insert(answer.json()["uuid"].as_str().unwrap().to_owned());
        }
        assert_eq!(tables.len(), 2, "{body}");
    }
    assert_eq!(daemon.request(Method::POST, &url, &live, &person).await.status, 409);
}
