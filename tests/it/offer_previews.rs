//! Offer previews: what anyone may see.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::Daemon;
use crate::kit::partners::{partner, prompt_partners};

#[tokio::test]
async fn a_loan_is_previewed_as_a_range_and_never_personally() {
    let daemon = Daemon::with_partners(vec![partner("lender").loan("")]).start().await;
    for query in ["", "?loanAmount=10000&providedCreditRating=good&loanPurpose=wedding&unknown=1"] {
        let answer = daemon.get(&format!("/offerPreview/loanOffers{query}")).await;
        assert_eq!(answer.status, 200, "{query}");
        let offers = answer.json();
        assert_eq!(offers.as_array().unwrap().len(), 1, "{query}: {offers}");
        let offer = &offers[0];
        assert_eq!((&offer["preQualified"], &offer["preApproved"]), (&json!(false), &json!(false)));
        let url = format!("{}/click/{}", daemon.api, offer["uuid"].as_str().unwrap());
        assert_eq!(offer["url"], url, "a click on a preview is counted");
    }
    let beyond = daemon.get("/offerPreview/loanOffers?loanAmount=60000").await;
    assert_eq!(beyond.json(), json!([]), "what is given counts");
}

#[tokio::test]
async fn a_savings_preview_knows_the_deposit() {
    let dear = partner("dear").savings("").text().replace("minimum_deposit = 0", "minimum_deposit = 500.5");
    let plan = Daemon::with_partners(vec![partner("free").savings("")]);
    std::fs::write(plan.partners().join("dear.toml"), dear).unwrap();
    let daemon = plan.start().await;
    for (query, offers) in [
        ("", 2),
        ("?maxDepositAmount=0", 1),
        ("?maxDepositAmount=500", 1),
        ("?maxDepositAmount=501", 2),
        ("?maxDepositAmount=9223372036854775807", 2),
        ("?minDepositAmount=0", 1),
        ("?minDepositAmount=501", 2),
        ("?maxDepositAmount=0&minDepositAmount=5000", 1),
    ] {
        let answer = daemon.get(&format!("/offerPreview/savingsOffers{query}")).await;
        assert_eq!((answer.status, answer.json().as_array().unwrap().len()), (200, offers), "{query}");
    }
}

#[tokio::test]
async fn every_bad_parameter_is_named_in_one_answer() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    for (path, attributes) in [
        (
            "loanOffers?loanAmount=much&loanPurpose=x&providedCreditRating=A&zipCode=1",
            vec!["loanAmount", "loanPurpose", "providedCreditRating", "zipCode"],
        ),
        ("creditCardOffers?cardPurposes=student,x", vec!["cardPurposes"]),
        (
            "savingsOffers?maxDepositAmount=-1&minDepositAmount=1.5",
            vec!["maxDepositAmount", "minDepositAmount"],
        ),
    ] {
        let answer = daemon.get(&format!("/offerPreview/{path}")).await;
        assert_eq!(
            (answer.status, answer.attributes()),
            (422, attributes.iter().map(|a| (*a).to_owned()).collect())
        );
        assert_eq!(answer.json()[0]["type"], "malformed");
    }
}

#[tokio::test]
async fn previews_of_the_sample_catalogue_are_sorted_and_static() {
    let daemon = Daemon::with_sample_partners().start().await;
    for kind in ["loanOffers", "creditCardOffers", "savingsOffers"] {
        let offers = daemon.get(&format!("/offerPreview/{kind}?zipCode=94105")).await.json();
        let offers = offers.as_array().unwrap();
        assert!(!offers.is_empty(), "{kind}");
        let score = |offer: &Value| offer["recommendationScore"].as_f64().unwrap();
        assert!(offers.windows(2).all(|pair| score(&pair[0]) >= score(&pair[1])), "{kind}");
        for flag in ["preQualified", "preApproved", "preSelected"] {
            let set = |offer: &&Value| offer[flag] == true || offer["details"][flag] == true;
            assert_eq!(offers.iter().find(set), None, "{kind}");
        }
    }
}

#[tokio::test]
async fn previews_ask_for_a_token() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let url = format!("{}/offerPreview/savingsOffers", daemon.api);
    assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 401);
    assert_eq!(daemon.request(Method::GET, &url, &daemon.publishable, "").await.status, 200);
}
