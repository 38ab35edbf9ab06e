//! Requests that no endpoint takes: methods, content types, paths and queries.

use hyper::Method;

use super::{UUID, assert_refused, assert_unharmed, daemon};
use crate::kit::{Answer, Daemon};

/// Every path of the specification and beside it, and the methods that it takes.
const PATHS: [(&str, &[&str]); 17] = [
    ("/leads/rateTables", &["POST"]),
    ("/originator/rateTables/{uuid}", &["GET"]),
    ("/originator/rateTables/{uuid}/events", &["GET"]),
    ("/leads", &["POST"]),
    ("/leads/{uuid}", &["GET", "PATCH"]),
    ("/leads/{leadUuid}/rateTables", &["POST"]),
    ("/click/{id}", &["GET"]),
    ("/leads/universities", &["GET"]),
    ("/uiUtil/featuredFinancialInstitutions", &["GET"]),
    ("/offerPreview/loanOffers", &["GET"]),
    ("/offerPreview/creditCardOffers", &["GET"]),
    ("/offerPreview/savingsOffers", &["GET"]),
    ("/uiEvent/sessionInits", &["POST"]),
    ("/uiEvent/offerDisplays", &["POST"]),
    ("/supplyAnalytics/leadEvents", &["GET"]),
    ("/supplyAnalytics/leadPayouts", &["GET"]),
    ("/supplyAnalytics/leadClientTags", &["GET"]),
];

/// A path with something in its braces.
fn filled(template: &str, value: &str) -> String {
    let (before, rest) = template.split_once('{').unwrap_or((template, "}"));
    let (_, after) = rest.split_once('}').unwrap();
    if before == template { before.to_owned() } else { format!("{before}{value}{after}") }
}

async fn send(daemon: &Daemon, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let url = format!("{}{path}", daemon.api);
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    daemon.request_with(method, &url, &daemon.confidential, headers, body.to_owned()).await
}

#[tokio::test]
async fn a_wrong_method_is_told_the_right_ones() {
    let daemon = daemon().await;
    for (template, taken) in PATHS {
        let path = filled(template, UUID);
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "QUERY", "BREW"] {
            if taken.contains(&method) {
                continue;
            }
            let answer = send(&daemon, method, &path, &[], "{}").await;
            assert_refused(&answer, &path);
            assert_eq!(answer.status, 405, "{method} {path}");
            let mut allowed: Vec<&str> = answer.header("allow").unwrap().split(", ").collect();
            allowed.retain(|method| !["HEAD", "OPTIONS"].contains(method));
            assert_eq!(allowed, taken, "{path}");
        }
    }
    let blocking = format!("{}/blocking/leads/rateTables", daemon.integrations);
    for method in [Method::GET, Method::PUT, Method::PATCH, Method::DELETE] {
        let answer = daemon.request(method, &blocking, &daemon.publishable, "").await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("OPTIONS, POST")));
    }
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn a_body_that_is_not_said_to_be_json_or_is_compressed_is_unsupported() {
    let daemon = daemon().await;
    for (template, taken) in PATHS {
        for method in taken.iter().filter(|method| **method != "GET") {
            let path = filled(template, UUID);
            for (name, value) in [
                ("content-type", "text/plain"),
                ("content-type", "application/x-www-form-urlencoded"),
                ("content-type", "multipart/form-data; boundary=x"),
                ("content-type", "application/xml"),
                ("content-type", "application/jsonl"),
                ("content-type", ""),
                ("content-type", "json"),
                ("content-encoding", "gzip"),
                ("content-encoding", "br"),
                ("content-encoding", "identity, gzip"),
            ] {
                let answer = send(&daemon, method, &path, &[(name, value)], "{}").await;
                assert_refused(&answer, &path);
                assert_eq!(answer.status, 415, "{method} {path} {name}: {value}");
                assert_eq!(answer.json()[0]["type"], "unsupported");
            }
        }
    }
    let taken = [("content-type", "application/json;charset=utf-8"), ("content-encoding", "identity")];
    assert_eq!(send(&daemon, "POST", "/leads/rateTables", &taken, "{}").await.status, 200);
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn every_endpoint_that_takes_a_body_refuses_what_is_no_object() {
    let daemon = daemon().await;
    let table = daemon.submit("{}").await.json();
    let lead = table["leadUuid"].as_str().unwrap();
    for (template, taken) in PATHS {
        for method in taken.iter().filter(|method| **method != "GET") {
            let path = filled(template, lead);
            for body in ["{", "[]", "null", "true", "\"x\"", "17", "{}{}", "{\"a\":}", "\0", "\u{feff}["] {
                let answer = send(&daemon, method, &path, &[], body).await;
                assert_refused(&answer, &path);
                assert_eq!(answer.status, 400, "{method} {path} {body}");
            }
        }
    }
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn a_path_segment_that_is_no_uuid_is_a_bad_request_that_names_it() {
    let daemon = daemon().await;
    let bare = UUID.replace('-', "");
    let braced = format!("%7B{UUID}%7D");
    let urn = format!("urn:uuid:{UUID}");
    let long = "7".repeat(4_000);
    let wrong = [
        "17",
        "null",
        "%00",
        "%20",
        "..",
        "%2e%2e",
        "..%2f..%2fetc",
        "%ff",
        "%zz",
        "%",
        &bare,
        &braced,
        &urn,
        &long,
        "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b7g",
        "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77%20",
        "{uuid}",
        "'--",
        "🙂",
    ];
    for (template, taken) in PATHS.into_iter().filter(|(template, _)| template.contains('{')) {
        let (_, rest) = template.split_once('{').unwrap();
        let (name, _) = rest.split_once('}').unwrap();
        for value in wrong {
            let encoded = value.replace(['{', '}', '🙂'], "%7B");
            for method in taken {
                let path = filled(template, &encoded);
                let answer = send(&daemon, method, &path, &[], "{}").await;
                assert_refused(&answer, &path);
                if name == "id" {
                    // A click is a person's: what leads nowhere is not there.
                    assert_eq!(answer.status, 404, "{path}");
                } else {
                    assert_eq!(
                        (answer.status, answer.attributes()),
                        (400, vec![name.to_owned()]),
                        "{method} {path}"
                    );
                }
            }
        }
    }
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn a_uuid_that_names_nothing_is_not_found() {
    let daemon = daemon().await;
    for (template, taken) in PATHS.into_iter().filter(|(template, _)| template.contains('{')) {
        for method in taken {
            let answer = send(&daemon, method, &filled(template, UUID), &[], "{}").await;
            assert_refused(&answer, template);
            assert_eq!(answer.status, 404, "{method} {template}");
            assert_eq!(answer.json()[0]["type"], "invalidUuidReference", "{method} {template}");
        }
    }
}

#[tokio::test]
async fn other_paths_are_not_found_and_odd_ones_do_no_harm() {
    let daemon = daemon().await;
    for path in [
        "/",
        "//",
        "/leads//",
        "/Leads/rateTables",
        "//leads/rateTables",
        "/leads/rateTables/..",
        "/../leads",
        "/leads%2FrateTables",
        "/offerPreview",
        "/v1/leads/rateTables",
        "/blocking/leads/rateTables",
        "/metrics",
        "/health",
        "/etc/passwd",
        "/leads/rateTables;x=1",
        "/%00",
        "/%2e%2e/x",
    ] {
        let answer = send(&daemon, "POST", path, &[], "{}").await;
        assert_refused(&answer, path);
        assert!([400, 404, 405].contains(&answer.status), "{path}: {}", answer.status);
    }
    for path in
        ["/%ff", "/%zz", "/%", "/nowhere/%e2%82", "/leads/universities?limit=%ff", "/leads/universities?%zz"]
    {
        let answer = send(&daemon, "GET", path, &[], "").await;
        assert_refused(&answer, path);
        assert_eq!(answer.status, 400, "{path}");
    }
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn long_paths_and_queries_do_no_harm() {
    let daemon = daemon().await;
    let long = "x".repeat(6_000);
    let deep = "/x".repeat(3_000);
    let many: String = (0..800).map(|nth| format!("p{nth}=1&")).collect();
    for (path, status) in [
        (format!("/{long}"), 404),
        (deep, 404),
        (format!("/leads/{long}"), 400),
        (format!("/leads/universities?limit=1&name={long}"), 200),
        (format!("/leads/universities?{many}limit=1"), 200),
        (format!("/leads/universities?limit={}", "9".repeat(5_000)), 422),
        (format!("/supplyAnalytics/leadEvents?timestamp={long}"), 422),
        (format!("/offerPreview/creditCardOffers?cardPurposes={}", ",".repeat(4_000)), 422),
    ] {
        let answer = daemon.get(&path).await;
        assert_eq!(answer.status, status, "{path:.60}");
        if status >= 400 {
            assert_refused(&answer, &path);
        }
    }
    assert_unharmed(&daemon).await;
}
