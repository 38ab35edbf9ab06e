//! Partners that answer an ask by calling us.

use std::io::Write;
use std::time::Instant;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::far_partners::{caller, offers, reply_to, secret_file};
use crate::kit::far_side::{Deed, FarSide};
use crate::kit::{Answer, Daemon, sample};

#[tokio::test]
async fn one_that_only_calls_without_its_signature_has_not_answered_and_is_told_so() {
    let far = FarSide::start(|_| Deed::Json(202, json!({"taken": true}).to_string())).await;
    let daemon =
        Daemon::with_partners(vec![caller(&far, "verify = \"header['x-key'] == 'k3y'\"")]).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    let url = reply_to(&far).await;
    let Deed::Json(_, answer) = offers() else { unreachable!("offers are JSON") };
    assert_eq!(daemon.request(Method::POST, &url, "", &answer).await.status, 403);
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert!(
        table.get("loanOffers").and_then(|offers| offers.as_array()).is_none_or(Vec::is_empty),
        "{table}"
    );
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(why.contains("the partner called back without the signature that `verify` requires"), "{why}");
}

#[tokio::test]
async fn one_that_calls_back_is_heard_once_if_it_signs_and_until_its_ask_has_ended() {
    let far = FarSide::start(|_| Deed::Json(202, json!({"taken": true}).to_string())).await;
    let verify = format!(
        "verify = \"header['x-signature'] == body|hmac('sha256', secret.key)|hex\"\n\n[products.loan.http.secrets]\nkey = {{ file = \"{}\" }}",
        secret_file("k3y")
    );
    let daemon = Daemon::with_partners(vec![caller(&far, &verify)]).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    let url = reply_to(&far).await;
    assert!(url.starts_with(&format!("{}/callbacks/", daemon.integrations)), "{url}");
    let Deed::Json(_, answer) = offers() else { unreachable!("offers are JSON") };
    let signature =
        ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"k3y"), answer.as_bytes());
    let signature: String = signature.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let call = async |url: &str, signature: &str| {
        let headers = [("x-signature", signature), ("content-type", "application/json")];
        daemon.request_with(Method::POST, url, "", &headers, answer.clone()).await.status
    };
    assert_eq!(call(&url, "0000").await, 403, "a stranger's call is no answer");
    let long = daemon.request(Method::POST, &url, "", &" ".repeat(65_537)).await;
    assert_eq!(long.status, 413);
    assert!(daemon.metrics().await.contains("offerd_callbacks_total{result=\"too_large\"} 1"));
    assert_eq!(call(&url, &signature).await, 204);
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(2), "{table} {}", daemon.log());
    assert_eq!(call(&url, &signature).await, 410, "a replayed call is too late");
    let other = format!("{}/callbacks/{}", daemon.integrations, uuid::Uuid::new_v4());
    assert_eq!(call(&other, &signature).await, 404);
}

#[tokio::test]
async fn one_that_calls_back_about_a_lead_that_was_erased_is_too_late() {
    let far = FarSide::start(|_| Deed::Json(202, json!({"taken": true}).to_string())).await;
    let daemon = Daemon::with_partners(vec![caller(&far, "")]).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    let url = reply_to(&far).await;
    let erased = daemon.command(&["lead", "erase", table["leadUuid"].as_str().unwrap()]);
    assert_eq!(erased.status.code(), Some(0), "{erased:?}");
    let Deed::Json(_, answer) = offers() else { unreachable!("offers are JSON") };
    assert_eq!(daemon.request(Method::POST, &url, "", &answer).await.status, 410);
}

#[tokio::test]
async fn one_that_calls_back_after_a_kill_is_heard_and_not_asked_again() {
    let far = FarSide::start(|_| Deed::Json(202, json!({"taken": true}).to_string())).await;
    let ports = Daemon::with_partners(vec![caller(&far, "")])
        .setting("integrations.base_url", "https://offers.example");
    let daemon = ports.start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    let url = reply_to(&far).await;
    let asked = Instant::now();
    let path = url.strip_prefix("https://offers.example").unwrap().to_owned();
    let daemon = daemon.kill().start().await;
    let Deed::Json(_, answer) = offers() else { unreachable!("offers are JSON") };
    let url = format!("{}{path}", daemon.integrations);
    let waited = asked.elapsed();
    let called =
        daemon.request_with(Method::POST, &url, "", &[("content-type", "application/json")], answer).await;
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    // Its first answer may not have been on the disk when the daemon was killed: then nobody knows, and nobody asks again.
    let unsure = String::from_utf8_lossy(&why.stdout).contains("was sent the lead before a restart");
    let heard = table["loanOffers"].as_array().map(Vec::len) == Some(2) && called.status == 204;
    assert!(heard || unsure, "{table} {}", called.status);
    assert_eq!(far.received().len(), 1);
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap(), "--json"]);
    let why: Value = serde_json::from_slice(&why.stdout).unwrap();
    let took = why["rateTables"][0]["seats"][0]["endedAfterMs"].as_u64().unwrap();
    assert!(unsure || u128::from(took) >= waited.as_millis(), "{took} ms are counted from the restart");
}

/// Calls with an answer.
async fn call(daemon: &Daemon, url: &str, answer: &str) -> Answer {
    let headers = [("content-type", "application/json")];
    daemon.request_with(Method::POST, url, "", &headers, answer.to_owned()).await
}

#[tokio::test]
async fn a_call_that_cannot_be_read_is_told_what_is_missing_and_one_that_can_is_still_taken() {
    let far = FarSide::start(|_| Deed::Json(202, json!({"taken": true}).to_string())).await;
    let daemon = Daemon::with_partners(vec![caller(&far, "")]).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    let url = reply_to(&far).await;
    for (wrong, missing) in [
        (r#"{"quotes": [], "for": "Jane"}"#, "`response.offers`"),
        (r#"{"offers": [{"term": 36, "for": "Jane"}]}"#, "it has no APR"),
        ("Jane", "JSON"),
    ] {
        let told = call(&daemon, &url, wrong).await;
        let message = String::from_utf8_lossy(&told.body).into_owned();
        assert_eq!(told.status, 422, "{message}");
        assert!(message.contains(missing) && !message.contains("Jane"), "{message}");
    }
    let Deed::Json(_, answer) = offers() else { unreachable!("offers are JSON") };
    assert_eq!(call(&daemon, &url, &answer).await.status, 204);
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(2), "{table} {}", daemon.log());
    let metrics = daemon.metrics().await;
    assert!(metrics.contains(r#"offerd_callbacks_total{result="unreadable"} 3"#), "{metrics}");
    let log = daemon.log();
    assert!(log.contains("unreadable_callback=1") && !log.contains("Jane"), "{log}");
}

/// As answers are: whatever compresses them, and in any encoding.
#[tokio::test]
async fn a_call_is_read_compressed_and_in_utf_16() {
    let Deed::Json(_, answer) = offers() else { unreachable!("offers are JSON") };
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(answer.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let cut = gzip[..gzip.len() / 2].to_vec();
    let wide: Vec<u8> = answer.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (coding, body, refused) in [
        ("gzip", gzip, None),
        ("identity", wide, None),
        ("gzip", cut, Some("is cut off: it ends before its `Content-Encoding` does")),
        ("zstd", answer.into_bytes(), Some("`Content-Encoding` must be gzip, deflate, br or identity")),
    ] {
        let far = FarSide::start(|_| Deed::Json(202, json!({"taken": true}).to_string())).await;
        let lender = caller(&far, "").replaced("\"8s\"", "\"4s\"");
        let daemon = Daemon::with_partners(vec![lender]).start().await;
        let table = daemon.submit(sample("personal_loan")).await.json();
        let url = reply_to(&far).await;
        let headers = [("content-type", "application/json"), ("content-encoding", coding)];
        let called = daemon.request_with(Method::POST, &url, "", &headers, body).await;
        let message = String::from_utf8_lossy(&called.body).into_owned();
        assert_eq!(called.status, if refused.is_none() { 204 } else { 422 }, "{coding}: {message}");
        let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
        let offers = table["loanOffers"].as_array().map_or(0, Vec::len);
        assert_eq!(offers, if refused.is_none() { 2 } else { 0 }, "{coding}: {table} {}", daemon.log());
        if let Some(refused) = refused {
            let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
            let why = String::from_utf8_lossy(&why.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(message.contains(refused) && why.contains(refused), "{message} {why}");
        }
    }
}

#[tokio::test]
async fn one_whose_calls_could_not_be_read_has_a_bad_answer_and_no_timeout() {
    let far = FarSide::start(|_| Deed::Json(202, json!({"taken": true}).to_string())).await;
    let lender = caller(&far, "").replaced("\"8s\"", "\"6s\"");
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    let url = reply_to(&far).await;
    assert_eq!(call(&daemon, &url, r#"{"quotes": []}"#).await.status, 422);
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(
        why.contains("its answer could not be read, or was an error") && why.contains("response.offers"),
        "{why}"
    );
}

#[tokio::test]
async fn a_call_that_comes_too_late_is_refused_and_kept_with_the_lead() {
    let far = FarSide::start(|_| Deed::Json(202, json!({"taken": true}).to_string())).await;
    let lender = caller(&far, "").replaced("\"8s\"", "\"1s\"");
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let url = reply_to(&far).await;
    let Deed::Json(_, answer) = offers() else { unreachable!("offers are JSON") };
    for _ in 0..2 {
        assert_eq!(call(&daemon, &url, &answer).await.status, 410);
    }
    let uuid = table["uuid"].as_str().unwrap();
    assert_eq!(daemon.rate_table(uuid).await.json(), table, "a late offer never enters");
    let why = daemon.command(&["explain", uuid]);
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(why.contains("its answer came too late, with 2 offers"), "{why}");
}
