//! What is not as specified, and read as meant as far as a request is lenient.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Answer, Daemon};

const LENIENT: (&str, &str) = ("prefer", "handling=lenient");
const STRICT: (&str, &str) = ("prefer", "handling=strict");
const V1: (&str, &str) = ("accept", "application/vnd.acme.v1+json");

async fn daemon() -> Daemon {
    Daemon::with_partners(prompt_partners(1)).start().await
}

async fn submit(daemon: &Daemon, headers: &[(&str, &str)], lead: &Value) -> Answer {
    let url = format!("{}/leads/rateTables", daemon.api);
    daemon.request_with(Method::POST, &url, &daemon.confidential, headers, lead.to_string()).await
}

fn read_as_meant(answer: &Answer) -> (Option<&str>, Option<&str>) {
    (answer.header("changed-values"), answer.header("preference-applied"))
}

/// What the form clients of the wild send.
fn of_a_form() -> Value {
    json!({
        "productTypes": ["Loan"],
        "personalInformation": {"state": "wa", "zipcode": 2134, "primaryPhone": 2065550142_i64, "ssn": 536228761},
        "creditInformation": {"providedCreditRating": "Good"},
        "financialInformation": {"employmentStatus": "Not Employed"},
    })
}

#[tokio::test]
async fn a_lenient_request_is_read_as_meant_and_its_answer_counts_what_was_not_as_specified() {
    let daemon = daemon().await;
    let taken = submit(&daemon, &[LENIENT], &of_a_form()).await;
    assert_eq!((taken.status, read_as_meant(&taken)), (200, (Some("7"), Some("handling=lenient"))));
    let lead = daemon.get(&format!("/leads/{}", taken.json()["leadUuid"].as_str().unwrap())).await.json();
    let person =
        json!({"state": "WA", "zipcode": "02134", "primaryPhone": "2065550142", "ssn": "536-22-8761"});
    assert_eq!(lead["personalInformation"], person);
    assert_eq!(lead["financialInformation"]["employmentStatus"], "not_employed");

    let v1 = json!({"productTypes": ["LOAN"], "loanInformation": {"purpose": "Auto"},
        "creditCardInformation": {"cardBenefits": ["Improve Credit"]}, "personalInformation": {"state": "wa"}});
    let taken = submit(&daemon, &[LENIENT, V1], &v1).await;
    assert_eq!((taken.status, read_as_meant(&taken).0), (201, Some("4")));

    for (headers, status) in [(&[][..], 422), (&[STRICT], 422), (&[V1], 400)] {
        let refused = submit(&daemon, headers, &of_a_form()).await;
        assert_eq!((refused.status, refused.attributes().len()), (status, 7), "{headers:?}");
        assert_eq!(read_as_meant(&refused).0, None);
    }
}

#[tokio::test]
async fn a_fault_of_a_value_tells_which_one_was_meant() {
    let daemon = daemon().await;
    let lead = json!({"creditInformation": {"providedCreditRating": "Good"}});
    let allowed = "excellent,good,fair,poor,limited,unknown";
    for (headers, status) in [(&[][..], 422), (&[V1], 400)] {
        let refused = submit(&daemon, headers, &lead).await;
        let error = refused.json()[0].clone();
        assert_eq!((refused.status, &error["type"]), (status, &json!("malformed")));
        assert!(error["message"].as_str().unwrap().ends_with("; did you mean `good`?"), "{error}");
        let details = json!({"fault": "enumeration", "allowed": allowed, "likely": "good"});
        assert_eq!(error["details"], details);
    }
    let preview = daemon.get("/offerPreview/loanOffers?providedCreditRating=Good").await;
    assert_eq!((preview.status, &preview.json()[0]["details"]["likely"]), (422, &json!("good")));
}

#[tokio::test]
async fn a_lenient_query_is_read_alike() {
    let daemon = daemon().await;
    let preview = async |query: &str, headers: &[(&str, &str)]| {
        let url = format!("{}/offerPreview/{query}", daemon.api);
        daemon.request_with(Method::GET, &url, &daemon.publishable, headers, "").await
    };
    let (loans, cards) = (
        "loanOffers?loanPurpose=Debt%20Consolidation&zipCode=%2098101",
        "creditCardOffers?cardPurposes=Improve+Credit",
    );
    for (query, changed) in [(loans, "2"), (cards, "1")] {
        let taken = preview(query, &[LENIENT]).await;
        assert_eq!(
            (taken.status, read_as_meant(&taken)),
            (200, (Some(changed), Some("handling=lenient"))),
            "{query}"
        );
        assert_eq!(preview(query, &[LENIENT, V1]).await.status, 200, "{query}");
        assert_eq!(preview(query, &[]).await.attributes().len(), 1, "{query}");
    }
    assert_eq!(preview(loans, &[STRICT]).await.attributes(), ["loanPurpose", "zipCode"]);
}

#[tokio::test]
async fn blanks_and_midnights_are_left_out_unless_the_request_is_strict() {
    let daemon = daemon().await;
    let lead = json!({"personalInformation": {
        "email": " ottoline@quillfeather.example", "zipcode": "98101 ", "ssn": " 536-22-8761",
        "dateOfBirth": "1993-10-09T00:00:00.000Z",
    }});
    for (headers, status) in [(&[][..], 200), (&[V1], 201)] {
        let taken = submit(&daemon, headers, &lead).await;
        assert_eq!((taken.status, read_as_meant(&taken)), (status, (Some("4"), None)));
    }
    let refused = submit(&daemon, &[STRICT], &lead).await;
    let mut attributes = refused.attributes();
    attributes.sort();
    let wanted = ["dateOfBirth", "email", "ssn", "zipcode"].map(|name| format!("personalInformation.{name}"));
    assert_eq!((refused.status, attributes), (422, wanted.to_vec()));
    assert_eq!(read_as_meant(&refused), (None, Some("handling=strict")));
}

#[tokio::test]
async fn a_name_has_no_control_characters_and_one_of_blanks_is_none() {
    let daemon = daemon().await;
    let named = |name: &str| json!({"personalInformation": {"firstName": name}});
    let refused = submit(&daemon, &[], &named("Otto\nline")).await;
    assert_eq!(
        (refused.status, refused.attributes()),
        (422, vec!["personalInformation.firstName".to_owned()])
    );
    let taken = submit(&daemon, &[], &named(" \u{2800}\u{200b}")).await;
    let lead = daemon.get(&format!("/leads/{}", taken.json()["leadUuid"].as_str().unwrap())).await.json();
    assert_eq!(lead["personalInformation"], json!({}));
}

#[tokio::test]
async fn the_requests_of_a_company_that_the_setting_names_are_lenient_where_they_do_not_say_otherwise() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let daemon = plan.setting("api.lenient_companies", "Live").start().await;
    assert_eq!(submit(&daemon, &[], &of_a_form()).await.status, 422, "another company");
    let live = daemon.with_live_company();
    let taken = submit(&live, &[], &of_a_form()).await;
    assert_eq!((taken.status, read_as_meant(&taken)), (200, (Some("7"), None)));
    assert_eq!(submit(&live, &[STRICT], &of_a_form()).await.status, 422);
}

#[tokio::test]
async fn a_fault_tells_programs_what_is_wrong() {
    let daemon = daemon().await;
    let lead = json!({
        "loanInformation": {"loanAmount": "lots"},
        "creditInformation": {"providedNumericCreditScore": 200},
        "personalInformation": {"email": "nobody", "addressMoveInDate": "1/2/2020"},
    });
    let refused = submit(&daemon, &[], &lead).await;
    let found = refused.json();
    let details = |attribute: &str| {
        let errors = found.as_array().unwrap();
        errors.iter().find(|error| error["attribute"] == attribute).unwrap()["details"].clone()
    };
    assert_eq!(details("loanInformation.loanAmount"), json!({"fault": "kind", "found": "string"}));
    let score = json!({"fault": "range", "min": "300", "max": "850"});
    assert_eq!(details("creditInformation.providedNumericCreditScore"), score);
    assert_eq!(details("personalInformation.email"), json!({"fault": "format"}));
    assert_eq!(details("personalInformation.addressMoveInDate"), json!({"fault": "date"}));
    let limit = daemon.get("/leads/universities?limit=0").await.json()[0]["details"].clone();
    assert_eq!(limit, json!({"fault": "range", "min": "1", "max": "100"}));
}
