//! Health, metrics, and the effects of settings.

use hyper::Method;

use crate::kit::Daemon;
use crate::kit::partners::{partner, prompt_partners};

#[tokio::test]
async fn the_admin_listener_tells_life_readiness_and_every_metric() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    daemon.submit("{}").await;
    for path in ["/livez", "/readyz", "/"] {
        let answer = daemon.request(Method::GET, &format!("{}{path}", daemon.admin), "", "").await;
        assert_eq!(answer.status, 200, "{path}");
    }
    let answer = daemon.request(Method::GET, &format!("{}/metrics", daemon.admin), "", "").await;
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    for metric in [
        "offerd_http_requests_total",
        "offerd_partner_outcomes_total",
        "offerd_rate_tables_in_memory",
        "offerd_pending_rate_tables",
        "offerd_store_commit_seconds",
    ] {
        assert!(text.contains(metric), "{metric} is not in:\n{text}");
    }
    assert!(text.contains(r#"route="/leads/rateTables""#));
}

#[tokio::test]
async fn offers_are_capped_per_partner_the_best_by_score_staying() {
    let offers: String = (1..=6)
        .map(|nth| {
            format!(
                "\n[[products.insurance.offers]]\nkey = \"o{nth}\"\nname = \"o{nth}\"\ndescription = \"d\"\n\
                 landing_url = \"https://a.example/\"\npayout = {{ on = \"click\", fixed = {nth}.0 }}\n\
                 conversion_probability = 0.5\n"
            )
        })
        .collect();
    let many = partner("many").and(&format!("\n[products.insurance]\ntimeout = \"1s\"\n{offers}"));
    let daemon = Daemon::with_partners(vec![many]).setting("matching.offers_per_partner", "2").start().await;
    let table = daemon.submit(r#"{"productTypes":["insurance"]}"#).await.json();
    let names: Vec<&str> = table["specialOffers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|offer| offer["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["o6", "o5"]);
}

#[tokio::test]
async fn offers_lead_to_the_configured_base_url() {
    let plan =
        Daemon::with_partners(prompt_partners(1)).setting("api.base_url", "https://offers.example/api");
    let table = plan.start().await.submit("{}").await.json();
    assert!(
        table["savingsOffers"][0]["url"].as_str().unwrap().starts_with("https://offers.example/api/click/")
    );
}

#[tokio::test]
async fn what_was_made_is_located_below_the_configured_base_url() {
    for (base_url, path) in [("https://x.example/offers", "/offers"), ("https://x.example", "")] {
        let daemon =
            Daemon::with_partners(prompt_partners(1)).setting("api.base_url", base_url).start().await;
        let lead = daemon.post("/leads", "{}").await;
        let location = format!("{path}/leads/{}", lead.json()["uuid"].as_str().unwrap());
        assert_eq!((lead.status, lead.header("location")), (201, Some(location.as_str())));
        let report = daemon
            .post("/approvalProbability/loanReports", r#"{"annualIncome":72000,"creditRating":"good"}"#)
            .await;
        let uuid = report.json()["uuid"].as_str().unwrap().to_owned();
        let location = format!("{path}/approvalProbability/loanReports/{uuid}");
        assert_eq!((report.status, report.header("location")), (201, Some(location.as_str())));
        let feed = daemon.get("/supplyAnalytics/leadEvents?timestamp=2020-08-01T00:00:00Z").await.json();
        let next = feed["nextUrl"].as_str().unwrap();
        assert!(next.starts_with(&format!("{base_url}/supplyAnalytics/leadEvents?")), "{next}");
    }
}

#[tokio::test]
async fn with_less_room_on_the_disk_than_is_reserved_no_lead_is_taken_in_and_everyone_is_told() {
    let plan =
        Daemon::with_partners(prompt_partners(1)).setting("store.reserve_bytes", &(1_u64 << 40).to_string());
    let daemon = plan.start().await;
    for path in ["/leads/rateTables", "/leads"] {
        let refused = daemon.post(path, "{}").await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("60")), "{path}");
    }
    let ready = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
    assert_eq!(ready.status, 503);
    assert!(String::from_utf8_lossy(&ready.body).contains("store.reserve_bytes"));
    assert!(daemon.log().contains("nearly full"), "{}", daemon.log());
    let metrics = daemon.metrics().await;
    assert!(metrics.contains("offerd_submits_refused_total{reason=\"disk_full\"} 2"), "{metrics}");
}
