//! Endpoints: each row of the tables, its success and its errors.

use hyper::Method;
use serde_json::json;

use super::schema::{Edition, assert_conforms};
use super::{UNKNOWN, ask, lead_path, uuid_of};
use crate::kit::Daemon;
use crate::kit::partners::{partner, prompt_partners};

/// A request and the status that the current edition and v1 answer with.
type Row = (Method, String, String, u16, u16);

fn row(method: Method, path: &str, body: &str, current: u16, v1: u16) -> Row {
    (method, path.to_owned(), body.to_owned(), current, v1)
}

async fn assert_rows(daemon: &Daemon, rows: Vec<Row>) {
    for (method, path, body, current, v1) in rows {
        for (edition, status) in Edition::BOTH.into_iter().zip([current, v1]) {
            let answer = ask(daemon, edition, method.clone(), &path, &body).await;
            assert_eq!(answer.status, status, "{edition:?}: {method} {path} {body}");
            if status >= 400 {
                assert_conforms(edition, "ApiErrors", &answer.json());
            }
        }
    }
}

async fn daemon() -> Daemon {
    Daemon::with_partners(prompt_partners(1)).start().await
}

#[tokio::test]
async fn post_leads_rate_tables() {
    let daemon = daemon().await;
    let taken = json!({"uuid": UNKNOWN}).to_string();
    assert_eq!(daemon.submit(&taken).await.status, 200);
    let path = "/leads/rateTables";
    let rows = [
        ("{}", 200, 201),
        (r#"{"productTypes":["savings"]}"#, 200, 201),
        ("{", 400, 400),
        ("[]", 400, 400),
        (&taken, 409, 409),
        (r#"{"productTypes":["yacht"]}"#, 422, 400),
        (r#"{"personalInformation":{"dateOfBirth":"yesterday"}}"#, 422, 400),
    ];
    assert_rows(&daemon, rows.map(|(body, current, v1)| row(Method::POST, path, body, current, v1)).into())
        .await;
}

#[tokio::test]
async fn post_blocking_leads_rate_tables_has_the_same_interface() {
    let daemon = daemon().await;
    let taken = json!({"uuid": UNKNOWN}).to_string();
    assert_eq!(daemon.submit_blocking(&taken).await.status, 200);
    for (body, status) in [("{}", 200), ("{", 400), (&taken, 409), (r#"{"uuid":"17"}"#, 422)] {
        let answer = daemon.submit_blocking(body).await;
        assert_eq!(answer.status, status, "{body}");
        let name = if status == 200 { "RateTable" } else { "ApiErrors" };
        assert_conforms(Edition::Current, name, &answer.json());
    }
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    assert_eq!(daemon.request(Method::POST, &url, "", "{}").await.status, 401);
}

#[tokio::test]
async fn get_originator_rate_tables() {
    let daemon = daemon().await;
    let table = daemon.submit("{}").await.json();
    let path = |uuid: &str| format!("/originator/rateTables/{uuid}");
    let lead_uuid = table["leadUuid"].as_str().unwrap();
    let rows = [
        (uuid_of(&table).to_owned(), 200),
        (uuid_of(&table).to_uppercase(), 200),
        ("17".to_owned(), 400),
        (UNKNOWN.to_owned(), 404),
        (lead_uuid.to_owned(), 404),
    ];
    let rows = rows.map(|(uuid, status)| row(Method::GET, &path(&uuid), "", status, status));
    assert_rows(&daemon, rows.into()).await;
}

#[tokio::test]
async fn get_leads() {
    let daemon = daemon().await;
    let table = daemon.submit("{}").await.json();
    let rows = [
        (lead_path(&table), 200),
        ("/leads/17".to_owned(), 400),
        (format!("/leads/{UNKNOWN}"), 404),
        (format!("/leads/{}", uuid_of(&table)), 404),
    ];
    assert_rows(&daemon, rows.map(|(path, status)| row(Method::GET, &path, "", status, status)).into()).await;
}

#[tokio::test]
async fn a_client_polls_by_the_uuid_until_pending_responses_is_empty() {
    let slow = partner("slow").loan(r#"simulate = { delay = "1s" }"#);
    let daemon = Daemon::with_partners(vec![slow]).start().await;
    let lead = r#"{"productTypes":["loan"],"loanInformation":{"loanAmount":5000},
        "creditInformation":{"providedCreditRating":"good"}}"#;
    let first = daemon.submit(lead).await.json();
    assert_ne!(first["pendingResponses"], json!([]));
    assert_ne!(first["pendingOriginators"], json!([]), "what v1 clients key on");
    let last = daemon.complete(uuid_of(&first)).await;
    assert_eq!((&last["uuid"], &last["leadUuid"]), (&first["uuid"], &first["leadUuid"]));
    assert_eq!(last["loanOffers"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_is_carried_forward_in_later_submits() {
    let daemon = daemon().await;
    let session = daemon.post("/uiEvent/sessionInits", "").await.json();
    let lead = json!({"sessionUuid": session["sessionUuid"]}).to_string();
    for _ in 0..2 {
        let table = daemon.submit(&lead).await.json();
        assert_eq!(daemon.get(&lead_path(&table)).await.json()["sessionUuid"], session["sessionUuid"]);
    }
}

#[tokio::test]
async fn get_offer_previews_without_any_parameter() {
    let daemon = Daemon::with_sample_partners().start().await;
    for (path, name) in [
        ("/offerPreview/loanOffers", "LoanOffer"),
        ("/offerPreview/creditCardOffers", "CreditCardOffer"),
        ("/offerPreview/savingsOffers", "SavingsOffer"),
    ] {
        let answer = daemon.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        let offers = answer.json();
        assert_ne!(offers, json!([]), "{path}");
        offers.as_array().unwrap().iter().for_each(|offer| assert_conforms(Edition::Current, name, offer));
    }
}

#[tokio::test]
async fn get_supply_analytics_feeds() {
    let daemon = daemon().await;
    for feed in ["leadEvents", "leadPayouts", "leadClientTags"] {
        for (query, status) in [
            ("?timestamp=2024-01-01T00:00:00Z", 200),
            ("", 422),
            ("?timestamp=", 422),
            ("?timestamp=2999-01-01T00:00:00Z", 422),
        ] {
            let answer = daemon.get(&format!("/supplyAnalytics/{feed}{query}")).await;
            assert_eq!(answer.status, status, "{feed}{query}");
            if status == 422 {
                assert_conforms(Edition::Current, "ApiErrors", &answer.json());
                assert_eq!(answer.attributes(), ["timestamp"]);
            }
        }
    }
}

#[tokio::test]
async fn post_ui_events() {
    let daemon = daemon().await;
    let table = daemon.submit_blocking("{}").await.json();
    let shown = json!({
        "leadUuid": table["leadUuid"], "rateTableUuid": table["uuid"],
        "offerUuid": table["savingsOffers"][0]["uuid"],
    });
    let shown = shown.to_string();
    let unknown = shown.replace(uuid_of(&table), UNKNOWN);
    let (sessions, displays) = ("/uiEvent/sessionInits", "/uiEvent/offerDisplays");
    let rows = [
        (sessions, "", 201),
        (sessions, "{}", 201),
        (sessions, r#"{"sessionUuid":"0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77"}"#, 201),
        (sessions, r#"{"sessionUuid":"17"}"#, 400),
        (sessions, "{", 400),
        (displays, &shown, 201),
        (displays, &unknown, 400),
        (displays, "{}", 400),
        (displays, "", 400),
    ];
    let rows = rows.map(|(path, body, status)| row(Method::POST, path, body, status, status));
    assert_rows(&daemon, rows.into()).await;
}

#[tokio::test]
async fn get_ui_utilities() {
    let daemon = daemon().await;
    let rows = [
        ("/leads/universities?limit=10", 200),
        ("/leads/universities?name=state&offset=5&limit=10", 200),
        ("/leads/universities", 422),
        ("/uiUtil/featuredFinancialInstitutions", 200),
    ];
    assert_rows(&daemon, rows.map(|(path, status)| row(Method::GET, path, "", status, status)).into()).await;
}

#[tokio::test]
async fn university_names_are_the_values_to_use_in_a_lead() {
    let daemon = Daemon::with_sample_partners().start().await;
    let names = daemon.get("/leads/universities?limit=5&name=washington").await.json();
    for name in names.as_array().unwrap() {
        let lead = json!({"educationInformation": {"universityAttended": name}}).to_string();
        let table = daemon.submit(lead).await.json();
        let lead = daemon.get(&lead_path(&table)).await.json();
        assert_eq!(lead["educationInformation"]["universityAttended"], *name);
    }
}
