//! Traces, as a collector gets them: one per lead, a span per partner, no personal data.

use std::collections::HashMap;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{far_lender, partner};
use crate::kit::{Daemon, sample};

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const CALLERS_TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLERS_SPAN: &str = "00f067aa0ba902b7";

fn taken() -> Deed {
    Deed::Json(200, "{}".to_owned())
}

/// The spans that a collector has received, once there are so many.
async fn spans(collector: &FarSide, count: usize) -> Vec<Value> {
    let waiting = async {
        loop {
            let requests = collector.received().into_iter().map(|request| {
                assert!(request.head.starts_with("POST /v1/traces HTTP/1.1"), "{}", request.head);
                serde_json::from_str::<Value>(&request.body).unwrap()
            });
            let spans: Vec<Value> = requests.flat_map(|request| spans_of(&request)).collect();
            if spans.len() >= count {
                return spans;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("the spans come")
}

fn spans_of(request: &Value) -> Vec<Value> {
    let of_resource = request["resourceSpans"].as_array().unwrap();
    let scopes = of_resource.iter().flat_map(|resource| resource["scopeSpans"].as_array().unwrap());
    scopes.flat_map(|scope| scope["spans"].as_array().unwrap().clone()).collect()
}

/// The attributes of a span that are texts.
fn texts(span: &Value) -> HashMap<&str, &str> {
    let attributes = span["attributes"].as_array().unwrap().iter();
    attributes.filter_map(|one| Some((one["key"].as_str()?, one["value"]["stringValue"].as_str()?))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lead_is_one_trace_that_goes_on_from_the_client_to_the_partners() {
    let collector = FarSide::start(|_| taken()).await;
    let far = FarSide::start(|_| Deed::Json(200, json!({"no": "low_fico"}).to_string())).await;
    let near = partner("near").loan("");
    let plan = Daemon::with_partners(vec![far_lender("far", &far.url("/"), ""), near])
        .setting("tracing.otlp_endpoint", &collector.url(""));
    let daemon = plan.start().await;

    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    let headers = [("traceparent", CALLER)];
    let lead = sample("personal_loan");
    let answer = daemon.request_with(Method::POST, &url, &daemon.publishable, &headers, lead).await;
    let table = answer.json();

    let spans = spans(&collector, 3).await;
    assert_eq!(spans.len(), 3, "{spans:?}");
    assert!(spans.iter().all(|span| span["traceId"] == CALLERS_TRACE), "{spans:?}");
    let root = spans.iter().find(|span| span["name"] == "rate table").unwrap();
    assert_eq!(root["parentSpanId"], CALLERS_SPAN);
    assert_eq!(texts(root)["offerd.rate_table"], table["uuid"].as_str().unwrap());
    let asks: Vec<&Value> = spans.iter().filter(|span| span["name"] == "ask partner").collect();
    assert!(asks.iter().all(|ask| ask["parentSpanId"] == root["spanId"]), "{spans:?}");
    let mut outcomes: Vec<_> =
        asks.iter().map(|ask| (texts(ask)["offerd.partner"], texts(ask)["offerd.outcome"])).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [("far", "rejected"), ("near", "offers")]);

    let far_ask = asks.iter().find(|ask| texts(ask)["offerd.partner"] == "far").unwrap();
    assert_eq!((texts(far_ask)["url.scheme"], texts(far_ask)["server.address"]), ("http", "127.0.0.1"));
    let numbers: HashMap<&str, &str> = far_ask["attributes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| Some((one["key"].as_str()?, one["value"]["intValue"].as_str()?)))
        .collect();
    assert_eq!(numbers["http.response.status_code"], "200");
    assert_eq!(numbers["server.port"], far.address.port().to_string());
    assert_eq!((numbers["offerd.answers"], numbers["offerd.offers"]), ("1", "0"));
    let phases = ["connect_us", "wait_us", "read_us", "mappings_us", "calls_ms"];
    assert!(phases.iter().all(|phase| numbers.contains_key(&*format!("offerd.{phase}"))), "{numbers:?}");
    assert_ne!(numbers["offerd.connect_us"], "0", "a first call makes its connection");
    let told = format!("traceparent: 00-{CALLERS_TRACE}-{}-01", far_ask["spanId"].as_str().unwrap());
    let request = &far.received()[0];
    assert!(request.head.lines().any(|line| line == told), "{} has no {told}", request.head);

    let bodies: String = collector.received().into_iter().map(|request| request.body).collect();
    let file = daemon.file("spans");
    std::fs::write(&file, bodies).unwrap();
    daemon.canaries().assert_in_none_of(&[file]);
    assert!(daemon.metrics().await.contains("offerd_trace_spans_total 3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_collector_slows_no_lead_and_its_spans_are_counted() {
    let collector = FarSide::start(|_| Deed::Reset).await;
    let plan = Daemon::with_partners(vec![partner("near").loan("")])
        .setting("tracing.otlp_endpoint", &collector.url(""));
    let daemon = plan.start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 1, "{table}");
    daemon.logged("dropping traces that cannot be delivered").await;
    let metrics = daemon.metrics().await;
    assert!(metrics.contains(r#"offerd_trace_spans_dropped_total{reason="not_delivered"}"#), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_queued_is_sent_before_the_daemon_ends() {
    let collector = FarSide::start(|_| taken()).await;
    let plan = Daemon::with_partners(vec![partner("near").loan("")])
        .setting("tracing.otlp_endpoint", &collector.url(""));
    let daemon = plan.start().await;
    daemon.submit_blocking(sample("personal_loan")).await;
    let (status, _) = tokio::task::spawn_blocking(|| daemon.terminate()).await.unwrap();
    assert!(status.success());
    let sent: Vec<Value> = collector
        .received()
        .iter()
        .flat_map(|request| spans_of(&serde_json::from_str(&request.body).unwrap()))
        .collect();
    assert_eq!(sent.len(), 2, "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_not_traced_has_no_spans_and_neither_has_one_that_is_not_sampled() {
    let collector = FarSide::start(|_| taken()).await;
    let far = FarSide::start(|_| Deed::Json(200, json!({"no": "low_fico"}).to_string())).await;
    let plan = Daemon::with_partners(vec![far_lender("far", &far.url("/"), "")])
        .setting("tracing.otlp_endpoint", &collector.url(""))
        .setting("tracing.sampled_percent", "0");
    let daemon = plan.start().await;
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    let unsampled = CALLER.replace("-01", "-00");
    let headers = [("traceparent", unsampled.as_str())];
    daemon.request_with(Method::POST, &url, &daemon.publishable, &headers, sample("personal_loan")).await;
    let head = far.received()[0].head.clone();
    let told = head.lines().find_map(|line| line.strip_prefix("traceparent: ")).expect("a traceparent");
    assert!(told.starts_with(&format!("00-{CALLERS_TRACE}-")) && told.ends_with("-00"), "{told}");
    let (status, _) = tokio::task::spawn_blocking(|| daemon.terminate()).await.unwrap();
    assert!(status.success());
    assert_eq!(collector.received().len(), 0);
}
