//! `GET /leads/{uuid}`, duplicates, and access to leads.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Daemon, sample};

async fn daemon() -> Daemon {
    Daemon::with_partners(vec![partner("lender").loan(""), partner("bank").savings("")]).start().await
}

#[tokio::test]
async fn a_lead_comes_back_as_it_was_sent() {
    let daemon = daemon().await;
    let sent: Value = serde_json::from_str(&sample("personal_loan")).unwrap();
    let table = daemon.submit(sent.to_string()).await.json();
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await;
    assert_eq!(lead.status, 200);
    let lead = lead.json();
    for (section, value) in sent.as_object().unwrap() {
        if section != "productTypes" && section != "formCompleted" {
            assert_eq!(&lead[section], value, "{section}");
        }
    }
    assert_eq!(lead["uuid"], table["leadUuid"]);
    assert_eq!(lead["leadProviderName"], "Sandbox");
    assert_eq!(lead["isTest"], true);
    assert_eq!(lead["status"], "api_approved");
    assert_eq!(lead["leadActions"][0]["actionType"], "api_approved");
    assert_eq!(lead["leadActions"][0]["originatorKey"], "lender");
    assert!(lead["companyUUID"].is_string());
    assert!(lead["createdAt"].as_str().unwrap().ends_with('Z'));
    assert!(lead.get("productTypes").is_none() && lead.get("formCompleted").is_none());
}

#[tokio::test]
async fn a_lead_that_nobody_decided_on_is_initialized() {
    let daemon = daemon().await;
    let table = daemon.submit(r#"{"productTypes":["mortgage"]}"#).await.json();
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    assert_eq!((&lead["status"], &lead["leadActions"]), (&json!("initialized"), &json!([])));
}

#[tokio::test]
async fn reading_a_lead_takes_a_confidential_token() {
    let daemon = daemon().await;
    let table = daemon.submit("{}").await.json();
    let url = format!("{}/leads/{}", daemon.api, table["leadUuid"].as_str().unwrap());
    assert_eq!(daemon.request(Method::GET, &url, &daemon.publishable, "").await.status, 401);
    assert_eq!(daemon.request(Method::GET, &url, &daemon.confidential, "").await.status, 200);
    let missing = daemon.request(Method::GET, &url, "", "").await;
    assert_eq!(missing.status, 401);
    assert_eq!(missing.json()[0]["message"], "Access token is missing");
}

#[tokio::test]
async fn another_companys_records_are_unknown() {
    let daemon = daemon().await;
    let table = daemon.submit("{}").await.json();
    let output = daemon.command(&["token", "create", "--company", "Other", "--kind", "confidential"]);
    let other = String::from_utf8(output.stdout).unwrap().trim().to_owned();

    for path in [
        format!("/leads/{}", table["leadUuid"].as_str().unwrap()),
        format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap()),
    ] {
        let own = daemon.get(&path).await;
        assert_eq!(own.status, 200);
        let theirs = daemon.request(Method::GET, &format!("{}{path}", daemon.api), &other, "").await;
        assert_eq!(theirs.status, 404);
        assert_eq!(theirs.json()[0]["type"], "invalidUuidReference");
    }
}

#[tokio::test]
async fn a_lead_uuid_is_taken_once_whoever_took_it() {
    let daemon = daemon().await;
    let uuid = "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77";
    let lead = json!({ "uuid": uuid }).to_string();
    let table = daemon.submit(&lead).await;
    assert_eq!(table.json()["leadUuid"], uuid);
    let again = daemon.submit(&lead).await;
    assert_eq!(again.status, 409);
    let error = &again.json()[0];
    assert_eq!(error["message"], format!("Lead {uuid} exists already, or was erased"));
    assert_eq!(error["type"], "duplicate");

    let output = daemon.command(&["token", "create", "--company", "Other", "--kind", "publishable"]);
    let other = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let url = format!("{}/leads/rateTables", daemon.api);
    assert_eq!(daemon.request(Method::POST, &url, &other, &lead).await.status, 409);
}

#[tokio::test]
async fn of_many_submits_of_one_uuid_at_once_one_wins() {
    let daemon = daemon().await;
    let lead = json!({ "uuid": "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b78" }).to_string();
    let answers = futures_util::future::join_all((0..16).map(|_| daemon.submit(&lead))).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses[0], 200);
    assert!(statuses[1..].iter().all(|status| *status == 409), "{statuses:?}");
}

#[tokio::test]
async fn the_same_person_is_a_duplicate_within_the_companys_look_back() {
    let daemon = daemon().await;
    let arguments =
        ["token", "create", "--company", "Careful", "--kind", "publishable", "--duplicate-look-back", "60"];
    let token = String::from_utf8(daemon.command(&arguments).stdout).unwrap().trim().to_owned();
    let url = format!("{}/leads/rateTables", daemon.api);
    let post = |lead: String| {
        let (daemon, token, url) = (&daemon, token.clone(), url.clone());
        async move { daemon.request(Method::POST, &url, &token, &lead).await }
    };

    let first = post(sample("personal_loan")).await;
    assert_eq!(first.status, 200);
    let again = post(sample("personal_loan")).await;
    assert_eq!(again.status, 409);
    let lead = first.json()["leadUuid"].as_str().unwrap().to_owned();
    assert_eq!(again.json()[0]["message"], format!("Lead {lead} exists already, or was erased"));

    let mut other_products: Value = serde_json::from_str(&sample("personal_loan")).unwrap();
    other_products["productTypes"] = json!(["savings"]);
    assert_eq!(post(other_products.to_string()).await.status, 200);
    assert_eq!(post("{}".to_owned()).await.status, 200);
    assert_eq!(post("{}".to_owned()).await.status, 200, "a lead without identity is never a duplicate");
    assert_eq!(
        daemon.submit(sample("personal_loan")).await.status,
        200,
        "another company looks back for itself"
    );
}

/// What clients of newer versions send: everything is kept, and comes back as it was sent.
#[tokio::test]
async fn what_newer_clients_send_comes_back() {
    let daemon = Daemon::with_partners(Vec::new()).start().await;
    let sent = json!({
        "legalInformation": {
            "consentsToFcra": true, "fcraLanguage": "My report may be read.",
            "batchConsentVersion": "v2", "batchConsentLanguage": "All partners may know."
        },
        "financialInformation": {"hasDirectDeposit": true, "totalUnsecuredDebt": 14_200},
        "educationInformation": {
            "universityOpeId": "00115400", "graduateUniversityOpeId": "001154A1", "undergraduateUniversityOpeId": "00115402"
        },
        "savingsInformation": {"minDepositAmount": 1000, "maxDepositAmount": 40_000},
        "sessionInformation": {"browserFingerprint": "fp-4711"},
        "mortgageInformation": {
            "includeFhaLoans": true, "includeVaLoans": false, "mortechCreditRating": "Poor (Under 580)",
            "requestedLoanTerms": ["ten_year_fixed", "seven_year_intro_30_year_adjustable"]
        },
        "autoInsuranceInformation": {
            "numberOfVehicles": 2, "hasAutoInsurance": true, "policyEffectiveDate": "2027-01-01",
            "priorCarrierInformation": {"name": "Alder Mutual", "since": {"year": 2021}},
            "coverageInformation": {"liability": [100, 300.5, null]}, "garageInformation": {},
            "vehiclesInformation": [{"make": "Aldine"}, {"year": 2014}], "driversInformation": [{"firstName": ""}]
        },
    });
    let table = daemon.submit(sent.to_string()).await.json();
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    for (section, fields) in sent.as_object().unwrap() {
        assert_eq!(&lead[section], fields, "{section}");
    }

    let wrong = json!({
        "legalInformation": {"batchConsentVersion": "v3"},
        "educationInformation": {"universityOpeId": "1154"},
        "autoInsuranceInformation": {"coverageInformation": "all", "driversInformation": [{}, "Jane"]},
    });
    let attributes = [
        "legalInformation.batchConsentVersion",
        "educationInformation.universityOpeId",
        "autoInsuranceInformation.coverageInformation",
        "autoInsuranceInformation.driversInformation[1]",
    ];
    assert_eq!(daemon.submit(wrong.to_string()).await.attributes(), attributes);
}
