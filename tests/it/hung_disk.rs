//! A disk that hangs, or a store that failed for good: reported at once, and the process can be stopped.

use std::time::Duration;

use hyper::Method;
use serde_json::Value;

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Answer, Daemon, Plan, signal};
use crate::power::shim::Syncs;

const LEAD: &str = r#"{"productTypes":["savings"]}"#;

const LOAN: &str = r#"{
    "productTypes": ["loan"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

/// Longest wait for a daemon to end by itself; far beyond its bound.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon, and what its disk does.
struct OnBadDisk {
    daemon: Daemon,
    disk: Syncs,
}

impl OnBadDisk {
    /// Nothing where its disk cannot be made a bad one.
    async fn start(plan: Plan) -> Option<Self> {
        let (plan, disk) = Syncs::of(plan)?;
        let plan = plan.setting("store.stall_after", "100ms").setting("shutdown.drain", "2s");
        Some(Self { daemon: plan.start().await, disk })
    }

    async fn ready(&self) -> Answer {
        self.daemon.request(Method::GET, &format!("{}/readyz", self.daemon.admin), "", "").await
    }

    /// Waits until readiness has this status, and gives what it says.
    async fn until_ready_is(&self, status: u16) -> String {
        let waiting = async {
            loop {
                let ready = self.ready().await;
                if ready.status == status {
                    return String::from_utf8(ready.body.to_vec()).unwrap();
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("readiness changes")
    }

    async fn submit_under(&self, key: &str) -> Answer {
        let url = format!("{}/leads/rateTables", self.daemon.api);
        let headers = [("idempotency-key", key)];
        self.daemon.request_with(Method::POST, &url, &self.daemon.publishable, &headers, LEAD).await
    }
}

fn stalls(metrics: &str) -> u64 {
    let count = metrics.lines().find_map(|line| line.strip_prefix("offerd_store_stalls_total "));
    count.expect("it is counted").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_disk_hangs_it_is_not_ready_new_leads_are_refused_and_polls_go_on() {
    let plan = Daemon::with_partners(prompt_partners(1)).setting("matching.deadline", "400ms");
    let plan = plan.setting("matching.second_look_reserve", "100ms");
    let Some(hung) = OnBadDisk::start(plan).await else { return };
    let known = hung.daemon.submit(LEAD).await.json();
    let known = hung.daemon.complete(known["uuid"].as_str().unwrap()).await;
    assert_eq!(hung.ready().await.body, "ready\n");
    // A busy machine may have had one.
    let before = stalls(&hung.daemon.metrics().await);

    hung.disk.hang();
    let first = hung.submit_under("a key").await;
    assert_eq!((first.status, first.header("retry-after")), (503, Some("5")), "its own deadline came");
    let reason = hung.until_ready_is(503).await;
    assert!(reason.contains("the disk has not finished a journal write"), "{reason}");
    let second = hung.submit_under("another").await;
    assert_eq!((second.status, second.header("retry-after")), (503, Some("5")));
    assert_eq!(hung.submit_under("a key").await.status, 503, "not a conflict with the one that waits");
    let table = hung.daemon.rate_table(known["uuid"].as_str().unwrap()).await;
    assert_eq!(table.status, 200, "what is known is shown");
    let offer = known["savingsOffers"][0]["url"].as_str().expect("an offer is opened by its address");
    let opened = async |accept: &str| {
        hung.daemon.request_with(Method::GET, offer, "", &[("accept", accept)], "").await
    };
    let (page, json) = tokio::join!(opened("text/html"), opened("application/json"));
    assert_eq!((page.status, json.status), (503, 503), "a click that cannot be noted is not lost");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "a person reads a page");
    let metrics = hung.daemon.metrics().await;
    assert_eq!(stalls(&metrics), before + 1, "{metrics}");
    assert!(metrics.contains(r#"offerd_submits_refused_total{reason="store_stalled"}"#), "{metrics}");

    hung.disk.go_on();
    hung.until_ready_is(200).await;
    let log = hung.daemon.log();
    assert_eq!(log.matches("the store does not answer").count() as u64, before + 1, "{log}");
    assert_eq!(log.matches("the store answers again").count() as u64, before + 1, "{log}");

    // The first one was given to the disk before that was known to hang: it is found, and made no second time.
    let made = |answer: Answer| answer.json()["uuid"].as_str().map(str::to_owned);
    let found = loop {
        match hung.submit_under("a key").await {
            answer if answer.status == 200 => break made(answer),
            answer => assert_eq!(answer.status, 409, "it is under way"),
        }
    };
    assert_eq!(made(hung.submit_under("a key").await), found);
    assert!(hung.submit_under("another").await.status == 200, "that was not taken in, and is now");
    hung.daemon.complete(&found.unwrap()).await;
    let log = hung.daemon.log();
    assert!(!log.contains("panic"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocking_request_whose_answers_the_disk_does_not_take_is_refused_at_its_deadline() {
    let slow = partner("slow").loan(r#"simulate = { delay = "300ms" }"#);
    let plan = Daemon::with_partners(vec![slow]).setting("matching.deadline", "1500ms");
    let plan = plan.setting("matching.second_look_reserve", "100ms");
    let Some(hung) = OnBadDisk::start(plan).await else { return };
    let submitting = hung.daemon.submit_blocking(LOAN);
    let hanging = async {
        // The lead is on the disk when its partner is asked.
        hung.until_asked().await;
        hung.disk.hang();
    };
    let (answer, ()) = tokio::join!(submitting, hanging);
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
    hung.disk.go_on();
    hung.until_ready_is(200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_whose_disk_hangs_for_ever_ends_when_it_is_told_to() {
    let plan = Daemon::with_partners(prompt_partners(1));
    let Some(mut hung) = OnBadDisk::start(plan).await else { return };
    hung.disk.hang();
    let url = format!("{}/leads/rateTables", hung.daemon.api);
    let waiting = hung.daemon.try_request(Method::POST, &url, &hung.daemon.publishable, &[], LEAD);
    let stopping = async {
        hung.until_ready_is(503).await;
        signal(hung.daemon.pid(), "TERM");
    };
    let (answer, ()) = tokio::join!(waiting, stopping);
    assert!(answer.is_none_or(|answer| answer.status == 503), "nothing is acknowledged");
    let (status, log) = hung.daemon.ended().await;
    assert_eq!(status.code(), Some(1), "{log}");
    let last = log.lines().last().unwrap_or_default();
    assert!(last.contains("did not end in time and exits now"), "{log}");
    assert!(last.contains("the closing of the store"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_has_failed_for_good_ends_the_process_and_the_next_start_goes_on() {
    let plan = Daemon::with_partners(prompt_partners(1));
    let Some(mut lost) = OnBadDisk::start(plan).await else { return };
    let known = lost.daemon.submit(LEAD).await.json();
    lost.disk.fail("/journal/");
    let url = format!("{}/leads/rateTables", lost.daemon.api);
    let answer = lost.daemon.try_request(Method::POST, &url, &lost.daemon.publishable, &[], LEAD).await;
    assert!(answer.is_some_and(|answer| answer.status == 503), "nothing is acknowledged");
    // The journal goes on in another file once the record files are synced, which this disk does not do.
    lost.disk.fail(".records");
    let (status, log) = lost.daemon.ended().await;
    assert_eq!(status.code(), Some(1), "{log}");
    let last = log.lines().last().unwrap_or_default();
    assert!(last.contains("ended because the store failed permanently: record file "), "{log}");
    assert!(last.contains("cannot be synced: Input/output error"), "{log}");

    lost.disk.go_on();
    let daemon = lost.daemon.start_again().await;
    let table: Value = daemon.rate_table(known["uuid"].as_str().unwrap()).await.json();
    assert_eq!(table["uuid"], known["uuid"]);
}

impl OnBadDisk {
    /// Waits until a partner has been asked.
    async fn until_asked(&self) {
        let asked = async {
            while !self.daemon.metrics().await.lines().any(|line| line == "offerd_rate_tables_in_memory 1") {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, asked).await.expect("a partner is asked");
    }
}
