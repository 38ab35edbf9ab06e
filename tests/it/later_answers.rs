//! Partners that take an application and are polled for its offers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use offerd::analytics::Events;
use offerd::model::EventType;
use serde_json::json;
use tokio::sync::Notify;

use crate::kit::far_partners::{explains, offers, slow_lender};
use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{far_lender, partner};
use crate::kit::{Daemon, sample};

#[tokio::test]
async fn one_that_answers_later_is_asked_until_it_has_its_offers() {
    let polls = AtomicUsize::new(0);
    let far = FarSide::start(move |request| match request.head.starts_with("POST") {
        true => Deed::Json(202, json!({"id": "A/7 7", "state": "working"}).to_string()),
        false if polls.fetch_add(1, Ordering::SeqCst) < 2 => {
            Deed::Json(200, json!({"state": "working"}).to_string())
        }
        false => offers(),
    })
    .await;
    let daemon = Daemon::with_partners(vec![slow_lender(&far, "50ms")]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(2), "{table} {}", daemon.log());
    let lines: Vec<String> =
        far.received().iter().map(|request| request.head.lines().next().unwrap().to_owned()).collect();
    let [first, polls @ ..] = &lines[..] else { panic!("{lines:?}") };
    assert!(first.starts_with("POST /applications "), "{first}");
    assert_eq!(polls.len(), 3, "{lines:?}");
    assert!(polls.iter().all(|line| line.starts_with("GET /applications/A%2F7%207 ")), "{lines:?}");
}

#[tokio::test]
async fn one_that_declines_at_its_first_step_is_asked_no_further() {
    let far = FarSide::start(|_| Deed::Json(200, json!({"no": true}).to_string())).await;
    let daemon = Daemon::with_partners(vec![slow_lender(&far, "50ms")]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(far.received().len(), 1);
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    assert!(
        String::from_utf8_lossy(&why.stdout).contains("slow, loan   has nothing for this lead"),
        "{why:?}"
    );
}

#[tokio::test]
async fn an_answer_without_what_a_later_call_needs_is_a_bad_one() {
    let far = FarSide::start(|_| Deed::Json(200, json!({"identifier": "A7"}).to_string())).await;
    let daemon = Daemon::with_partners(vec![slow_lender(&far, "50ms")]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(far.received().len(), 1, "no address is called that lacks the id");
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(why.contains("`steps[0].keep.id` (`response.id`) is not in the answer"), "{why}");
}

#[tokio::test]
async fn one_that_is_still_at_work_at_its_deadline_has_run_out_of_time() {
    let far = FarSide::start(|_| Deed::Json(202, json!({"id": "A7", "state": "working"}).to_string())).await;
    let daemon = Daemon::with_partners(vec![slow_lender(&far, "2s")]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["pendingResponses"], json!([]), "{table}");
    daemon.logged("the partner was still working, and no time is left to ask again").await;
}

#[tokio::test]
async fn one_that_was_asked_for_its_offers_when_the_daemon_was_killed_is_asked_on_and_not_anew() {
    let killed = Arc::new(AtomicBool::new(false));
    let after = Arc::clone(&killed);
    let far = FarSide::start(move |request| match request.head.starts_with("POST") {
        true => Deed::Json(202, json!({"id": "A7", "state": "working"}).to_string()),
        false if after.load(Ordering::SeqCst) => offers(),
        false => Deed::Json(200, json!({"state": "working"}).to_string()),
    })
    .await;
    let lender = slow_lender(&far, "50ms").replaced("\"3s\"", "\"10s\"");
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    far.until(|received| received.iter().any(|request| request.head.starts_with("GET"))).await;
    let stopped = daemon.kill();
    killed.store(true, Ordering::SeqCst);
    let daemon = stopped.start().await;
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(2), "{table} {}", daemon.log());
    let applications = far.received().iter().filter(|request| request.head.starts_with("POST")).count();
    assert_eq!(applications, 1, "what was taken up is not sent again");
}

#[tokio::test]
async fn what_is_wrong_with_steps_is_told_with_its_line() {
    let far = FarSide::start(|_| offers()).await;
    let lender = slow_lender(&far, "1ms").replaced("kept.id|urlencode", "kept.number|urlencode");
    let daemon = Daemon::with_partners(vec![partner("prompt").savings("")]).start().await;
    lender.write(daemon.partners());
    let check = daemon.command(&["check"]);
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert_eq!(check.status.code(), Some(64), "{said}");
    for fault in [
        "steps[1].every` must be at least 50ms, got 1ms",
        "steps[1].url` uses a value that no earlier step keeps; kept: id",
    ] {
        assert!(said.contains(fault), "{said}");
    }
    assert!(said.contains("slow.toml:"), "{said}");
}

#[tokio::test]
async fn what_comes_too_late_is_kept_with_the_lead_and_is_an_event_where_the_file_says_so() {
    let told = Arc::new(Notify::new());
    let tells = Arc::clone(&told);
    let Deed::Json(_, answer) = offers() else { unreachable!("offers are JSON") };
    let far = FarSide::start(move |_| Deed::JsonWhenTold(Arc::clone(&told), answer.clone())).await;
    let lender = |key: &str, more: &str| far_lender(key, &far.url(&format!("/{key}")), more);
    let loud =
        lender("loud", "").replaced("[products.loan.http]\n", "[products.loan.http]\nlate = \"event\"\n");
    let daemon = Daemon::with_partners(vec![loud, lender("quiet", "")]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"], json!([]), "{table}");
    (0..2).for_each(|_| tells.notify_one());
    tells.notify_waiters();
    let uuid = table["uuid"].as_str().unwrap();
    explains(&daemon, &table, "its answer came too late, with 2 offers", 2).await;
    assert_eq!(daemon.rate_table(uuid).await.json(), table, "a late offer never enters");
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    let (_, stopped) = daemon.terminate();
    let events = stopped.feed_in_two_hours::<Events>(lead["companyUUID"].as_str().unwrap()).data;
    let approved = events.iter().filter(|event| event.event_type == EventType::ApiApproved);
    let by: Vec<_> = approved.map(|event| event.financial_institution_name.as_deref()).collect();
    assert_eq!(by, [Some("loud")]);
}
