//! The OpenAPI document and the page that shows it.

use std::collections::BTreeSet;

use hyper::Method;
use offerd::http::routes::{API, INTEGRATIONS};
use offerd::model::{EventType, LeadActionType, LoanPurpose, ProductType, State, TermUnit};
use offerd::web::Scope;
use serde_json::{Value, json};

use crate::kit::{Answer, Daemon};

async fn daemon() -> Daemon {
    Daemon::with_partners(Vec::new()).start().await
}

async fn without_token(daemon: &Daemon, path: &str) -> Answer {
    daemon.request(Method::GET, &format!("{}{path}", daemon.api), "", "").await
}

async fn told(daemon: &Daemon, path: &str) -> Value {
    let answer = without_token(daemon, path).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.json()
}

async fn document(daemon: &Daemon) -> Value {
    told(daemon, "/openapi.json").await
}

/// The document of every path.
async fn whole(daemon: &Daemon) -> Value {
    told(daemon, "/openapi-all.json").await
}

#[tokio::test]
async fn it_is_told_without_a_token_and_says_where_the_listeners_are() {
    let daemon = daemon().await;
    let document = document(&daemon).await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(document["info"]["title"], "offerd");
    assert_eq!(document["servers"], json!([{"url": daemon.api}]));
    let blocking = &document["paths"]["/blocking/leads/rateTables"]["post"];
    assert_eq!(blocking["servers"], json!([{"url": daemon.integrations}]));
}

#[tokio::test]
async fn the_whole_has_every_route_with_what_the_route_asks_for() {
    let document = whole(&daemon().await).await;
    for route in API.iter().chain(INTEGRATIONS) {
        let operation = &document["paths"][route.path][route.method.as_str().to_lowercase()];
        assert_eq!(operation["summary"], route.about, "{} {}", route.method, route.path);
        let wanted = match route.scope {
            Scope::None => json!([]),
            Scope::Publishable | Scope::Confidential | Scope::Partner => json!([{"token": []}]),
            Scope::PublishableOrSecret => json!([{"token": []}, {}]),
            Scope::Signed => json!([{"urlSignature": []}]),
        };
        assert_eq!(operation["security"], wanted, "{} {}", route.method, route.path);
        assert_eq!(operation["responses"].get("401").is_some(), route.scope != Scope::None);
    }
}

/// Generators make a client of all that they are shown: what partners report, what stands in answers as an address, and the
/// documentation are no calls of a client.
#[tokio::test]
async fn what_no_client_calls_is_told_apart() {
    let daemon = daemon().await;
    let (clients, whole) = (document(&daemon).await, whole(&daemon).await);
    let of_clients = clients["paths"].as_object().unwrap();
    let paths = whole["paths"].as_object().unwrap().keys();
    let apart: BTreeSet<&str> =
        paths.filter(|path| !of_clients.contains_key(*path)).map(String::as_str).collect();
    let wanted = [
        "/",
        "/callbacks/{id}",
        "/click/{id}",
        "/demo",
        "/demo/{file}",
        "/docs",
        "/docs/{file}",
        "/handbook/{chapter}",
        "/llms.txt",
        "/offers/{page}",
        "/offers/{page}/embed",
        "/offers/{page}/events",
        "/offers/{page}/{offer}/seen.gif",
        "/openapi-all.json",
        "/openapi.json",
        "/openapi.yaml",
        "/partnerEvents",
        "/samples/{partner}/{name}",
        "/uiEvent/offerDisplays/{leadUuid}/{rateTableUuid}/{offerUuid}/pixel.gif",
    ];
    assert_eq!(apart, BTreeSet::from(wanted));
    let tags = |document: &Value| -> Vec<String> {
        document["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tag| tag["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(tags(&whole).starts_with(&tags(&clients)), "they stand behind");
    let schemes = |document: &Value| document["components"]["securitySchemes"].as_object().unwrap().len();
    assert_eq!((schemes(&clients), schemes(&whole)), (1, 2), "a client has a token, and signs nothing");
}

#[tokio::test]
async fn it_has_every_value_of_the_enumerations() {
    let document = document(&daemon().await).await;
    for (name, values) in [
        ("ProductType", ProductType::WIRE),
        ("LoanPurpose", LoanPurpose::WIRE),
        ("LeadActionType", LeadActionType::WIRE),
        ("EventType", EventType::WIRE),
        ("State", State::WIRE),
        ("TermUnit", TermUnit::WIRE),
    ] {
        assert_eq!(document["components"]["schemas"][name]["enum"], json!(values), "{name}");
    }
}

/// What the specification calls `req` is required, and an output lead lacks what only an input one has.
#[tokio::test]
async fn its_nouns_are_those_of_the_specification() {
    let document = document(&daemon().await).await;
    let noun = |name: &str| document["components"]["schemas"][name].clone();
    let required = |name: &str| -> BTreeSet<String> {
        serde_json::from_value(noun(name)["required"].clone()).unwrap_or_default()
    };
    let set = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let table = [
        "uuid",
        "leadUuid",
        "creditCardOffers",
        "loanOffers",
        "mortgageOffers",
        "savingsOffers",
        "specialOffers",
        "pendingOriginators",
        "pendingResponses",
    ];
    assert_eq!(required("RateTable"), set(&table));
    assert_eq!(required("LeadCreateData"), set(&[]));
    assert_eq!(
        required("SpecialOffer"),
        set(&["uuid", "productSubType", "name", "desc", "url", "partnerName", "partnerImageUrl"])
    );
    assert_eq!(required("OfferDisplayNew"), set(&["leadUuid", "rateTableUuid", "offerUuid"]));
    assert_eq!(required("ApiError"), set(&["message", "type"]));
    assert!(required("LoanOffer").contains("url"));
    for (noun_name, field, has) in [
        ("LeadCreateData", "productTypes", true),
        ("LeadCreateData", "formCompleted", true),
        ("Lead", "productTypes", false),
        ("Lead", "formCompleted", false),
        ("Lead", "mortgageInformation", true),
        ("Lead", "companyUUID", true),
        ("LeadCoApplicantInformation", "zipCode", true),
    ] {
        assert_eq!(noun(noun_name)["properties"].get(field).is_some(), has, "{noun_name}.{field}");
    }
}

/// A field of a lead is of its type or null, so that generators make one plain type of it.
#[tokio::test]
async fn a_field_of_a_lead_is_of_one_type_or_null() {
    let daemon = daemon().await;
    let document = document(&daemon).await;
    let mut lead = json!({"$ref": "#/components/schemas/LeadCreateData"});
    lead["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&lead).unwrap();
    for (amount, fits) in [
        (json!(15_000), true),
        (json!(null), true),
        (json!("lots"), false),
        (json!("15000"), false),
        (json!(true), false),
    ] {
        let body = json!({"loanInformation": {"loanAmount": amount}});
        assert_eq!(validator.is_valid(&body), fits, "{body}");
        let status = daemon.submit(body.to_string()).await.status;
        assert_eq!(status, if fits { 200 } else { 422 }, "{body}");
    }
    // Kinder than it says.
    for blank in ["", " "] {
        assert_eq!(
            daemon.submit(json!({"loanInformation": {"loanAmount": blank}}).to_string()).await.status,
            200
        );
    }
}

/// What a developer or a language model reads first, beside the document.
#[tokio::test]
async fn the_handbook_is_on_the_same_address() {
    let daemon = daemon().await;
    for chapter in ["client", "moving", "errors", "input", "changes"] {
        let page = without_token(&daemon, &format!("/handbook/{chapter}")).await;
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
        let html = String::from_utf8(page.body.to_vec()).unwrap();
        let links = html.split("href=\"").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
        let is_chapter = |link: &&str| !link.is_empty() && !link.contains([':', '{', '.']);
        for link in links.filter(is_chapter) {
            assert_eq!(
                without_token(&daemon, &format!("/handbook/{link}")).await.status,
                200,
                "{chapter}: {link}"
            );
        }
    }
    assert_eq!(without_token(&daemon, "/handbook/nothing").await.status, 404);
    let text =
        async |path: &str| String::from_utf8(without_token(&daemon, path).await.body.to_vec()).unwrap();
    assert!(text("/handbook/errors.md").await.starts_with("# What each error means\n"));
    let list = text("/llms.txt").await;
    let links: Vec<&str> = list.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(links.len() >= 9, "{links:?}");
    for link in links {
        assert_eq!(without_token(&daemon, &format!("/{link}")).await.status, 200, "{link}");
    }
    let yaml = text("/openapi.yaml").await;
    assert!(yaml.contains("\n\"openapi\": \"3.1.0\"\n"), "{yaml:.200}");
    let document = document(&daemon).await;
    let data = &document["components"]["schemas"]["LeadWebhook"]["properties"]["data"];
    assert_eq!(data["$ref"], "#/components/schemas/LeadEvent");
    assert!(document["webhooks"]["leadEvent"]["post"]["requestBody"].is_object());
}

/// The page loads only what the daemon has, and the browser is told to load nothing else.
#[tokio::test]
async fn the_page_needs_nothing_outside() {
    let daemon = daemon().await;
    let page = without_token(&daemon, "/docs").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    let addresses = |rule: &str| rule.split_whitespace().filter(|word| word.contains("://")).count();
    assert_eq!(policy.split(';').map(addresses).sum::<usize>(), 2, "only the listeners: {policy}");

    let page = String::from_utf8(page.body.to_vec()).unwrap();
    assert!(page.contains("<title>offerd</title>"));
    assert!(!page.contains("://"));
    let sources = page.split(['"', '\'']).filter(|text| text.starts_with("docs/") || *text == "openapi.json");
    let sources: Vec<&str> = sources.collect();
    assert_eq!(sources.len(), 5, "{sources:?}");
    for source in sources {
        let answer = without_token(&daemon, &format!("/{source}")).await;
        assert!(answer.status == 200 && !answer.body.is_empty(), "{source}");
    }
    assert_eq!(without_token(&daemon, "/docs/index.html").await.status, 404);
}

/// Generators that name files or fields without regard to case would write one over another.
#[tokio::test]
async fn no_two_keys_of_a_type_differ_by_case_only() {
    let daemon = daemon().await;
    let document = whole(&daemon).await;
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let keys: Vec<String> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, _)| key.to_lowercase())
            .collect();
        assert_eq!(keys.len(), keys.iter().collect::<BTreeSet<_>>().len(), "{name}");
    }
    // The daemon takes both.
    for key in ["zipCode", "zipcode"] {
        let body = json!({"coApplicantInformation": {key: "99203"}}).to_string();
        let url = format!("{}/leads/rateTables", daemon.api);
        let strict = ("prefer", "handling=strict");
        let taken = daemon.request_with(Method::POST, &url, &daemon.confidential, &[strict], body).await;
        assert_eq!(taken.status, 200, "{key}");
    }
}

#[tokio::test]
async fn no_reference_dangles() {
    let document = whole(&daemon().await).await;
    let text = document.to_string();
    let references: BTreeSet<&str> =
        text.split(r##""$ref":"#"##).skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(references.len() > 50, "{}", references.len());
    for reference in references {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
}
