//! Validation of files, selection of events, and the calls sent.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use chrono::Utc;
use futures_util::FutureExt;
use tokio::sync::watch;
use uuid::Uuid;

use super::ledger::PostbackLedger;
use super::message::{BookedEvent, PostbackMessage};
use super::record::EventPosition;
use super::subscription::Subscription;
use super::{MACROS, PostbackKeeper, Subscriptions, begin, check, statuses};
use offerd_base::config::{PostbackSettings, Settings};
use offerd_base::declaration::Source;
use offerd_handbook::chapter;
use offerd_model::{ClientTags, EventData, EventType, LeadEvent, Timestamp};
use offerd_store::entities::{Happening, HappeningDetails};
use offerd_store::testing::TestNodes;
use offerd_store::tokens::company_uuid;
use offerd_store::{Commit, Store, Tree, codec};

fn of(text: &str) -> Result<Subscription, Vec<String>> {
    let source = Source::parse(Path::new("acme.toml"), text).unwrap();
    let told =
        |faults: Vec<offerd_base::declaration::Fault>| faults.iter().map(ToString::to_string).collect();
    check::subscription("acme", &source).map_err(told)
}

fn key_file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(name);
    std::fs::write(&file, text).unwrap();
    (directory, file)
}

fn event(event_type: EventType) -> LeadEvent {
    let at = Timestamp::parse("2026-11-21T00:15:55.887Z").unwrap();
    LeadEvent {
        id: "e1".to_owned(),
        lead_uuid: Uuid::from_u128(1),
        lead_created_at: at,
        event_type,
        event_created_at: at,
        amount_in_cents: Some(1_250_050),
        financial_institution_uuid: None,
        financial_institution_name: Some("Bank & Söhne".to_owned()),
        product_type: None,
        event_data: Some(EventData {
            product_type: None,
            amount: None,
            payout_in_cents: Some(4205),
            reject_reason: None,
        }),
        offer_uuid: None,
        product_sub_type: None,
        is_test: Some(false),
        event_deleted_at: None,
        supply_sub_account_uuid: None,
        supply_sub_account_name: None,
        pagination_timestamp: None,
    }
}

fn tags(key: &str, values: &[&str]) -> ClientTags {
    ClientTags([(key.to_owned(), values.iter().map(|value| (*value).to_owned()).collect())].into())
}

fn url_of(url: &str, more: &str) -> Subscription {
    of(&format!("company = 'Acme'\nkind = 'url'\nurl = '{url}'\n{more}")).unwrap()
}

#[test]
fn every_fault_of_a_file_is_told_at_once() {
    let faults = of("company = ' '\nkind = 'url'\nurl = 'https://{leadUuid}.example/{payuot}'\ntimeout = '2m'\nevents = []\n[tags]\na = []\n[[secrets]]\nfile = 'k'\n").unwrap_err();
    assert_eq!(
        faults,
        [
            "acme.toml:1: `company` must be the name of a company, as `offerd token list` shows it",
            "acme.toml:4: `timeout` must be above 0s and at most 1m, got `2m`",
            "acme.toml:5: `events` must name at least one event; without the key all are sent",
            "acme.toml:7: `tags.a` must have at least one value",
            "acme.toml:8: `secrets` are for `kind = \"webhook\"`; a URL is not signed",
            "acme.toml:3: `url` has the unknown macro `{payuot}`; did you mean `payout`?",
            "acme.toml:3: `url` must have its macros after the host, in the path or the query",
        ]
    );
    let faults =
        of("company = 'A'\nkind = 'hook'\nurl = 'https://a.example'\nevents = ['aplied']\n").unwrap_err();
    assert!(
        faults.iter().any(|fault| fault.contains("webhook") && fault.contains("acme.toml:2")),
        "{faults:?}"
    );
    assert!(faults.iter().any(|fault| fault.contains("did you mean `applied`?")), "{faults:?}");
}

#[test]
fn a_secret_is_never_in_the_file_nor_in_a_fault() {
    let told =
        of("company = 'A'\nkind = 'webhook'\nurl = 'https://a.example'\nsecrets = ['whsec_hunter2']\n")
            .unwrap_err();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("must be a table") && !told[0].contains("hunter2"), "{told:?}");
    let (_directory, file) = key_file("short", "whsec_aHVudGVyMg==\n");
    let file = file.display();
    let text = format!(
        "company = 'A'\nkind = 'webhook'\nurl = 'https://a.example'\nsecrets = [{{ file = '{file}' }}]\n"
    );
    let told = of(&text).unwrap_err();
    assert!(told[0].contains("24 to 64 bytes") && !told[0].contains("aHVu"), "{told:?}");
    assert!(of(&format!("{text}paused = true\n")).is_ok(), "what is not used need not be there yet");
}

#[test]
fn a_private_address_is_refused_unless_it_is_allowed() {
    let text = "company = 'A'\nkind = 'url'\nurl = 'http://127.0.0.1:9/?e={eventId}'\n";
    let told = of(text).unwrap_err();
    assert!(told[0].contains("private, local or reserved"), "{told:?}");
    assert!(of(&format!("{text}allow_addresses = ['127.0.0.1']\n")).is_ok());
}

#[test]
fn a_subscription_wants_its_events_of_its_kind_of_leads() {
    let all = url_of("https://a.example/?e={eventType}", "");
    let some = url_of("https://a.example/?e={eventType}", "events = ['applied', 'funded']");
    assert!(all.wants(&event(EventType::OfferClicked)) && !some.wants(&event(EventType::OfferClicked)));
    assert!(some.wants(&event(EventType::Funded)));
    let test = LeadEvent { is_test: Some(true), ..event(EventType::Funded) };
    assert!(!some.wants(&test));
    assert!(url_of("https://a.example/?e={eventType}", "test = true").wants(&test));
}

#[test]
fn what_was_taken_back_is_told_only_where_that_can_be_seen() {
    let back = LeadEvent { event_deleted_at: Some(Timestamp::from(Utc::now())), ..event(EventType::Funded) };
    assert!(!url_of("https://a.example/?e={eventId}", "").wants(&back));
    assert!(url_of("https://a.example/?e={eventId}&gone={eventDeletedAt}", "").wants(&back));
}

#[test]
fn a_lead_has_the_tags_that_are_wanted_and_those_that_the_url_names() {
    let wants = url_of("https://a.example/?e={eventId}", "[tags]\ncampaign = ['a', 'b']");
    assert!(wants.fits(&tags("campaign", &["x", "b"])));
    assert!(!wants.fits(&tags("campaign", &["c"])) && !wants.fits(&ClientTags::default()));
    let names = url_of("https://a.example/?cid={clientTag.clickid}", "");
    assert!(names.fits(&tags("clickid", &["7"])) && !names.fits(&tags("clickid", &[])));
}

fn message_of(subscription: &Subscription, event_type: EventType) -> PostbackMessage {
    let booked = BookedEvent { event: event(event_type), payout_cents: Some(4205.4) };
    let message = PostbackMessage::of(subscription, Uuid::nil(), EventPosition::default(), booked);
    PostbackMessage { id: "m".to_owned(), ..message }
}

/// Whatever the event, and a network may be told a share only.
#[test]
fn a_url_is_told_what_an_event_booked_or_a_share_of_it() {
    let subscription = url_of(
        "https://a.example/?p={payout}&c={payoutInCents}&s={share}&t={shareInCents}",
        "share_percent = 40",
    );
    for event_type in [EventType::OfferClicked, EventType::Funded, EventType::Conversion] {
        let call = subscription.call(&message_of(&subscription, event_type), None).unwrap();
        assert_eq!(call.url, "https://a.example/?p=42.05&c=4205&s=16.82&t=1682");
    }
    let url = |url: &str, more: &str| {
        of(&format!("company = 'A'\nkind = 'url'\nurl = '{url}'\n{more}\n")).unwrap_err().remove(0)
    };
    let told = url("https://a.example/?s={share}", "");
    assert_eq!(told, "acme.toml: `share_percent` must be set where the `url` has `{share}`");
    let told = url("https://a.example/?s={payout}", "share_percent = 40");
    assert_eq!(told, "acme.toml:4: `share_percent` is for a `url` with `{share}` or `{shareInCents}`");
    let told = url("https://a.example/?s={share}", "share_percent = 140");
    assert_eq!(told, "acme.toml:4: `share_percent` must be above 0 and at most 100, got 140");
}

#[test]
fn macros_are_filled_in_and_mean_nothing_else_in_a_url() {
    let subscription = url_of(
        "https://a.example/{eventType}?cid={clientTag.click id}&p={payout}&a={amount}&n={financialInstitutionName}&o={offerUuid}",
        "method = 'POST'",
    );
    let message = message_of(&subscription, EventType::Conversion);
    let call = subscription.call(&message, Some(&tags("click id", &["a&b=c d", "second"]))).unwrap();
    assert_eq!(
        call.url,
        "https://a.example/conversion?cid=a%26b%3Dc%20d&p=42.05&a=12500.50&n=Bank%20%26%20S%C3%B6hne&o="
    );
    assert_eq!((call.method.as_str(), call.body.len()), ("POST", 0));
    assert!(subscription.call(&message, None).is_none(), "a lead without the tag is not told of");
}

#[test]
fn while_keys_are_exchanged_both_sign() {
    let (_one, old) = key_file("old", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
    let (_other, new) = key_file("new", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");
    let subscription = of(&format!(
        "company = 'A'\nkind = 'webhook'\nurl = 'https://a.example/hook'\nsecrets = [{{ file = '{}' }}, {{ file = '{}' }}]\n",
        new.display(),
        old.display()
    ))
    .unwrap();
    let message = message_of(&subscription, EventType::Funded);
    let call = subscription.call(&message, None).unwrap();
    let header = |name: &str| call.headers.get(name).unwrap().to_str().unwrap().to_owned();
    let timestamp: i64 = header("webhook-timestamp").parse().unwrap();
    let key = |text| crate::outbox::SigningKey::parse(text).unwrap().sign("m", timestamp, &call.body);
    let [new, old] =
        ["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"].map(key);
    assert_eq!(header("webhook-signature"), format!("{new} {old}"));
    let body: serde_json::Value = serde_json::from_slice(&call.body).unwrap();
    assert_eq!((&body["type"], &body["data"]["id"]), (&"funded".into(), &"e1".into()));
    assert_eq!(body["data"], serde_json::to_value(&message.event).unwrap(), "as the feed tells it");
}

#[test]
fn the_handbook_lists_every_macro() {
    let text = chapter("operator").unwrap().markdown();
    for (name, _) in MACROS {
        assert!(text.contains(&format!("`{{{name}}}`")), "{name}");
    }
}

/// A receiver that answers every call, and returns the first line of each.
fn receiver() -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let answered =
                (&stream).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            if answered.is_err() || tell.send(first).is_err() {
                return;
            }
        }
    });
    (port, told)
}

fn happened(store: &Store, lead: Uuid) {
    let at = store.now_ms();
    let happening = Happening {
        event_type: EventType::LeadCreated,
        lead,
        lead_created_at: at,
        at,
        institution: None,
        product_type: None,
        amount_in_cents: None,
        test: false,
        cause: None,
        taken_back_at: None,
        details: HappeningDetails::default(),
    };
    let commit =
        Commit::new().append(Tree::LeadEvents, company_uuid("Acme"), codec::encode(&vec![happening]));
    store.commit(commit).now_or_never().unwrap().unwrap();
}

#[test]
fn of_several_processes_the_one_that_leads_sends_and_another_goes_on_when_it_is_gone() {
    let Some(nodes) = TestNodes::new() else { return };
    let (port, told) = receiver();
    let directory = tempfile::tempdir().unwrap();
    let file = format!(
        "company = 'Acme'\nkind = 'url'\nurl = 'http://127.0.0.1:{port}/?lead={{leadUuid}}'\nallow_addresses = ['127.0.0.1']\n"
    );
    std::fs::write(directory.path().join("acme.toml"), file).unwrap();
    let settings = Settings::from_layers(None, []).unwrap().postbacks;
    let subscriptions =
        Subscriptions::load(&PostbackSettings { path: directory.path().to_owned(), ..settings }, None)
            .unwrap();
    let stores = [nodes.first(), nodes.beside("second")];
    let begun = |store| begin(store, &subscriptions).now_or_never().unwrap();
    thread::scope(|scope| {
        let beginning = stores.each_ref().map(|store| scope.spawn(move || begun(store)));
        beginning.into_iter().for_each(|begun| begun.join().unwrap().unwrap());
    });
    let subscription = Arc::clone(&subscriptions.all()[0]);
    let leads = [Uuid::from_u128(1), Uuid::from_u128(2)];
    happened(&stores[1], leads[0]);
    let (_sender, in_force) = watch::channel(Arc::new(subscriptions.clone()));
    let [first, second] = stores
        .each_ref()
        .map(|store| PostbackKeeper::start(store.clone(), in_force.clone(), || Duration::ZERO).unwrap());
    let next = || told.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(next().contains(&leads[0].to_string()));
    // What it has sent is recorded, so the other can show it too.
    let is_sent = |store: &Store| {
        let status = statuses(store, &subscriptions).unwrap().remove(0);
        status.outstanding == 0 && status.last.is_some_and(|last| last.is_good())
    };
    while !is_sent(&stores[1]) {
        thread::yield_now();
    }
    let cursor = PostbackLedger::of(&stores[0], &subscription).cursor().unwrap();
    begun(&stores[1]).unwrap();
    assert_eq!(
        PostbackLedger::of(&stores[1], &subscription).cursor().unwrap(),
        cursor,
        "a start turns nothing back"
    );

    first.stop();
    stores[0].close().unwrap();
    happened(&stores[1], leads[1]);
    TestNodes::lead(&stores[1]);
    assert!(next().contains(&leads[1].to_string()), "each once");
    second.stop();
    assert!(told.try_recv().is_err());
}
