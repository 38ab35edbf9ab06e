//! Postbacks: each event reaches its receiver, in the order of its lead, whatever fails meanwhile; no lead hears of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::far_side::{Deed, FarSide, Received};
use crate::kit::partners::partner;
use crate::kit::{Daemon, PATIENCE, Plan};

/// What a test's webhooks are signed with.
const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

/// A daemon whose failures are tried again at once, with these subscriptions.
fn plan(files: &[(&str, String)]) -> Plan {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let plan = plan.setting("postbacks.first_backoff", "20ms").setting("postbacks.longest_backoff", "60ms");
    for (name, text) in files {
        subscribe(plan.directory(), name, text);
    }
    plan
}

fn subscribe(directory: &Path, name: &str, text: &str) {
    let postbacks = directory.join("config/postbacks");
    std::fs::create_dir_all(&postbacks).unwrap();
    std::fs::write(directory.join("secret"), SECRET).unwrap();
    std::fs::write(postbacks.join(format!("{name}.toml")), text).unwrap();
}

/// A webhook of the live company.
fn webhook(far: &FarSide, more: &str) -> String {
    format!(
        "company = 'Live'\nkind = 'webhook'\nurl = '{}'\nsecrets = [{{ file = 'secret' }}]\nallow_addresses = ['127.0.0.1']\n{more}\n",
        far.url("/hook")
    )
}

fn url(far: &FarSide, query: &str, more: &str) -> String {
    let url = far.url(&format!("/pb?{query}"));
    format!("company = 'Live'\nkind = 'url'\nurl = '{url}'\nallow_addresses = ['127.0.0.1']\n{more}\n")
}

async fn taker() -> FarSide {
    FarSide::start(|_| Deed::Json(200, "{}".to_owned())).await
}

/// Submits a lead, which is created and sent off.
async fn lead(daemon: &Daemon, tags: Value) -> String {
    let lead = json!({ "productTypes": ["savings"], "clientTags": tags }).to_string();
    let table = daemon.submit_blocking(lead).await;
    assert_eq!(table.status, 200, "{}", String::from_utf8_lossy(&table.body));
    table.json()["leadUuid"].as_str().unwrap().to_owned()
}

fn event(received: &Received) -> Value {
    serde_json::from_str(&received.body).expect("a webhook is JSON")
}

/// What a receiver was told of a lead: the ids of messages, with the types.
fn told(received: &[Received], lead: &str) -> Vec<(String, String)> {
    let of_lead = received.iter().filter(|one| event(one)["data"]["leadUuid"] == lead);
    of_lead.map(|one| (one.header("webhook-id"), event(one)["type"].as_str().unwrap().to_owned())).collect()
}

fn types(told: &[(String, String)]) -> Vec<&str> {
    told.iter().map(|(_, event_type)| event_type.as_str()).collect()
}

/// What happens to a lead of these tests, in order.
const EVENTS: [&str; 2] = ["leadCreated", "appSubmitted"];

fn command(daemon: &Daemon, arguments: &[&str]) -> (bool, String) {
    let output = daemon.command(&[&["postbacks"], arguments].concat());
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output.status.success(), text.concat())
}

fn standing(daemon: &Daemon, name: &str) -> Value {
    let (good, text) = command(daemon, &["list", "--json"]);
    assert!(good, "{text}");
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    all.into_iter().find(|one| one["name"] == name).expect("it is listed")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_told_in_order_as_the_feed_has_them_and_signed() {
    let far = taker().await;
    let daemon = plan(&[("acme", webhook(&far, ""))]).start().await.with_live_company();
    let lead = lead(&daemon, json!({})).await;
    far.until(|received| received.len() == 2).await;
    assert_eq!(types(&told(&far.received(), &lead)), EVENTS);

    let headers = [("api-version", "2025-04-01")];
    let path = format!("{}/supplyAnalytics/leadsInfo/{lead}", daemon.api);
    let info = daemon.request_with(Method::GET, &path, &daemon.confidential, &headers, "").await.json();
    for (received, known) in far.received().iter().zip(info["data"]["events"].as_array().unwrap()) {
        assert_eq!(&event(received)["data"], known, "as the feed tells it");
        received.assert_signed(SECRET);
    }
}

#[tokio::test]
async fn a_first_start_misses_no_token_of_the_company_that_it_creates() {
    let far = taker().await;
    let of = |company: &str| webhook(&far, "").replace("Live", company);
    let plan = plan(&[("own", of("Sandbox")), ("strange", of("Nobody"))]);
    let experiments = plan.directory().join("config/experiments");
    std::fs::create_dir_all(&experiments).unwrap();
    let rule = "companies = ['Sandbox', 'Nobody']\n\
                [[variants]]\nname = 'alone'\npercent = 50\nwithout_partners = ['bank']\n";
    std::fs::write(experiments.join("share.toml"), rule).unwrap();
    let daemon = plan.start().await;
    let log = daemon.log();
    let missed = |company: &str| log.matches(&format!("names `{company}`, which has no token")).count();
    assert_eq!((missed("Sandbox"), missed("Nobody")), (0, 2), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_is_sent_again_under_its_id_and_holds_back_its_own_lead_only() {
    let failures = Arc::new(Mutex::new(BTreeMap::<String, usize>::new()));
    let counted = Arc::clone(&failures);
    let far = FarSide::start(move |request| {
        let mut failures = counted.lock().unwrap();
        let count = failures.entry(request.header("webhook-id")).or_default();
        *count += 1;
        let is_bad = event(request)["type"] == "leadCreated" && *count <= 3;
        if is_bad { Deed::Json(500, String::new()) } else { Deed::Json(200, String::new()) }
    })
    .await;
    let daemon = plan(&[("acme", webhook(&far, ""))]).start().await.with_live_company();
    let leads = [lead(&daemon, json!({})).await, lead(&daemon, json!({})).await];
    far.until(|received| leads.iter().all(|lead| types(&told(received, lead)).contains(&EVENTS[1]))).await;
    for lead in &leads {
        let told = told(&far.received(), lead);
        assert_eq!(
            types(&told),
            ["leadCreated", "leadCreated", "leadCreated", "leadCreated", "appSubmitted"]
        );
        assert!(told[..4].iter().all(|(id, _)| *id == told[0].0), "an event keeps its id");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_given_up_lets_the_next_pass_and_can_be_sent_again() {
    let well = Arc::new(Mutex::new(false));
    let is_well = Arc::clone(&well);
    let far = FarSide::start(move |request| {
        match *is_well.lock().unwrap() || event(request)["type"] != "leadCreated" {
            true => Deed::Json(204, String::new()),
            false => Deed::Json(410, String::new()),
        }
    })
    .await;
    let file = webhook(&far, "give_up_after = '100ms'");
    let daemon = plan(&[("acme", file)]).start().await.with_live_company();
    let lead = lead(&daemon, json!({})).await;
    far.until(|received| types(&told(received, &lead)).contains(&"appSubmitted")).await;
    let (good, dead) = command(&daemon, &["dead", "acme"]);
    assert!(good && dead.contains(&lead) && dead.contains("leadCreated") && dead.contains("410"), "{dead}");
    let acme = standing(&daemon, "acme");
    assert_eq!((&acme["dead"], &acme["company"]), (&json!(1), &json!("Live")));

    *well.lock().unwrap() = true;
    far.forget();
    let (good, text) = command(&daemon, &["retry", "acme", "--lead", &lead]);
    assert!(good && text.contains("1 event of acme will be sent again"), "{text}");
    far.until(|received| types(&told(received, &lead)) == ["leadCreated"]).await;
    assert_eq!(standing(&daemon, "acme")["dead"], 0);
    let (good, text) = command(&daemon, &["retry", "acme", "--all"]);
    assert!(good && text.contains("0 events"), "{text}");
    let (good, text) = command(&daemon, &["retry", "nobody", "--all"]);
    assert!(!good && text.contains("there is no subscription `nobody`"), "{text}");
}

/// Waits until so many events of acme are dead, or outstanding.
async fn until_standing(daemon: &Daemon, how: &str, count: usize) {
    let waiting = async {
        while standing(daemon, "acme")[how] != count {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "{}", standing(daemon, "acme"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_given_up_survives_a_kill_and_is_sent_again_by_the_next_daemon() {
    let well = Arc::new(Mutex::new(false));
    let is_well = Arc::clone(&well);
    let far = FarSide::start(move |_| match *is_well.lock().unwrap() {
        true => Deed::Json(204, String::new()),
        false => Deed::Json(410, String::new()),
    })
    .await;
    let file = webhook(&far, "give_up_after = '1ms'");
    let daemon = plan(&[("acme", file)]).start().await.with_live_company();
    let lead = lead(&daemon, json!({})).await;
    until_standing(&daemon, "dead", 2).await;
    let ids: BTreeMap<String, String> =
        told(&far.received(), &lead).into_iter().map(|(id, event_type)| (event_type, id)).collect();

    let stopped = daemon.kill();
    let dead = stopped.plan.command(&["postbacks", "dead", "acme", "--json"]).output().unwrap();
    let dead: Value = serde_json::from_slice(&dead.stdout).unwrap();
    let dead: Vec<_> =
        dead.as_array().unwrap().iter().map(|one| (&one["eventType"], &one["leadUuid"])).collect();
    let lost = EVENTS.map(|event_type| (json!(event_type), json!(lead)));
    assert_eq!(dead, lost.each_ref().map(|(event_type, lead)| (event_type, lead)));

    far.forget();
    *well.lock().unwrap() = true;
    let daemon = stopped.start().await;
    assert_eq!(standing(&daemon, "acme")["dead"], 2);
    let (good, text) = command(&daemon, &["retry", "acme", "--all"]);
    assert!(good && text.contains("2 events of acme will be sent again"), "{text}");
    far.until(|received| received.len() == 2).await;
    let again = told(&far.received(), &lead);
    assert_eq!(types(&again), EVENTS, "in their order, and nothing else");
    assert!(again.iter().all(|(id, event_type)| ids[event_type] == *id), "under their ids: {again:?}");
    until_standing(&daemon, "outstanding", 0).await;
    assert_eq!(standing(&daemon, "acme")["dead"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_outstanding_survives_a_kill_and_a_stopped_daemon_tells_of_it() {
    let well = Arc::new(Mutex::new(false));
    let is_well = Arc::clone(&well);
    let far = FarSide::start(move |_| match *is_well.lock().unwrap() {
        true => Deed::Json(200, String::new()),
        false => Deed::Reset,
    })
    .await;
    let daemon = plan(&[("acme", webhook(&far, ""))]).start().await.with_live_company();
    let first = lead(&daemon, json!({})).await;
    far.until(|received| !received.is_empty()).await;
    let second = lead(&daemon, json!({})).await;
    let stopped = daemon.kill();
    let listed = stopped.plan.command(&["postbacks", "list"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("acme") && listed.contains("broken"), "{listed}");

    far.forget();
    *well.lock().unwrap() = true;
    let _daemon = stopped.start().await;
    far.until(|received| received.len() == 4).await;
    for lead in [first, second] {
        assert_eq!(types(&told(&far.received(), &lead)), EVENTS);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_hangs_holds_back_neither_others_nor_leads() {
    let hung = FarSide::start(|_| Deed::Silence).await;
    let dripping = FarSide::start(|_| Deed::Drip).await;
    let far = taker().await;
    let files = [("hung", webhook(&hung, "")), ("drip", webhook(&dripping, "")), ("well", webhook(&far, ""))];
    let daemon = plan(&files).setting("postbacks.concurrency", "1").start().await.with_live_company();
    for _ in 0..5 {
        lead(&daemon, json!({})).await;
    }
    far.until(|received| received.len() == 10).await;
    assert_eq!(hung.received().len(), 1);
    assert_eq!(standing(&daemon, "well")["last"]["status"], 200);
    let (status, _) = daemon.terminate();
    assert_eq!(status.code(), Some(0), "nor does it hold back the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_is_called_for_the_leads_and_events_that_it_is_for() {
    let far = taker().await;
    let file = url(
        &far,
        "cid={clientTag.clickid}&type={eventType}&lead={leadUuid}",
        "events = ['appSubmitted']\n[tags]\ncampaign = ['spring']",
    );
    let daemon = plan(&[("network", file)]).start().await.with_live_company();
    lead(&daemon, json!({ "campaign": ["spring"] })).await;
    lead(&daemon, json!({ "campaign": ["autumn"], "clickid": ["x"] })).await;
    let meant = lead(&daemon, json!({ "campaign": ["spring"], "clickid": ["a b&c"] })).await;
    far.until(|received| !received.is_empty()).await;
    let received = far.received();
    assert_eq!(received.len(), 1, "{received:?}");
    let wanted = format!("GET /pb?cid=a%20b%26c&type=appSubmitted&lead={meant} HTTP/1.1");
    assert_eq!(received[0].head.lines().next(), Some(wanted.as_str()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_begins_with_what_arrives_once_it_is_there() {
    let far = taker().await;
    let daemon = plan(&[]).start().await.with_live_company();
    let before = lead(&daemon, json!({})).await;
    subscribe(&daemon.file(""), "acme", &webhook(&far, ""));
    let reloaded = daemon.command(&["reload"]);
    assert!(reloaded.status.success(), "{}", String::from_utf8_lossy(&reloaded.stderr));
    let after = lead(&daemon, json!({})).await;
    far.until(|received| received.len() == 2).await;
    assert_eq!(types(&told(&far.received(), &after)), EVENTS);
    assert!(told(&far.received(), &before).is_empty());

    subscribe(&daemon.file(""), "acme", &webhook(&far, "evnts = []"));
    let reloaded = daemon.command(&["reload"]);
    let told = String::from_utf8_lossy(&reloaded.stderr).into_owned();
    assert!(!reloaded.status.success() && told.contains("did you mean `events`?"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_address_is_not_called_unless_its_file_allows_it() {
    let far = taker().await;
    let file = webhook(&far, "").replace("allow_addresses = ['127.0.0.1']\n", "");
    let plan = plan(&[("acme", file.replace("127.0.0.1", "localhost"))]);
    let daemon = plan.start().await.with_live_company();
    let (good, text) = command(&daemon, &["test", "acme"]);
    assert!(!good && text.contains("add its name to `allow_addresses` of the file"), "{text}");
    subscribe(&daemon.file(""), "acme", &file);
    let checked = daemon.command(&["check"]);
    let told = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(
        checked.status.code() == Some(64) && told.contains("private, local or reserved address"),
        "{told}"
    );
    assert!(far.received().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_event_is_sent_at_once_and_its_answer_is_shown() {
    let far = FarSide::start(|_| Deed::Json(418, r#"{"no":"coffee"}"#.to_owned())).await;
    let files = [("acme", webhook(&far, "")), ("network", url(&far, "cid={clientTag.clickid}", ""))];
    let daemon = plan(&files).start().await.with_live_company();
    let (good, text) = command(&daemon, &["test", "acme"]);
    assert!(!good && text.contains("418") && text.contains(r#"{"no":"coffee"}"#), "{text}");
    assert_eq!(event(&far.received()[0])["data"]["isTest"], true);
    command(&daemon, &["test", "network"]);
    assert!(far.received()[1].head.starts_with("GET /pb?cid=test "), "{:?}", far.received());
    assert_eq!(standing(&daemon, "acme")["last"], Value::Null, "nothing of it is kept");
    let listed = daemon.command(&["audit", "list", "--action", "postbacks.test"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("acme") && listed.contains("network"), "{listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_an_erased_lead_is_told_what_the_feed_tells_and_no_client_tag() {
    let down = Arc::new(Mutex::new(true));
    let is_down = Arc::clone(&down);
    let far = FarSide::start(move |_| match *is_down.lock().unwrap() {
        true => Deed::Json(503, String::new()),
        false => Deed::Json(200, String::new()),
    })
    .await;
    let files = [("acme", webhook(&far, "")), ("network", url(&far, "cid={clientTag.clickid}", ""))];
    let daemon = plan(&files).start().await.with_live_company();
    let lead = lead(&daemon, json!({ "clickid": ["abc123"] })).await;
    far.until(|received| received.iter().any(|one| one.head.starts_with("GET"))).await;
    let erased = daemon.command(&["lead", "erase", &lead]);
    assert!(erased.status.success(), "{}", String::from_utf8_lossy(&erased.stderr));
    // Still down, so what is outstanding no more was dropped.
    while standing(&daemon, "network")["outstanding"] != 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    far.forget();
    *down.lock().unwrap() = false;
    far.until(|received| types(&told(received, &lead)).ends_with(&EVENTS)).await;
    assert!(far.received().iter().all(|one| one.head.starts_with("POST")), "{:?}", far.received());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_shows_how_postbacks_stand_tests_them_and_sends_again() {
    let far = FarSide::start(|_| Deed::Json(500, String::new())).await;
    let file = webhook(&far, "give_up_after = '1ms'");
    let dry = webhook(&far, "paused = true").replace("'secret'", "'absent'");
    let daemon = plan(&[("acme", file), ("dry", dry)]).start().await.with_live_company();
    lead(&daemon, json!({})).await;
    while standing(&daemon, "acme")["dead"] != 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let cookie = daemon.signed_in().await.to_owned();
    let look = async |method: Method, path: &str, form: String| {
        let headers = [("cookie", cookie.as_str()), ("content-type", "application/x-www-form-urlencoded")];
        let address = format!("{}{path}", daemon.admin);
        daemon.request_with(method, &address, "", &headers, form).await
    };
    let page = look(Method::GET, "/console/postbacks", String::new()).await;
    let page = String::from_utf8_lossy(&page.body).into_owned();
    assert!(page.contains("acme") && page.contains("Live") && page.contains("500"), "{page}");
    assert!(
        page.contains("acme: undelivered") && page.contains("given up 2") && page.contains("Send 2 again"),
        "{page}"
    );
    let (_, after) = page.split_once("name=\"csrf\" value=\"").expect("the page has a form");
    let csrf = format!("csrf={}", after.split('"').next().unwrap());
    let tried = look(Method::POST, "/console/postbacks/acme/test", csrf.clone()).await;
    assert!(String::from_utf8_lossy(&tried.body).contains("webhook-signature"), "the request is shown");
    let untried = look(Method::POST, "/console/postbacks/dry/test", csrf.clone()).await;
    let told = String::from_utf8_lossy(&untried.body).into_owned();
    assert!(
        untried.status == 200
            && told.contains("not sent")
            && told.contains("no key to sign with: `secrets[0]`"),
        "{told}"
    );
    far.forget();
    let again = look(Method::POST, "/console/postbacks/acme/retry", csrf).await;
    let told = String::from_utf8_lossy(&again.body).into_owned();
    assert!(again.status == 200 && told.contains("2 events of acme sent again."), "{told}");
    far.until(|received| received.len() >= 2).await;
}
