//! Error hints: the listener that has a path, the key that was misspelt, the cause of a refusal.

use hyper::Method;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon};

async fn daemon() -> Daemon {
    Daemon::with_partners(vec![partner("bank").savings("")]).start().await
}

/// Posts a lead that may have been mistyped.
async fn submit(daemon: &Daemon, headers: &[(&str, &str)], lead: &Value) -> Answer {
    let url = format!("{}/leads/rateTables", daemon.api);
    daemon.request_with(Method::POST, &url, &daemon.publishable, headers, lead.to_string()).await
}

fn message(answer: &Answer) -> String {
    answer.json()[0]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_path_of_another_listener_is_told_with_that_listener() {
    let daemon = daemon().await;
    for (url, listener, path) in [
        (format!("{}/blocking/leads/rateTables", daemon.api), "integrations", "/blocking/leads/rateTables"),
        (format!("{}/partnerEvents/", daemon.api), "integrations", "/partnerEvents"),
        (format!("{}/metrics", daemon.api), "admin", "/metrics"),
        (format!("{}/leads/rateTables", daemon.integrations), "api", "/leads/{uuid}"),
        (format!("{}/", daemon.integrations), "api", "/"),
        (format!("{}/offerPreview/loanOffers", daemon.admin), "api", "/offerPreview/loanOffers"),
    ] {
        let answer = daemon.request(Method::POST, &url, &daemon.confidential, "{}").await;
        let error = &answer.json()[0];
        assert_eq!((answer.status, &error["details"]["listener"]), (404, &json!(listener)), "{url}: {error}");
        let path = error["details"]["path"].as_str().is_some_and(|told| told == path || url.ends_with(told));
        assert!(path && message(&answer).contains(&format!("{listener}.listen")), "{url}: {error}");
    }
    let nowhere = daemon.get("/nowhere").await;
    assert_eq!(nowhere.json(), json!([{"message": "Path does not exist", "type": "unsupported"}]));
}

#[tokio::test]
async fn a_slash_at_the_end_is_no_other_resource() {
    let daemon = daemon().await;
    let lead = r#"{"productTypes": ["savings"]}"#;
    let submitted = daemon.post("/leads/rateTables/", lead).await;
    assert_eq!(submitted.status, 200);
    let table = daemon.rate_table(&format!("{}/", submitted.json()["uuid"].as_str().unwrap())).await;
    assert_eq!((table.status, &table.json()["uuid"]), (200, &submitted.json()["uuid"]));
    let url = format!("{}/blocking/leads/rateTables/", daemon.integrations);
    assert_eq!(daemon.request(Method::POST, &url, &daemon.publishable, lead).await.status, 200);
    // A page has relative links, so a browser is led to its own address.
    for (path, page) in
        [("/docs/", "../docs"), ("/demo/?a=%20", "../demo?a=%20"), ("/openapi.json/", "../openapi.json")]
    {
        let answer = daemon.get(path).await;
        assert_eq!((answer.status, answer.header("location")), (308, Some(page)), "{path}");
    }
}

#[tokio::test]
async fn where_a_rate_table_is_sought_at_the_path_of_submits_its_own_is_told() {
    let daemon = daemon().await;
    let table = daemon.submit(r#"{"productTypes": ["savings"]}"#).await.json();
    let answer = daemon.get(&format!("/leads/rateTables/{}", table["uuid"].as_str().unwrap())).await;
    assert_eq!((answer.status, &answer.json()[0]["type"]), (404, &json!("unsupported")));
    assert_eq!(message(&answer), "Path does not exist; /originator/rateTables/{uuid} is meant");
    assert_eq!(answer.json()[0]["details"]["path"], "/originator/rateTables/{uuid}");
}

#[tokio::test]
async fn a_token_without_the_word_before_it_is_told_the_word() {
    let daemon = daemon().await;
    let url = format!("{}/leads/universities?limit=1", daemon.api);
    for authorization in [daemon.publishable.clone(), format!("Basic {}", daemon.publishable)] {
        let headers = [("authorization", authorization.as_str())];
        let answer = daemon.request_with(Method::GET, &url, "", &headers, "").await;
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
        assert!(message(&answer).contains("`Authorization: Bearer TOKEN`"), "{}", message(&answer));
    }
}

#[tokio::test]
async fn the_address_alone_leads_to_what_there_is_to_read_and_try() {
    let sandbox = daemon().await;
    let page = async |daemon: &Daemon| {
        let page = daemon.request(Method::GET, &format!("{}/", daemon.api), "", "").await;
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
        String::from_utf8(page.body.to_vec()).unwrap()
    };
    let html = page(&sandbox).await;
    let links: Vec<&str> = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let wanted = ["handbook/client", "docs", "openapi.json", "openapi.yaml", "openapi-all.json", "demo"];
    assert_eq!(links, wanted);
    for link in links {
        let url = format!("{}/{link}", sandbox.api);
        assert_eq!(sandbox.request(Method::GET, &url, "", "").await.status, 200, "{link}");
    }
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let without_demo = plan.setting("api.demo", "false").start().await;
    assert!(!page(&without_demo).await.contains("demo"));
}

#[tokio::test]
async fn the_two_causes_of_415_are_told_apart() {
    let daemon = daemon().await;
    let url = format!("{}/leads/rateTables", daemon.api);
    for (headers, cause, accepted) in [
        ([("content-type", "text/plain"), ("x-more", "")], "Content-Type", None),
        (
            [("content-type", "application/json"), ("content-encoding", "gzip")],
            "Content-Encoding",
            Some("identity"),
        ),
        ([("content-type", "text/plain"), ("content-encoding", "gzip")], "Content-Type", None),
    ] {
        let answer = daemon.request_with(Method::POST, &url, &daemon.publishable, &headers, "{}").await;
        assert_eq!((answer.status, answer.header("accept-encoding")), (415, accepted), "{headers:?}");
        assert!(message(&answer).starts_with(cause), "{headers:?}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_answered_with_the_limit() {
    let daemon = daemon().await;
    let cookie = "x".repeat(20_000);
    let url = format!("{}/leads/universities?limit=1", daemon.api);
    let headers = [("cookie", cookie.as_str())];
    let answer = daemon.request_with(Method::GET, &url, &daemon.publishable, &headers, "").await;
    let error = &answer.json()[0];
    assert_eq!(
        (answer.status, &error["type"], &error["details"]["limit"]),
        (431, &json!("tooLarge"), &json!("16384"))
    );
}

#[tokio::test]
async fn unknown_keys_are_counted_and_for_who_is_strict_faults_that_name_the_likely_ones() {
    let daemon = daemon().await;
    let right = json!({"productTypes": ["savings"], "clientTags": {"any": ["tag"]}});
    let wrong = json!({
        "productTypes": ["savings"],
        "personalInformation": {"frstName": "A", "lastName": "B"},
        "xyzzy": {"loanAmount": 1},
    });
    let strict = ("prefer", "respond-async, handling=strict");
    let origin = ("origin", "https://shop.example");

    assert_eq!(submit(&daemon, &[], &right).await.header("unknown-keys"), None);
    assert_eq!(submit(&daemon, &[strict], &right).await.status, 200);
    let counted = submit(&daemon, &[origin], &wrong).await;
    assert_eq!((counted.status, counted.header("unknown-keys")), (200, Some("2")));
    assert!(counted.header("access-control-expose-headers").unwrap().contains("Unknown-Keys"));

    let refused = submit(&daemon, &[strict], &wrong).await;
    assert_eq!(refused.status, 422);
    let mut attributes = refused.attributes();
    attributes.sort();
    assert_eq!(attributes, ["personalInformation.frstName", "xyzzy"]);
    let likely = refused.json();
    let likely = likely.as_array().unwrap().iter().find(|error| error["attribute"] != "xyzzy").unwrap();
    assert_eq!(likely["message"], "is not a known key; did you mean `firstName`?");
    assert_eq!(likely["details"]["likely"], "firstName");

    // Other faults stand beside them.
    let both = json!({"loanInformation": {"loanAmount": "lots", "purpse": "boat"}});
    let refused = submit(&daemon, &[strict], &both).await;
    assert_eq!(refused.attributes(), ["loanInformation.loanAmount", "loanInformation.purpse"]);
    let lenient = ("prefer", "handling=lenient");
    let refused = submit(&daemon, &[lenient], &both).await;
    assert_eq!((refused.attributes().len(), refused.header("unknown-keys")), (1, Some("1")));
}

#[tokio::test]
async fn who_is_strict_is_told_of_a_sandbox_value_that_brings_nothing_about() {
    let daemon = daemon().await;
    let lead = json!({"productTypes": ["savings"], "clientTags": {"sandbox": ["slow", "sloww", "bank=sloww", "nobody=slow"]}});
    let right =
        json!({"productTypes": ["savings"], "clientTags": {"sandbox": ["approved", "bank=declined"]}});
    let strict = ("prefer", "handling=strict");
    let counted = submit(&daemon, &[], &lead).await;
    assert_eq!((counted.status, counted.header("unknown-keys")), (200, Some("3")));
    let right = submit(&daemon, &[strict], &right).await;
    assert_eq!((right.status, right.header("unknown-keys")), (200, None));
    let refused = submit(&daemon, &[strict], &lead).await;
    assert_eq!(refused.status, 422);
    let wrong = [1, 2, 3].map(|nth| format!("clientTags.sandbox[{nth}]"));
    assert_eq!(refused.attributes(), wrong);
    let message = refused.json()[2]["message"].clone();
    assert_eq!(message, "names an unknown partner: the part before the = must be a partner's key");
    for value in ["slow", "timed_out", "declined:low_fico"] {
        assert!(refused.json()[0]["message"].as_str().unwrap().contains(value), "{refused:?}");
    }
    // To a live lead it is a tag like any other.
    let live = daemon.with_live_company();
    let taken = submit(&live, &[strict], &lead).await;
    assert_eq!((taken.status, taken.header("unknown-keys")), (200, None));
}

/// In v1 by v1's names; where a schema fault is 400, so is this.
#[tokio::test]
async fn keys_are_known_by_edition_and_noun() {
    let daemon = daemon().await;
    let v1 = ("accept", "application/vnd.offerd.v1+json");
    let lead =
        json!({"creditCardInformation": {"cardBenefits": ["improve_credit"]}, "productTypes": ["savings"]});
    let taken = submit(&daemon, &[v1, ("prefer", "handling=strict")], &lead).await;
    assert_eq!((taken.status, taken.header("unknown-keys")), (201, None));
    assert_eq!(submit(&daemon, &[], &lead).await.header("unknown-keys"), Some("1"));

    let url = format!("{}/uiEvent/sessionInits", daemon.api);
    let body = r#"{"sessionUuids":"x"}"#;
    let counted = daemon.request(Method::POST, &url, &daemon.publishable, body).await;
    assert_eq!((counted.status, counted.header("unknown-keys")), (201, Some("1")));
    let strict = [("prefer", "handling=strict")];
    let refused = daemon.request_with(Method::POST, &url, &daemon.publishable, &strict, body).await;
    assert_eq!((refused.status, refused.attributes()), (400, vec!["sessionUuids".to_owned()]));
}

#[tokio::test]
async fn http_2_is_spoken_in_the_clear_with_who_knows_beforehand() {
    let daemon = daemon().await;
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    let request = hyper::Request::post(format!("{}/leads/rateTables", daemon.api))
        .header("authorization", format!("Bearer {}", daemon.publishable))
        .body(http_body_util::Full::new(bytes::Bytes::from_static(b"{}")));
    let answer = client.request(request.unwrap()).await.unwrap();
    assert_eq!((answer.status(), answer.version()), (hyper::StatusCode::OK, hyper::Version::HTTP_2));
}
