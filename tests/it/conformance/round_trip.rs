//! Every answer of every endpoint, in both editions, for every sample lead and for made-up ones.

use futures_util::future::join_all;
use hyper::Method;
use serde_json::{Value, json};

use super::places::{Place, places};
use super::schema::{Edition, assert_conforms, faults};
use super::{OFFERS, ask, generated, lead_path, uuid_of};
use crate::kit::{Daemon, sample};

/// The names of the sample leads.
fn samples() -> Vec<String> {
    let directory = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/leads")).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()
    };
    directory.map(name).collect()
}

#[tokio::test]
async fn sample_leads_make_tables_that_conform_from_the_first_answer_to_the_last() {
    let daemon = Daemon::with_sample_partners().start().await;
    let names = samples();
    let tables = join_all(names.iter().map(|name| watched(&daemon, name))).await;

    let (pending, complete): (Vec<Value>, Vec<Value>) = tables.into_iter().unzip();
    let somebody = |array: &str| pending.iter().any(|table| table[array] != json!([]));
    assert!(somebody("pendingResponses") && somebody("pendingOriginators"), "nobody was pending");
    for array in OFFERS {
        assert!(complete.iter().any(|table| table[array] != json!([])), "no lead had {array}");
    }
}

/// A sample's first table and its last, both held against both editions.
async fn watched(daemon: &Daemon, name: &str) -> (Value, Value) {
    let submitted = daemon.submit(sample(name)).await;
    assert_eq!(submitted.status, 200, "{name}");
    let first = submitted.json();
    assert_conforms(Edition::Current, "RateTable", &first);
    let path = format!("/originator/rateTables/{}", uuid_of(&first));
    for edition in Edition::BOTH {
        let polled = ask(daemon, edition, Method::GET, &path, "").await;
        assert_conforms(edition, "RateTable", &polled.json());
    }
    let last = daemon.complete(uuid_of(&first)).await;
    for edition in Edition::BOTH {
        let polled = ask(daemon, edition, Method::GET, &path, "").await.json();
        assert_conforms(edition, "RateTable", &polled);
        assert_eq!((&polled["pendingResponses"], &polled["pendingOriginators"]), (&json!([]), &json!([])));
        let lead = ask(daemon, edition, Method::GET, &lead_path(&last), "").await;
        assert_conforms(edition, "Lead", &lead.json());
    }
    (first, last)
}

#[tokio::test]
async fn what_v1_clients_send_is_answered_in_v1() {
    let daemon = Daemon::with_sample_partners().start().await;
    let names = samples();
    let answers = names.iter().map(|name| async {
        let answer = ask(&daemon, Edition::V1, Method::POST, "/leads/rateTables", &sample(name)).await;
        let shape = if answer.status == 201 { "RateTable" } else { "ApiErrors" };
        assert_conforms(Edition::V1, shape, &answer.json());
        answer.status
    });
    let mut statuses = join_all(answers).await;
    statuses.sort_unstable();
    statuses.dedup();
    assert_eq!(statuses, [201, 400], "some samples have values that v1 lacks");
}

#[tokio::test]
async fn blocking_answers_conform_and_are_complete() {
    let daemon = Daemon::with_sample_partners().setting("matching.deadline", "2s").start().await;
    for edition in Edition::BOTH {
        let lead = r#"{"productTypes":["savings","credit_card"],"personalInformation":{"zipcode":"94105"}}"#;
        let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
        let accept = [("accept", edition.accept())];
        let answer = daemon.request_with(Method::POST, &url, &daemon.publishable, &accept, lead).await;
        assert_conforms(edition, "RateTable", &answer.json());
        assert_eq!(answer.json()["pendingResponses"], json!([]));
    }
}

#[tokio::test]
async fn any_lead_of_the_schema_is_taken_and_comes_back_as_it_was_sent() {
    for edition in Edition::BOTH {
        let daemon = Daemon::with_sample_partners().setting("matching.deadline", "2s").start().await;
        for sent in generated::leads(edition, 40) {
            assert_conforms(edition, "LeadCreateData", &sent);
            let answer = ask(&daemon, edition, Method::POST, "/leads/rateTables", &sent.to_string()).await;
            assert!([200, 201].contains(&answer.status), "{sent}: {answer:?}");
            let table = answer.json();
            assert_conforms(edition, "RateTable", &table);
            let lead = ask(&daemon, edition, Method::GET, &lead_path(&table), "").await.json();
            assert_conforms(edition, "Lead", &lead);
            for (field, value) in sent.as_object().unwrap() {
                // The output lead has neither.
                if !["productTypes", "formCompleted"].contains(&field.as_str()) {
                    assert_eq!(&lead[field], value, "{field}");
                }
            }
        }
    }
}

#[tokio::test]
async fn extreme_values_anywhere_are_answered_in_shape() {
    let daemon = Daemon::with_sample_partners().setting("matching.deadline", "2s").start().await;
    let everything: Value = serde_json::from_str(&sample("everything")).unwrap();
    let extremes = |place: &Place| match (place.target()["type"].as_str(), place.target()["format"].as_str())
    {
        (Some("integer"), _) => {
            vec![place.target()["minimum"].clone(), json!(-1), json!(0), place.target()["maximum"].clone()]
        }
        (Some("number"), _) => vec![json!(-1e308), json!(-0.0), json!(5e-324), json!(1e308)],
        (_, Some("date")) => ["0001-01-01", "1900-02-28", "2024-02-29", "9999-12-31"].map(Value::from).into(),
        _ => vec![],
    };
    let mut together = [0, 1, 2, 3].map(|_| everything.clone());
    let places = places(Edition::Current);
    let leads = places.iter().flat_map(|place| {
        let values = extremes(place);
        for (lead, value) in together.iter_mut().zip(&values) {
            place.put(lead, value.clone());
        }
        let with = |value| {
            let mut lead = everything.clone();
            place.put(&mut lead, value);
            lead
        };
        values.into_iter().map(with).collect::<Vec<_>>()
    });
    let mut leads: Vec<Value> = leads.collect();
    assert!(leads.len() > 150, "{}", leads.len());
    leads.extend(together);
    for lead in leads {
        let answer = daemon.submit(lead.to_string()).await;
        if !faults(Edition::Current, "LeadCreateData", &lead).is_empty() {
            assert_eq!(answer.status, 422, "{lead}: {answer:?}");
            assert_conforms(Edition::Current, "ApiErrors", &answer.json());
            continue;
        }
        assert_eq!(answer.status, 200, "{lead}: {answer:?}");
        assert_conforms(Edition::Current, "RateTable", &answer.json());
        let back = daemon.get(&lead_path(&answer.json())).await.json();
        assert_conforms(Edition::Current, "Lead", &back);
    }
}

#[tokio::test]
async fn clicks_make_actions_that_conform() {
    let daemon = Daemon::with_sample_partners().start().await;
    let table = daemon.submit(sample("everything")).await.json();
    let table = daemon.complete(uuid_of(&table)).await;
    for array in OFFERS {
        let url = table[array][0]["url"].as_str().unwrap();
        assert_eq!(daemon.request(Method::GET, url, "", "").await.status, 302, "{array}");
    }
    for edition in Edition::BOTH {
        let lead = ask(&daemon, edition, Method::GET, &lead_path(&table), "").await.json();
        assert_conforms(edition, "Lead", &lead);
        let actions = lead["leadActions"].as_array().unwrap();
        let clicked = |action: &&Value| action["actionType"].as_str().unwrap().starts_with("clicked_");
        assert_eq!(actions.iter().filter(clicked).count(), OFFERS.len());
    }
}

#[tokio::test]
async fn previews_ui_events_and_look_ups_conform() {
    let daemon = Daemon::with_sample_partners().start().await;
    for (path, offer) in [
        ("/offerPreview/loanOffers?zipCode=94105", "LoanOffer"),
        ("/offerPreview/creditCardOffers", "CreditCardOffer"),
        ("/offerPreview/savingsOffers?minDepositAmount=1000", "SavingsOffer"),
    ] {
        let offers = daemon.get(path).await.json();
        assert_ne!(offers, json!([]), "{path}");
        offers.as_array().unwrap().iter().for_each(|found| assert_conforms(Edition::Current, offer, found));
    }
    let table = daemon.submit_blocking(sample("savings")).await.json();
    let shown = json!({
        "leadUuid": table["leadUuid"], "rateTableUuid": table["uuid"],
        "offerUuid": table["savingsOffers"][0]["uuid"],
    });
    for edition in Edition::BOTH {
        for (method, path, body, name) in [
            (Method::POST, "/uiEvent/sessionInits", String::new(), "SessionInit"),
            (Method::POST, "/uiEvent/offerDisplays", shown.to_string(), "OfferDisplay"),
            (Method::GET, "/leads/universities?limit=100", String::new(), "UniversityNames"),
            (
                Method::GET,
                "/uiUtil/featuredFinancialInstitutions",
                String::new(),
                "FeaturedFinancialInstitutions",
            ),
        ] {
            let answer = ask(&daemon, edition, method, path, &body).await;
            assert!([200, 201].contains(&answer.status), "{path}");
            assert_conforms(edition, name, &answer.json());
            assert_ne!(answer.json(), json!([]), "{path}");
        }
    }
}

#[tokio::test]
async fn feed_pages_conform() {
    let daemon = Daemon::with_sample_partners().start().await;
    for (feed, name) in [
        ("leadEvents", "LeadEventResponse"),
        ("leadPayouts", "LeadPayoutResponse"),
        ("leadClientTags", "LeadClientTagsResponse"),
    ] {
        let page = daemon.get(&format!("/supplyAnalytics/{feed}?timestamp=2020-08-01T00:00:00Z")).await;
        assert_eq!(page.status, 200, "{feed}");
        assert_conforms(Edition::Current, name, &page.json());
    }
}
