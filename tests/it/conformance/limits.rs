//! Limits.

use serde_json::json;

use crate::kit::Daemon;
use crate::kit::partners::prompt_partners;

#[tokio::test]
async fn event_history_starts_on_the_first_of_august_2020() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let page = async |timestamp: &str| {
        let answer = daemon.get(&format!("/supplyAnalytics/leadEvents?timestamp={timestamp}")).await;
        assert_eq!(answer.status, 200, "{timestamp}");
        answer.json()["data"].clone()
    };
    assert_eq!(page("2020-08-01T00:00:00Z").await, json!([]));
    assert_eq!(page("1970-01-01T00:00:00Z").await, json!([]), "earlier is no error and gives nothing more");
}

#[tokio::test]
async fn the_university_look_up_gives_at_most_limit_names() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    for limit in [1, 7, 100] {
        let names = daemon.get(&format!("/leads/universities?limit={limit}")).await.json();
        assert_eq!(names.as_array().unwrap().len(), limit);
    }
}

#[tokio::test]
async fn a_body_has_an_upper_bound_that_the_refusal_names() {
    let daemon =
        Daemon::with_partners(prompt_partners(1)).setting("api.max_body_bytes", "2048").start().await;
    let answer = daemon.submit(format!("{{}}{}", " ".repeat(2_047))).await;
    assert_eq!((answer.status, &answer.json()[0]["details"]), (413, &json!({"limit": "2048"})));
    assert_eq!(daemon.submit(format!("{{}}{}", " ".repeat(2_046))).await.status, 200);
}
