//! Events. Nothing here is an hour old, so what a daemon has recorded is read as its feeds will tell it two hours later.

use std::collections::BTreeSet;

use hyper::Method;
use offerd::analytics::{ClientTagFeed, Events, Feed, Payouts};
use offerd::store::entities::PayoutRecord;
use offerd::store::{Commit, Tree, codec};
use serde::Serialize;
use serde_json::{Value, json};

use super::lead_path;
use super::schema::{Edition, assert_conforms};
use crate::kit::partners::partner;
use crate::kit::{Daemon, Stopped, sample};

/// The feed of a company from its beginning, as it will be in two hours.
fn feed<F: Feed<Record: Serialize>>(stopped: &Stopped, company: &Value) -> Value {
    serde_json::to_value(stopped.feed_in_two_hours::<F>(company.as_str().unwrap())).unwrap()
}

#[tokio::test]
async fn lead_events_tell_what_happened_with_the_institution_and_the_product() {
    let daemon = Daemon::with_sample_partners().start().await;
    let table = daemon.submit_blocking(sample("everything")).await.json();
    let url = table["savingsOffers"][0]["url"].as_str().unwrap();
    assert_eq!(daemon.request(Method::GET, url, "", "").await.status, 302);
    let lead = daemon.get(&lead_path(&table)).await.json();
    let (_, stopped) = daemon.terminate();

    let page = feed::<Events>(&stopped, &lead["companyUUID"]);
    assert_conforms(Edition::Current, "LeadEventResponse", &page);
    let events = page["data"].as_array().unwrap();
    let of_lead =
        |event: &Value| event["leadUuid"] == lead["uuid"] && event["leadCreatedAt"] == lead["createdAt"];
    assert!(events.iter().all(of_lead));
    let count = |kind: &str| events.iter().filter(|event| event["eventType"] == kind).count();
    assert_eq!((count("leadCreated"), count("appSubmitted"), count("offerClicked")), (1, 1, 1));
    assert!(count("apiApproved") > 0 && count("apiRejected") > 0);

    for event in events {
        let tied = !["leadCreated", "appSubmitted"].contains(&event["eventType"].as_str().unwrap());
        for field in ["financialInstitutionUuid", "financialInstitutionName", "productType"] {
            assert_eq!(event.get(field).is_some(), tied, "{event}");
        }
    }
    let ids: BTreeSet<&str> = events.iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), events.len(), "an id is unique per event");
}

#[tokio::test]
async fn client_tags_have_one_record_for_each_key_and_value() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let tags = json!({"campaign": ["autumn", "mail"], "none": [], "page": ["7"]});
    let table = daemon.submit(json!({"clientTags": tags}).to_string()).await.json();
    let lead = daemon.get(&lead_path(&table)).await.json();
    let (_, stopped) = daemon.terminate();

    let page = feed::<ClientTagFeed>(&stopped, &lead["companyUUID"]);
    assert_conforms(Edition::Current, "LeadClientTagsResponse", &page);
    assert_eq!(page["shouldContinuePolling"], false);
    let tags = page["data"].as_array().unwrap();
    let pairs: Vec<_> =
        tags.iter().map(|tag| (tag["key"].as_str().unwrap(), tag["value"].as_str().unwrap())).collect();
    assert_eq!(pairs, [("campaign", "autumn"), ("campaign", "mail"), ("page", "7")]);
    let hashes: BTreeSet<&str> = tags.iter().map(|tag| tag["hash"].as_str().unwrap()).collect();
    assert_eq!(hashes.len(), tags.len());
    assert!(tags.iter().all(|tag| tag["leadUuid"] == lead["uuid"]));
}

#[tokio::test]
async fn payouts_tell_the_amount_and_when_it_was_booked_in_the_order_of_arrival() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let table = daemon.submit("{}").await.json();
    let lead = daemon.get(&lead_path(&table)).await.json();
    let (_, stopped) = daemon.terminate();
    let uuid = |name: &str| lead[name].as_str().unwrap().parse().unwrap();

    // As reports of partners leave them: the later booking arrives first, a payout may be fractional, or be taken back.
    let booked = [(1_790_000_200_000, 1250.0), (1_790_000_100_000, 12.5), (1_790_000_300_000, -1250.0)];
    let store = stopped.plan.open_store();
    for (booked_at_ms, cents) in booked {
        let payout = PayoutRecord {
            uuid: offerd::ids::timed(),
            lead: uuid("uuid"),
            booked_at_ms,
            cents,
            ..PayoutRecord::default()
        };
        let booked =
            Commit::new().append(Tree::LeadPayouts, uuid("companyUUID"), codec::encode(&vec![payout]));
        store.commit(booked).await.unwrap();
    }
    drop(store);

    let page = feed::<Payouts>(&stopped, &lead["companyUUID"]);
    assert_conforms(Edition::Current, "LeadPayoutResponse", &page);
    let payouts = page["data"].as_array().unwrap();
    let told: Vec<_> =
        payouts.iter().map(|it| (&it["bookedAt"], it["payoutInCents"].as_f64().unwrap())).collect();
    assert_eq!(
        told,
        [
            (&json!("2026-09-21T14:16:40.000Z"), 1250.0),
            (&json!("2026-09-21T14:15:00.000Z"), 12.5),
            (&json!("2026-09-21T14:18:20.000Z"), -1250.0),
        ]
    );
    assert!(payouts.iter().all(|payout| payout["leadUuid"] == lead["uuid"]));
}

#[tokio::test]
async fn a_company_sees_only_events_of_its_own() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let made = daemon.command(&["token", "create", "--company", "Other", "--kind", "confidential"]);
    let other = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let own = daemon.submit("{}").await.json();
    let url = format!("{}/leads/rateTables", daemon.api);
    let theirs = daemon.request(Method::POST, &url, &other, "{}").await.json();
    let own = daemon.get(&lead_path(&own)).await.json();
    let url = format!("{}{}", daemon.api, lead_path(&theirs));
    let theirs = daemon.request(Method::GET, &url, &other, "").await.json();
    let (_, stopped) = daemon.terminate();
    for lead in [own, theirs] {
        let page = feed::<Events>(&stopped, &lead["companyUUID"]);
        let leads: BTreeSet<&str> = page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["leadUuid"].as_str().unwrap())
            .collect();
        assert_eq!(leads, [lead["uuid"].as_str().unwrap()].into());
    }
}
