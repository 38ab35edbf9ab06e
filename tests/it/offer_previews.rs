//! Offer previews, which need no token of a company.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use hyper::Method;
use offerd::analytics::Events;
use offerd::model::EventType;
use serde_json::{Value, json};

use crate::console::html;
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
        let url = format!("{}/click/{}?until=", daemon.api, offer["uuid"].as_str().unwrap());
        assert!(offer["url"].as_str().unwrap().starts_with(&url), "a click on a preview is counted");
    }
    let beyond = daemon.get("/offerPreview/loanOffers?loanAmount=60000").await;
    assert_eq!(beyond.json(), json!([]), "what is given counts");
}

#[tokio::test]
async fn previews_are_limited_compressed_and_not_sent_again() {
    let files = (0..3).map(|nth| partner(&format!("bank_{nth}")).savings("").loan(""));
    let daemon = Daemon::with_partners(files.collect()).start().await;
    for kind in ["loanOffers", "savingsOffers"] {
        let path = format!("/offerPreview/{kind}");
        let (all, best) = (daemon.get(&path).await, daemon.get(&format!("{path}?limit=1")).await);
        assert_eq!(
            (all.json().as_array().unwrap().len(), best.json().as_array().unwrap().len()),
            (3, 1),
            "{kind}"
        );
        assert_eq!(best.json()[0]["uuid"], all.json()[0]["uuid"], "the best");
        let refused = daemon.get(&format!("{path}?limit=0")).await;
        assert_eq!((refused.status, refused.attributes()), (422, vec!["limit".to_owned()]));

        let url = format!("{}{path}", daemon.api);
        let asked = async |headers: &[(&str, &str)]| {
            daemon.request_with(Method::GET, &url, &daemon.publishable, headers, "").await
        };
        let compressed = asked(&[("accept-encoding", "gzip")]).await;
        assert_eq!(compressed.header("content-encoding"), Some("gzip"));
        assert!(compressed.body.len() < all.body.len());
        let tag = compressed.header("etag").unwrap().to_owned();
        let again = asked(&[("if-none-match", &tag)]).await;
        assert_eq!((again.status, again.body.len()), (304, 0), "{kind}");
        let of_v1 = asked(&[("if-none-match", &tag), ("accept", "application/vnd.acme.v1+json")]).await;
        assert_eq!(of_v1.status, 200, "another edition has other bytes");
    }
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

/// Whatever is asked, and over a restart: so a page may keep them, and clicks are counted together.
#[tokio::test]
async fn an_offer_has_the_same_id_in_every_preview_and_none_of_a_tables() {
    let daemon = Daemon::with_sample_partners().start().await;
    let ids = async |daemon: &Daemon, query: &str| -> BTreeMap<String, String> {
        let offers = daemon.get(&format!("/offerPreview/{query}")).await.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let of = |offer: &Value| (text(&offer["uuid"]), text(&offer["url"]));
        offers.as_array().unwrap().iter().map(of).collect()
    };
    let [loans, cards] = ["loanOffers", "creditCardOffers"];
    let (all, narrowed) =
        (ids(&daemon, loans).await, ids(&daemon, "loanOffers?loanAmount=10000&zipCode=94105").await);
    assert!(!narrowed.is_empty() && narrowed.keys().any(|id| all.contains_key(id)));
    assert!(ids(&daemon, cards).await.keys().all(|id| !all.contains_key(id)));
    let table = daemon.submit(r#"{"productTypes":["loan"]}"#).await.json();
    let of_table =
        table["loanOffers"].as_array().unwrap().iter().map(|offer| offer["uuid"].as_str().unwrap());
    assert!(of_table.into_iter().all(|id| !all.contains_key(id)));
    let (first, lead) = (all.clone(), table["leadUuid"].clone());
    let daemon = daemon.kill().start().await;
    let again = ids(&daemon, loans).await;
    assert!(again.keys().eq(first.keys()));
    assert_eq!(daemon.get(&format!("/leads/{}", lead.as_str().unwrap())).await.status, 200);
}

#[tokio::test]
async fn a_click_on_a_preview_leads_on_and_is_counted_but_is_of_no_lead() {
    let files = vec![partner("lender").loan(""), partner("bank").savings("")];
    let daemon = Daemon::with_partners(files).setting("limits.burst_clicks_per_offer", "3").start().await;
    let table = daemon.submit("{}").await.json();
    let offer = daemon.get("/offerPreview/loanOffers").await.json()[0].clone();
    let (uuid, url) = (offer["uuid"].as_str().unwrap(), offer["url"].as_str().unwrap());
    for _ in 0..3 {
        let answer = daemon.request(Method::GET, url, "", "").await;
        let partner = format!("https://lender.example/apply?click={uuid}");
        assert_eq!((answer.status, answer.header("location")), (302, Some(&partner[..])));
    }
    assert_eq!(daemon.request(Method::HEAD, url, "", "").await.status, 405);
    let metrics = daemon.metrics().await;
    let counted = r#"offerd_preview_clicks_total{partner="lender",product_type="loan"} 3"#;
    assert!(metrics.contains(counted), "{metrics}");
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    assert!(!lead["leadActions"].to_string().contains("clicked"), "{lead}");
    let company = lead["companyUUID"].as_str().unwrap();
    let path = url.replace(&daemon.api, "");
    let (_, stopped) = daemon.terminate();
    let events = stopped.feed_in_two_hours::<Events>(company).data;
    assert!(!events.is_empty());
    assert!(events.iter().all(|event| event.event_type != EventType::OfferClicked));

    let daemon = stopped.start().await;
    let page = html(&daemon, "/console/partners/lender").await;
    assert!(page.contains("3 times in the last 30 days"), "{page}");
    std::fs::remove_file(daemon.partners().join("lender.toml")).unwrap();
    assert!(daemon.command(&["reload"]).status.success());
    assert_eq!(daemon.get(&path).await.status, 404, "who has left the panel is not led to");
}

#[tokio::test]
async fn of_clicks_on_a_preview_at_one_time_each_is_counted() {
    let plan = Daemon::with_partners(vec![partner("lender").loan("")]);
    let daemon = plan.setting("limits.burst_clicks_per_offer", "1000").start().await;
    let offer = daemon.get("/offerPreview/loanOffers").await.json()[0].clone();
    let url = offer["url"].as_str().unwrap();
    for _ in 0..4 {
        for answer in join_all((0..40).map(|_| daemon.request(Method::GET, url, "", ""))).await {
            assert_eq!(answer.status, 302);
        }
    }
    let page = html(&daemon, "/console/partners/lender").await;
    assert!(page.contains("160 times in the last 30 days"), "{page}");
    assert!(!daemon.log().contains("could not count a click"), "{}", daemon.log());
}

#[tokio::test]
async fn who_clicks_on_a_preview_too_often_is_refused_for_a_while_and_nobody_else() {
    let plan = Daemon::with_partners(vec![partner("lender").loan("")]);
    let plan = plan.setting("limits.trusted_proxies", "127.0.0.1/32");
    let daemon = plan.setting("limits.burst_clicks_per_offer", "3").start().await;
    let url = daemon.get("/offerPreview/loanOffers").await.json()[0]["url"].as_str().unwrap().to_owned();
    let click = async |client: &str| {
        daemon.request_with(Method::GET, &url, "", &[("x-forwarded-for", client)], "").await
    };
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(click("203.0.113.7").await);
    }
    assert!(answers[..3].iter().all(|answer| answer.status == 302));
    let refused = answers.iter().find(|answer| answer.status == 429).expect("some of twenty come too soon");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(click("203.0.113.8").await.status, 302, "a preview is everybody's");
    assert!(daemon.metrics().await.contains(r#"{reason="click_offer_rate"}"#));
}

#[tokio::test]
async fn a_preview_leads_on_for_as_long_as_its_offer_stands() {
    let files = vec![
        partner("lender").loan(""),
        partner("bank").savings(""),
        partner("brief")
            .savings("")
            .replaced("minimum_deposit = 0", "minimum_deposit = 0\nvalid_for = \"1h\""),
    ];
    let daemon = Daemon::with_partners(files).start().await;
    let offers = daemon.get("/offerPreview/savingsOffers").await.json();
    let of = |name: &str| {
        let mut offers = offers.as_array().unwrap().iter();
        let offer = offers.find(|offer| offer["partner"]["name"] == name).unwrap();
        let (address, until) = offer["url"].as_str().unwrap().split_once("?until=").unwrap();
        let ends: chrono::DateTime<chrono::Utc> = offer["expiresAt"].as_str().unwrap().parse().unwrap();
        let (told, proof) = until.split_once('-').unwrap();
        assert_eq!(told, ends.timestamp_millis().to_string());
        (address.to_owned(), until.to_owned(), ends.timestamp_millis(), proof.to_owned())
    };
    let click = async |url: &str, accept: &str| {
        daemon.request_with(Method::GET, url, "", &[("accept", accept)], "").await
    };
    for (name, unproven) in [("bank", 302), ("brief", 410)] {
        let (address, until, ends_ms, proof) = of(name);
        assert_eq!(click(&format!("{address}?until={until}"), "*/*").await.status, 302, "{name}");
        let ended = click(&format!("{address}?until=1600000000000"), "*/*").await;
        assert_eq!((ended.status, ended.header("location")), (410, None), "{name}");
        // As addresses were before they told their ends, and before they proved them; and as somebody would write them who likes the offer.
        let later = ends_ms + 1;
        for other in
            ["", "?until=", "?until=abc", &format!("?until={later}"), &format!("?until={later}-{proof}")]
        {
            let answer = click(&format!("{address}{other}"), "*/*").await;
            assert_eq!(answer.status, unproven, "{name} {other}");
        }
    }
    let page = click(&of("brief").0, "text/html,*/*;q=0.8").await;
    assert_eq!((page.status, page.header("content-type")), (410, Some("text/html; charset=utf-8")));
    let text = String::from_utf8_lossy(&page.body);
    assert!(text.contains("This offer has ended"), "{text}");
}
