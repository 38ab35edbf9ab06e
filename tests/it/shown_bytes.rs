//! Answers as bytes: kept tables, unchanged answers, and compression.

use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::read::GzDecoder;
use futures_util::FutureExt;
use hyper::Method;
use offerd::model::EventType;
use offerd::store::entities::{Happening, HappeningDetails};
use offerd::store::tokens::Tokens;
use offerd::store::{Clock, Commit, Store, StoreOptions, Tree, codec};
use serde_json::json;
use uuid::Uuid;

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Answer, Daemon, sample};

const V1: (&str, &str) = ("accept", "application/vnd.offerd.v1+json");
const GZIP: (&str, &str) = ("accept-encoding", "gzip");
const BROTLI: (&str, &str) = ("accept-encoding", "br");

/// The forms that a table is given in: by edition and coding.
const FORMS: [&[(&str, &str)]; 6] = [&[], &[GZIP], &[V1], &[V1, GZIP], &[BROTLI], &[V1, BROTLI]];

async fn get(daemon: &Daemon, path: &str, headers: &[(&str, &str)]) -> Answer {
    let url = format!("{}{path}", daemon.api);
    daemon.request_with(Method::GET, &url, &daemon.confidential, headers, "").await
}

fn unzipped(answer: &Answer) -> Vec<u8> {
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    let mut plain = Vec::new();
    GzDecoder::new(&*answer.body).read_to_end(&mut plain).unwrap();
    plain
}

/// The body as a client reads it.
fn read(answer: &Answer) -> Vec<u8> {
    match answer.header("content-encoding") {
        None => answer.body.to_vec(),
        Some("br") => {
            let mut plain = Vec::new();
            brotli::BrotliDecompress(&mut &*answer.body, &mut plain).unwrap();
            plain
        }
        Some(_) => unzipped(answer),
    }
}

/// A complete table of many offers, by its path, and its lead.
async fn table(daemon: &Daemon) -> (String, String) {
    let answer = daemon.submit(r#"{"productTypes":["savings"]}"#).await;
    assert_eq!(answer.status, 200);
    let table = answer.json();
    assert_eq!(table["pendingResponses"], json!([]));
    let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
    (path, table["leadUuid"].as_str().unwrap().to_owned())
}

async fn figure(daemon: &Daemon, name: &str) -> f64 {
    let metrics = daemon.metrics().await;
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is not told: {metrics}")).parse().unwrap()
}

const PUT_TOGETHER: &str = r#"offerd_complete_tables_shown_total{from="records"}"#;
const KEPT: &str = "offerd_kept_table_bytes";

#[tokio::test]
async fn a_kept_table_is_byte_for_byte_what_its_records_tell_whatever_has_changed_since() {
    let plan = Daemon::with_partners(prompt_partners(20));
    let daemon = plan.setting("api.base_url", "https://offers.example").start().await;
    let (path, lead) = table(&daemon).await;
    let mut kept = Vec::new();
    for form in FORMS {
        kept.push(get(&daemon, &path, form).await);
    }
    assert_eq!(figure(&daemon, PUT_TOGETHER).await, 1.0, "it was put together for the submit alone");
    assert_ne!(kept[0].body, kept[2].body.slice(..), "the editions tell apart");

    // The lead grows, and the partner's texts change.
    let url = format!("{}/leads/{lead}", daemon.api);
    let more = json!({"loanInformation": {"loanAmount": 7}}).to_string();
    assert_eq!(daemon.request(Method::PATCH, &url, &daemon.confidential, &more).await.status, 200);
    partner("prompt_0").savings("").replaced("Account of", "Other account of").write(daemon.partners());
    assert!(daemon.command(&["reload"]).status.success());
    for (form, kept) in FORMS.into_iter().zip(&kept) {
        assert_eq!(get(&daemon, &path, form).await.body, kept.body, "{form:?}");
    }
    assert_eq!(figure(&daemon, PUT_TOGETHER).await, 1.0);

    let fresh = daemon.terminate().1.setting("limits.shown_bytes", "0").start().await;
    for (form, kept) in FORMS.into_iter().zip(&kept) {
        let fresh = get(&fresh, &path, form).await;
        assert_eq!(read(&fresh), read(kept), "{form:?}");
        assert_eq!(fresh.header("etag"), kept.header("etag"), "{form:?}");
    }
    assert_eq!(figure(&fresh, PUT_TOGETHER).await, FORMS.len() as f64);
    assert_eq!(figure(&fresh, KEPT).await, 0.0);
}

#[tokio::test]
async fn an_erased_table_is_gone_at_once_in_every_form() {
    let daemon = Daemon::with_partners(prompt_partners(20)).start().await;
    let (path, lead) = table(&daemon).await;
    let again = daemon.post(&format!("/leads/{lead}/rateTables"), "").await.json();
    let again = format!("/originator/rateTables/{}", again["uuid"].as_str().unwrap());
    let (other, _) = table(&daemon).await;
    let mut tags = Vec::new();
    for path in [&path, &again, &other] {
        for form in FORMS {
            let shown = get(&daemon, path, form).await;
            assert_eq!(shown.status, 200, "{form:?}");
            tags.push(shown.header("etag").unwrap().to_owned());
        }
    }
    let before = figure(&daemon, KEPT).await;
    assert!(daemon.command(&["lead", "erase", &lead]).status.success());
    for path in [&path, &again] {
        for form in FORMS {
            assert_eq!(get(&daemon, path, form).await.status, 404, "{form:?}");
            for tag in &tags {
                let headers = [form, &[("if-none-match", tag)]].concat();
                assert_eq!(get(&daemon, path, &headers).await.status, 404, "{headers:?}");
            }
        }
    }
    let after = figure(&daemon, KEPT).await;
    assert!(0.0 < after && after < before / 2.0, "{before} before, {after} after");
    assert_eq!(get(&daemon, &other, &[]).await.status, 200, "the other lead is as it was");
}

#[tokio::test]
async fn a_kept_table_is_shown_to_its_company_only() {
    let daemon = Daemon::with_partners(prompt_partners(20)).start().await;
    let (path, _) = table(&daemon).await;
    let other = daemon.command(&["token", "create", "--company", "Other", "--kind", "confidential"]);
    let other = String::from_utf8(other.stdout).unwrap().trim().to_owned();
    for form in FORMS {
        let shown = get(&daemon, &path, form).await;
        let tag = shown.header("etag").unwrap();
        for held in [None, Some(("if-none-match", tag)), Some(("if-none-match", "*"))] {
            let headers: Vec<_> = form.iter().copied().chain(held).collect();
            let url = format!("{}{path}", daemon.api);
            let answer = daemon.request_with(Method::GET, &url, &other, &headers, "").await;
            assert_eq!(answer.status, 404, "{headers:?}");
        }
    }
}

#[tokio::test]
async fn no_more_is_kept_than_the_limit_says() {
    let limit = 100_000.0;
    let plan = Daemon::with_partners(prompt_partners(20)).setting("limits.shown_bytes", "100000");
    let daemon = plan.start().await;
    let mut tables = Vec::new();
    for _ in 0..20 {
        let (path, _) = table(&daemon).await;
        tables.push((get(&daemon, &path, &[GZIP]).await, path));
        let kept = figure(&daemon, KEPT).await;
        assert!(kept <= limit, "{kept}");
    }
    assert!(figure(&daemon, KEPT).await > limit / 3.0);
    for (shown, path) in &tables {
        assert_eq!(read(shown), get(&daemon, path, &[]).await.body, "also what was pushed out");
    }
    assert!(figure(&daemon, PUT_TOGETHER).await > 20.0, "some were");
}

#[tokio::test]
async fn who_holds_a_table_is_told_so_in_each_form_without_its_being_put_together() {
    let plan = Daemon::with_partners(prompt_partners(20)).setting("limits.shown_bytes", "0");
    let daemon = plan.start().await;
    let (path, _) = table(&daemon).await;
    let mut tags = Vec::new();
    for form in FORMS {
        let shown = get(&daemon, &path, form).await;
        let tag = shown.header("etag").unwrap().to_owned();
        assert!(tag.starts_with('"'), "a strong tag: {tag}");
        assert!(!tags.contains(&tag), "a tag of its own: {tag}");
        tags.push(tag);
    }
    let before = figure(&daemon, PUT_TOGETHER).await;
    for (form, tag) in FORMS.into_iter().zip(&tags) {
        for list in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}")] {
            let held = get(&daemon, &path, &[form, &[("if-none-match", &list)]].concat()).await;
            assert_eq!((held.status, held.body.len()), (304, 0), "{form:?} {list}");
            assert_eq!(held.header("etag"), Some(tag.as_str()), "{form:?} {list}");
            assert_eq!(held.header("content-encoding"), None);
            let vary: Vec<_> = held.headers.get_all("vary").iter().collect();
            assert_eq!(vary, ["accept, accept-encoding, origin"], "as with the body");
        }
    }
    assert_eq!(figure(&daemon, PUT_TOGETHER).await, before);
    // In another coding it is the same content, in another edition it is not.
    for (form, tag, status) in [
        (1, 0, 304),
        (0, 1, 304),
        (2, 0, 200),
        (0, 2, 200),
        (3, 2, 304),
        (1, 3, 200),
        (4, 1, 304),
        (0, 4, 304),
        (4, 5, 200),
    ] {
        let held = get(&daemon, &path, &[FORMS[form], &[("if-none-match", &tags[tag])]].concat()).await;
        assert_eq!(held.status, status, "{:?} {}", FORMS[form], tags[tag]);
    }
}

#[tokio::test]
async fn a_pending_table_is_told_unchanged_with_when_to_come_again() {
    let slow = partner("slow").loan(r#"simulate = { delay = "30s" }"#);
    let daemon = Daemon::with_partners(vec![slow, partner("prompt").loan("")])
        .setting("matching.deadline", "60s")
        .setting("matching.submit_wait", "50ms")
        .start()
        .await;
    let lead = json!({"productTypes": ["loan"], "loanInformation": {"loanAmount": 10_000},
        "creditInformation": {"providedCreditRating": "good"}});
    let table = daemon.submit(lead.to_string()).await.json();
    let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
    for form in FORMS {
        let shown = get(&daemon, &path, form).await;
        let tag = ("if-none-match", shown.header("etag").unwrap());
        let held = get(&daemon, &path, &[form, &[tag]].concat()).await;
        assert_eq!(held.status, 304, "{form:?}");
        for name in ["etag", "retry-after", "table-deadline", "cache-control"] {
            assert_eq!(held.header(name), shown.header(name), "{name} {form:?}");
            assert!(held.header(name).is_some(), "{name}");
        }
    }
    assert_eq!(figure(&daemon, KEPT).await, 0.0, "what changes is not kept");
}

#[tokio::test]
async fn a_client_gets_the_coding_that_it_asks_for() {
    let daemon = Daemon::with_partners(prompt_partners(20)).start().await;
    let (path, _) = table(&daemon).await;
    let plain = get(&daemon, &path, &[]).await;
    for (asked, coding) in [
        ("gzip", Some("gzip")),
        ("gzip, deflate, br, zstd", Some("br")),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", Some("br")),
        ("br;q=0.5, gzip;q=0.8", Some("gzip")),
        ("*", Some("gzip")),
        ("x-gzip", Some("gzip")),
        ("identity;q=0.5, gzip;q=0.5", Some("gzip")),
        ("br, zstd, deflate", Some("br")),
        ("", None),
        ("identity", None),
        ("zstd, deflate", None),
        ("gzip;q=0", None),
        ("gzip;q=0, *", Some("br")),
        ("gzip;q=0.2, identity;q=0.8", None),
        ("gzip;q=7", None),
    ] {
        let url = format!("{}{path}", daemon.api);
        for method in [Method::GET, Method::HEAD] {
            let headers = [("accept-encoding", asked)];
            let answer = daemon.request_with(method.clone(), &url, &daemon.confidential, &headers, "").await;
            assert_eq!(answer.header("content-encoding"), coding, "{method} {asked}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
            let vary: Vec<_> = answer.headers.get_all("vary").iter().collect();
            assert_eq!(vary, ["accept, accept-encoding, origin"], "{method} {asked}");
            let whole = get(&daemon, &path, &headers).await;
            for name in ["content-length", "etag", "cache-control"] {
                assert_eq!(answer.header(name), whole.header(name), "{name} {method} {asked}");
            }
            match method {
                Method::HEAD => assert!(answer.body.is_empty()),
                _ => assert_eq!(read(&answer), plain.body, "{asked}"),
            }
        }
    }
    let smaller = get(&daemon, &path, &[GZIP]).await.body.len();
    assert!(smaller * 5 < plain.body.len(), "{smaller} of {} bytes", plain.body.len());
}

#[tokio::test]
async fn tables_feeds_and_documents_are_compressed_and_nothing_else() {
    let daemon = Daemon::with_sample_partners().start().await.with_live_company();
    let submitted = {
        let url = format!("{}/leads/rateTables", daemon.api);
        daemon.request_with(Method::POST, &url, &daemon.publishable, &[GZIP], sample("everything")).await
    };
    let table: serde_json::Value = serde_json::from_slice(&unzipped(&submitted)).unwrap();
    let lead = table["leadUuid"].as_str().unwrap().to_owned();
    for path in ["/openapi.json", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"] {
        let plain = get(&daemon, path, &[]).await;
        for _ in 0..2 {
            let compressed = get(&daemon, path, &[GZIP]).await;
            assert_eq!(unzipped(&compressed), plain.body, "{path}");
            assert!(compressed.body.len() * 2 < plain.body.len(), "{path}");
        }
    }
    // What is small, what is an image, and what tells of a person whatever was sent of it.
    let tags = "/supplyAnalytics/leadClientTags?timestamp=2024-01-01T00:00:00Z".to_owned();
    let (lead, explanation) = (format!("/leads/{lead}"), format!("/leads/{lead}/explanation"));
    for path in ["/docs", "/docs/start.js", "/docs/favicon-32x32.png", &lead, &explanation, &tags] {
        let answer = get(&daemon, path, &[GZIP]).await;
        assert_eq!((answer.status, answer.header("content-encoding")), (200, None), "{path}");
    }
    let nobody = daemon.submit(r#"{"productTypes":["savings"],"personalInformation":{"state":"PR"}}"#).await;
    let empty = format!("/originator/rateTables/{}", nobody.json()["uuid"].as_str().unwrap());
    let compressed = get(&daemon, &empty, &[GZIP]).await;
    assert_eq!(compressed.header("content-encoding").is_some(), nobody.body.len() >= 1024);
}

/// Large enough to be compressed aside.
const EVENTS: u128 = 1000;

/// A daemon whose company has many events in its feed, two hours old.
async fn with_old_events() -> Daemon {
    let (_, stopped) = Daemon::with_partners(prompt_partners(1)).start().await.terminate();
    let then = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() - Duration::from_secs(2 * 3600);
    let clock = Clock::new(move || u64::try_from(then.as_micros()).unwrap());
    let options = StoreOptions { clock, ..StoreOptions::new(stopped.plan.store()) };
    let store = Store::open_inline_with(&options).unwrap();
    let company = Tokens::of(store.clone()).companies()[0].uuid;
    let event = |lead| Happening {
        event_type: EventType::LeadCreated,
        lead: Uuid::from_u128(lead),
        lead_created_at: 1,
        at: 2,
        institution: None,
        product_type: None,
        amount_in_cents: None,
        test: true,
        cause: None,
        taken_back_at: None,
        details: HappeningDetails::default(),
    };
    let events: Vec<_> = (0..EVENTS).map(event).collect();
    let commit = Commit::new().append(Tree::LeadEvents, company, codec::encode(&events));
    store.commit(commit).now_or_never().unwrap().unwrap();
    store.close().unwrap();
    drop(store);
    stopped.start().await
}

#[tokio::test]
async fn a_long_page_of_a_feed_is_compressed_in_both_editions() {
    let daemon = with_old_events().await;
    let then = SystemTime::now() - Duration::from_secs(3 * 3600);
    let then = chrono::DateTime::<chrono::Utc>::from(then).format("%Y-%m-%dT%H:%M:%SZ");
    let path = format!("/supplyAnalytics/leadEvents?timestamp={then}");
    for edition in [&[][..], &[V1]] {
        let plain = get(&daemon, &path, edition).await;
        assert_eq!(plain.json()["data"].as_array().unwrap().len() as u128, EVENTS, "{path}");
        assert!(plain.body.len() > 64 * 1024, "{}", plain.body.len());
        let compressed = get(&daemon, &path, &[edition, &[GZIP]].concat()).await;
        let read: serde_json::Value = serde_json::from_slice(&unzipped(&compressed)).unwrap();
        assert_eq!(read["data"], plain.json()["data"]);
        let vary: Vec<_> = compressed.headers.get_all("vary").iter().collect();
        assert_eq!(vary, ["accept, accept-encoding, origin"]);
    }
}
