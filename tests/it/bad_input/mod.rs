//! Bad input of every kind: refused in the words of the interface, at once, without an echo and without harm.
//!
//! What is no HTTP, or has a head that is too long, hyper refuses by 400 or 431; the body of that answer is ours.

mod bodies;
mod canaries;
mod requests;
mod too_large;
mod wire;

use hyper::Method;

use crate::conformance::schema::{Edition, assert_conforms};
use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon, Plan};

/// The longest body that the daemon of these tests takes.
const BODY_MAX: usize = 300_000;

const UUID: &str = "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77";

async fn daemon() -> Daemon {
    plan().start().await
}

fn plan() -> Plan {
    Daemon::with_partners(prompt_partners(1))
        .setting("api.max_body_bytes", &BODY_MAX.to_string())
        .setting("log.filter", "trace")
}

/// Holds a refusal against the interface: the client's fault, an array of errors, and an id to ask about.
#[track_caller]
fn assert_refused(answer: &Answer, why: &str) {
    assert!((400..500).contains(&answer.status), "{why}: {answer:?}");
    assert_conforms(Edition::Current, "ApiErrors", &answer.json());
    assert!(answer.header("request-id").is_some(), "{why}");
}

/// Holds the daemon against what it has been through: it works on, and nothing went wrong within.
async fn assert_unharmed(daemon: &Daemon) {
    assert_eq!(daemon.submit("{}").await.status, 200);
    let log = daemon.log();
    let bad = ["panicked", " ERROR "].map(|word| log.lines().find(|line| line.contains(word)));
    assert_eq!(bad, [None, None]);
}

/// Submits bytes, as they are.
async fn submit(daemon: &Daemon, body: impl Into<bytes::Bytes>) -> Answer {
    let url = format!("{}/leads/rateTables", daemon.api);
    daemon.request_with(Method::POST, &url, &daemon.publishable, &[], body).await
}
