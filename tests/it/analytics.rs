//! The feeds over HTTP, in both forms: shape, faults, access. What the daemon takes in here is under five minutes
//! old; older records are put into its store while it is stopped.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use hyper::Method;
use offerd::analytics::{ArrivalTime, ClientTagFeed, Events, Feeds, Horizon, PageRequest};
use offerd::model::{EventType, ProductType, Viewer};
use offerd::store::entities::{Happening, HappeningDetails};
use offerd::store::tokens::Tokens;
use offerd::store::{Clock, Commit, Store, StoreOptions, Tree, codec};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon};

const FEEDS: [&str; 3] = ["leadEvents", "leadPayouts", "leadClientTags"];

/// The header that asks for the newer form.
const VERSION: (&str, &str) = ("api-version", "2025-04-01");

async fn daemon() -> Daemon {
    Daemon::with_partners(vec![partner("bank").savings("")]).start().await
}

#[tokio::test]
async fn a_page_holds_nothing_that_is_not_an_hour_old() {
    let daemon = daemon().await;
    assert_eq!(daemon.submit(r#"{"clientTags":{"channel":["a","b"]}}"#).await.status, 200);
    for feed in FEEDS {
        let answer = daemon.get(&format!("/supplyAnalytics/{feed}?timestamp=2020-08-01T00:00:00Z")).await;
        assert_eq!(answer.status, 200, "{feed}");
        let page = answer.json();
        assert_eq!((&page["data"], &page["shouldContinuePolling"]), (&json!([]), &json!(false)), "{feed}");
    }
}

#[tokio::test]
async fn the_next_url_works_as_given() {
    let daemon = daemon().await;
    for feed in FEEDS {
        let answer = daemon.get(&format!("/supplyAnalytics/{feed}?timestamp=2019-01-01T00:00:00")).await;
        let next = answer.json()["nextUrl"].as_str().unwrap().to_owned();
        assert!(next.starts_with(&format!("{}/supplyAnalytics/{feed}?timestamp=", daemon.api)), "{next}");
        let followed = daemon.request(Method::GET, &next, &daemon.confidential, "").await;
        assert_eq!(followed.status, 200, "{next}");
    }
}

#[tokio::test]
async fn timestamps_are_read_as_clients_write_them() {
    let daemon = daemon().await;
    for time in [
        "2024-11-21T00:15:55.887852%2B0000",
        "2024-11-21T00:15:55.887852%2B00:00",
        "2024-11-21T00:15:55.887852",
        "2024-11-21T00:15:55-05:00",
        "2024-11-21T00:15:55-0500",
        "2024-11-21T00:15:55Z",
    ] {
        let answer = daemon.get(&format!("/supplyAnalytics/leadEvents?timestamp={time}")).await;
        assert_eq!(answer.status, 200, "{time}");
    }
}

#[tokio::test]
async fn a_missing_timestamp_must_be_specified() {
    let daemon = daemon().await;
    for feed in FEEDS {
        let answer = daemon.get(&format!("/supplyAnalytics/{feed}")).await;
        assert_eq!(answer.status, 422);
        let error =
            json!({"attribute": "timestamp", "message": "timestamp must be specified", "type": "missing"});
        assert_eq!(answer.json(), json!([error]), "{feed}");
        let answer =
            daemon.get(&format!("/supplyAnalytics/{feed}?sinceTimestamp=2024-11-21T00:15:55Z")).await;
        let told = answer.json()[0]["message"].as_str().unwrap().to_owned();
        assert_eq!((answer.status, answer.attributes()), (422, vec!["timestamp".to_owned()]), "{feed}");
        assert!(told.ends_with("; sinceTimestamp needs the header API-Version: 2025-04-01"), "{told}");
    }
}

#[tokio::test]
async fn a_malformed_timestamp_is_refused() {
    let daemon = daemon().await;
    let answer = daemon.get("/supplyAnalytics/leadEvents?timestamp=yesterday").await;
    assert_eq!((answer.status, answer.attributes()), (422, vec!["timestamp".to_owned()]));
    assert_eq!(answer.json()[0]["type"], "malformed");
}

#[tokio::test]
async fn a_timestamp_within_the_last_hour_is_told_the_latest_that_is_not() {
    let daemon = daemon().await;
    let answer = daemon.get("/supplyAnalytics/leadPayouts?timestamp=2999-01-01T00:00:00Z").await;
    assert_eq!((answer.status, answer.attributes()), (422, vec!["timestamp".to_owned()]));
    let error = &answer.json()[0];
    assert_eq!(
        (&error["type"], &error["details"]["specified"]),
        (&json!("malformed"), &json!("2999-01-01T00:00:00Z"))
    );
    let requirement = error["details"]["requirement"].as_str().unwrap();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("2999-01-01T00:00:00Z") && message.contains(requirement), "{message}");
    // What is asked for is accepted.
    let latest = requirement.strip_prefix("must be at or before ").unwrap();
    let accepted = daemon.get(&format!("/supplyAnalytics/leadPayouts?timestamp={latest}")).await;
    assert_eq!(accepted.status, 200);
}

#[tokio::test]
async fn the_feeds_take_a_confidential_token() {
    let daemon = daemon().await;
    for feed in FEEDS {
        for query in ["timestamp=2020-08-01T00:00:00Z", "sinceTimestamp=2020-08-01T00:00:00Z"] {
            let url = format!("{}/supplyAnalytics/{feed}?{query}", daemon.api);
            for token in [&daemon.publishable[..], ""] {
                for headers in [&[][..], &[VERSION]] {
                    let answer = daemon.request_with(Method::GET, &url, token, headers, "").await;
                    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
                }
            }
        }
    }
}

/// Asks for a page of the newer form.
async fn prompt(daemon: &Daemon, path: &str) -> Answer {
    let url = format!("{}/supplyAnalytics/{path}", daemon.api);
    daemon.request_with(Method::GET, &url, &daemon.confidential, &[VERSION], "").await
}

#[tokio::test]
async fn the_newer_form_is_followed_by_token_with_its_header_and_without() {
    let daemon = daemon().await.with_live_company();
    assert_eq!(daemon.submit(r#"{"clientTags":{"channel":["a","b"]}}"#).await.status, 200);
    for feed in FEEDS {
        let answer = prompt(&daemon, &format!("{feed}?sinceTimestamp=2020-08-01T00:00:00")).await;
        assert_eq!(answer.status, 200, "{feed}");
        let page = answer.json();
        assert_eq!((&page["data"], &page["shouldContinuePolling"]), (&json!([]), &json!(false)), "{feed}");
        let next = page["nextUrl"].as_str().unwrap();
        let prefix = format!("{}/supplyAnalytics/{feed}?paginationToken=", daemon.api);
        assert!(next.starts_with(&prefix) && !next.contains("imestamp"), "{next}");
        for headers in [&[VERSION][..], &[]] {
            let followed = daemon.request_with(Method::GET, next, &daemon.confidential, headers, "").await;
            assert_eq!(followed.status, 200, "{next}");
            assert!(followed.json()["nextUrl"].as_str().unwrap().starts_with(&prefix));
        }
    }
}

#[tokio::test]
async fn a_test_token_reads_each_record_once_as_it_arrives() {
    let daemon = daemon().await;
    let mut path = "leadEvents?sinceTimestamp=2020-08-01T00:00:00Z&eventType=leadCreated".to_owned();
    for _ in 0..3 {
        let lead = daemon.submit("{}").await.json()["leadUuid"].clone();
        let page = prompt(&daemon, &path).await.json();
        let told: Vec<&Value> = page["data"].as_array().unwrap().iter().map(|one| &one["leadUuid"]).collect();
        assert_eq!(told, [&lead]);
        let next = page["nextUrl"].as_str().unwrap();
        path = next.rsplit('/').next().unwrap().to_owned();
    }
}

#[tokio::test]
async fn a_page_of_the_newer_form_ends_where_it_was_asked_to() {
    let daemon = daemon().await;
    let query = "leadEvents?sinceTimestamp=2024-11-21T00:15:55.887852%2B0000\
        &untilTimestamp=2024-11-21T00:15:55.887853&eventType=funded,apiApproved";
    let mut answer = prompt(&daemon, query).await;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        assert_eq!((answer.status, &answer.json()["shouldContinuePolling"]), (200, &json!(false)));
        let next = answer.json()["nextUrl"].as_str().unwrap().to_owned();
        answer = daemon.request(Method::GET, &next, &daemon.confidential, "").await;
        tokens.push(next);
    }
    assert_eq!(tokens[0], tokens[1], "the end stays the end");
}

#[tokio::test]
async fn every_fault_of_a_request_for_the_newer_form_is_told_at_once() {
    let daemon = daemon().await;
    for (query, faults) in [
        ("", vec![("sinceTimestamp", "missing")]),
        ("timestamp=2020-08-01T00:00:00Z", vec![("sinceTimestamp", "missing")]),
        (
            "sinceTimestamp=x&untilTimestamp=y&eventType=funded,lost",
            vec![
                ("sinceTimestamp", "malformed"),
                ("untilTimestamp", "malformed"),
                ("eventType", "malformed"),
            ],
        ),
        (
            "sinceTimestamp=2024-01-02T00:00:00Z&untilTimestamp=2024-01-02T00:00:00Z",
            vec![("untilTimestamp", "malformed")],
        ),
        ("paginationToken=bm8gdG9rZW4", vec![("paginationToken", "malformed")]),
        ("paginationToken=", vec![("paginationToken", "malformed")]),
    ] {
        let answer = prompt(&daemon, &format!("leadEvents?{query}")).await;
        assert_eq!(answer.status, 422, "{query}");
        let errors = answer.json();
        let told = |error: &'_ Value| (error["attribute"].clone(), error["type"].clone());
        let told: Vec<_> = errors.as_array().unwrap().iter().map(told).collect();
        let wanted: Vec<_> = faults.iter().map(|(attribute, kind)| (json!(attribute), json!(kind))).collect();
        assert_eq!(told, wanted, "{query}");
    }
}

/// Who sends it believes to be heard.
#[tokio::test]
async fn what_only_the_newer_form_goes_by_must_be_right_beside_an_old_timestamp_too() {
    let daemon = daemon().await;
    for (more, named) in [
        ("", None),
        ("&eventType=funded,leadCreated&sinceTimestamp=2024-01-01T00:00:00Z", None),
        ("&eventType=lost", Some("eventType")),
        ("&sinceTimestamp=yesterday", Some("sinceTimestamp")),
        ("&sinceTimestamp=2999-01-01T00:00:00Z", Some("sinceTimestamp")),
        ("&untilTimestamp=tomorrow", Some("untilTimestamp")),
    ] {
        let path = format!("/supplyAnalytics/leadEvents?timestamp=2020-08-01T00:00:00Z{more}");
        let answer = daemon.get(&path).await;
        match named {
            None => assert_eq!(answer.status, 200, "{more}"),
            Some(named) => {
                assert_eq!((answer.status, answer.attributes()), (422, vec![named.to_owned()]), "{more}");
                assert_eq!(answer.json()[0]["type"], "malformed");
            }
        }
    }
}

/// The document of the newer form requires these.
#[tokio::test]
async fn the_newer_form_tells_whose_a_record_is_and_when_it_arrived_and_the_older_form_does_not() {
    let daemon = with_old_events().await;
    let newer = prompt(&daemon, "leadEvents?sinceTimestamp=2020-08-01T00:00:00Z").await.json();
    let token = newer["paginationToken"].as_str().unwrap();
    assert!(newer["nextUrl"].as_str().unwrap().ends_with(&format!("?paginationToken={token}")));
    let lead = daemon.submit("{}").await.json();
    let lead = daemon.get(&format!("/leads/{}", lead["leadUuid"].as_str().unwrap())).await.json();
    for event in newer["data"].as_array().unwrap() {
        assert_eq!(event["supplySubAccountUuid"], lead["companyUUID"]);
        assert_eq!(event["supplySubAccountName"], lead["leadProviderName"]);
        assert!(event["paginationTimestamp"].as_str().unwrap().ends_with('Z'));
    }
    for feed in FEEDS {
        let page = prompt(&daemon, &format!("{feed}?sinceTimestamp=2020-08-01T00:00:00Z")).await.json();
        assert!(page["paginationToken"].is_string(), "{feed}");
    }

    let older = daemon.get("/supplyAnalytics/leadEvents?timestamp=2020-08-01T00:00:00Z").await.json();
    assert!(older.get("paginationToken").is_none());
    for event in older["data"].as_array().unwrap() {
        for field in ["supplySubAccountUuid", "supplySubAccountName", "paginationTimestamp"] {
            assert!(event.get(field).is_none(), "{event}");
        }
    }
}

#[tokio::test]
async fn a_time_within_the_last_five_minutes_is_told_the_latest_that_is_not() {
    let daemon = daemon().await;
    let answer = prompt(&daemon, "leadPayouts?sinceTimestamp=2999-01-01T00:00:00Z").await;
    assert_eq!((answer.status, answer.attributes()), (422, vec!["sinceTimestamp".to_owned()]));
    let error = &answer.json()[0];
    assert_eq!(error["details"]["specified"], "2999-01-01T00:00:00Z");
    let requirement = error["details"]["requirement"].as_str().unwrap();
    let latest = requirement.strip_prefix("must be at or before ").unwrap();
    assert_eq!(prompt(&daemon, &format!("leadPayouts?sinceTimestamp={latest}")).await.status, 200);
    let hourly = daemon.get(&format!("/supplyAnalytics/leadPayouts?timestamp={latest}")).await;
    assert_eq!(hourly.status, 422, "the hourly form wants an hour");
}

#[tokio::test]
async fn a_token_of_one_feed_is_none_of_another() {
    let daemon = daemon().await;
    let page = prompt(&daemon, "leadEvents?sinceTimestamp=2020-08-01T00:00:00Z").await.json();
    let (_, token) = page["nextUrl"].as_str().unwrap().split_once('?').unwrap();
    for (feed, status) in [("leadEvents", 200), ("leadPayouts", 422), ("leadClientTags", 422)] {
        let answer = daemon.get(&format!("/supplyAnalytics/{feed}?{token}")).await;
        assert_eq!(answer.status, status, "{feed}");
    }
}

#[tokio::test]
async fn only_one_version_of_the_newer_form_is_known() {
    let daemon = daemon().await;
    for feed in FEEDS {
        let url = format!("{}/supplyAnalytics/{feed}?timestamp=2020-08-01T00:00:00Z", daemon.api);
        let headers = [("api-version", "2025-04-02")];
        let answer = daemon.request_with(Method::GET, &url, &daemon.confidential, &headers, "").await;
        assert_eq!((answer.status, answer.attributes()), (422, vec!["API-Version".to_owned()]), "{feed}");
        assert!(answer.json()[0]["message"].as_str().unwrap().contains("2025-04-01"));
    }
}

/// A daemon whose company has an approved insurance and a funded loan in its feed, two hours old.
async fn with_old_events() -> Daemon {
    let (_, stopped) = daemon().await.terminate();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let then = now - Duration::from_secs(2 * 3600);
    let clock = Clock::new(move || u64::try_from(then.as_micros()).unwrap());
    let options = StoreOptions { clock, ..stopped.plan.store_options() };
    let store = Store::open_inline_with(&options).unwrap();
    let company = Tokens::of(store.clone()).companies()[0].uuid;
    let event = |lead, event_type, product_type| Happening {
        event_type,
        lead: Uuid::from_u128(lead),
        lead_created_at: 1,
        at: 2,
        institution: None,
        product_type: Some(product_type),
        amount_in_cents: (event_type == EventType::Funded).then_some(1_250_000),
        test: true,
        cause: None,
        taken_back_at: None,
        details: HappeningDetails::default(),
    };
    let events = vec![
        event(1, EventType::ApiApproved, ProductType::Insurance),
        event(2, EventType::Funded, ProductType::Loan),
    ];
    let commit = Commit::new().append(Tree::LeadEvents, company, codec::encode(&events));
    store.commit(commit).now_or_never().unwrap().unwrap();
    store.close().unwrap();
    drop(store);
    stopped.start().await
}

/// What happened to a live lead and to a test, two hours ago: a test token is told of the test alone.
#[tokio::test]
async fn a_test_token_is_told_of_tests_only() {
    let daemon = daemon().await.with_live_company();
    let of_tests = ["token", "create", "--company", "Live", "--kind", "confidential", "--test"];
    let test = String::from_utf8(daemon.command(&of_tests).stdout).unwrap().trim().to_owned();
    let url = format!("{}/leads", daemon.api);
    let mut leads = Vec::new();
    for token in [&daemon.confidential, &test] {
        let lead = daemon.request(Method::POST, &url, token, r#"{"clientTags":{"a":["b"]}}"#).await;
        leads.push(lead.json()["uuid"].as_str().unwrap().parse::<Uuid>().unwrap());
    }
    let (_, stopped) = daemon.terminate();
    let store = stopped.plan.open_store();
    let company = Tokens::of(store.clone()).companies().into_iter().find(|company| company.name == "Live");
    let company = company.unwrap().uuid;
    let later = Horizon::at(ArrivalTime(Clock::system().now_us() + 7_200_000_000));
    let feeds = Feeds::new(store, "https://offers.example".to_owned(), usize::MAX);
    for (test, seen) in [(false, &leads[..]), (true, &leads[1..])] {
        let asked = PageRequest::hourly(ArrivalTime::FIRST);
        let viewer = Viewer { company, test };
        let events = feeds.page::<Events>(viewer, asked, later).unwrap().data;
        assert_eq!(events.iter().map(|event| event.lead_uuid).collect::<Vec<_>>(), seen);
        let tags = feeds.page::<ClientTagFeed>(viewer, asked, later).unwrap().data;
        assert_eq!(tags.iter().map(|tag| tag.lead_uuid).collect::<Vec<_>>(), seen);
    }
}

#[tokio::test]
async fn each_form_and_edition_tells_events_in_its_own_way() {
    let daemon = with_old_events().await;
    let v1 = ("accept", "application/vnd.offerd.v1+json");
    let (hourly, prompt) = ("timestamp=2020-08-01T00:00:00Z", "sinceTimestamp=2020-08-01T00:00:00Z");
    let filtered = "sinceTimestamp=2020-08-01T00:00:00Z&eventType=funded,leadCreated";
    let (insurance, loan) = (json!("insurance"), json!("loan"));
    for (query, headers, product_types, test) in [
        (hourly, vec![], vec![&insurance, &loan], json!(null)),
        (hourly, vec![v1], vec![&Value::Null, &loan], json!(null)),
        (prompt, vec![VERSION], vec![&insurance, &loan], json!(true)),
        (prompt, vec![VERSION, v1], vec![&Value::Null, &loan], json!(true)),
        (filtered, vec![VERSION], vec![&loan], json!(true)),
    ] {
        let url = format!("{}/supplyAnalytics/leadEvents?{query}", daemon.api);
        let answer = daemon.request_with(Method::GET, &url, &daemon.confidential, &headers, "").await;
        let page = answer.json();
        let data = page["data"].as_array().unwrap();
        let told: Vec<&Value> = data.iter().map(|event| &event["productType"]).collect();
        assert_eq!(told, product_types, "{query} {headers:?}");
        assert!(data.iter().all(|event| event["isTest"] == test), "{query} {headers:?}");
        assert_eq!(data.last().unwrap()["amountInCents"], 1_250_000);

        let next = page["nextUrl"].as_str().unwrap();
        let followed = daemon.request_with(Method::GET, next, &daemon.confidential, &headers, "").await;
        assert_eq!((followed.status, &followed.json()["data"]), (200, &json!([])), "{query} {headers:?}");
    }
}
