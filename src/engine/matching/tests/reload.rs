//! Reloads while tables are being built: each table keeps its configuration.

use super::*;

fn second_look_after_a_failure() -> [PartnerFile; 2] {
    let fails = r#"simulate = { delay = "1s", failure_rate = 1.0, failure = "error" }"#;
    [partner("fails").loan(fails), partner("again").second_look(1.0, "")]
}

#[test]
fn a_table_keeps_the_book_and_the_rules_that_it_was_begun_with() {
    paused(async {
        let world = World::of(&second_look_after_a_failure()).await;
        let begun = world.submit(Until::Prompt).await;
        let mut hasty = rules();
        hasty.matching.deadline = Duration::from_millis(200);
        hasty.matching.linger = Duration::ZERO;
        world.configure(&[], hasty).await;

        let later = world.submit(Until::Complete).await;
        assert!(later.deadline < begun.deadline && json(&later)["specialOffers"] == serde_json::json!([]));
        tokio::time::sleep(Duration::from_secs(2)).await;
        let completed = world.poll(uuid(&begun)).await;
        assert!(!completed.pending);
        assert_eq!(json(&completed)["specialOffers"].as_array().unwrap().len(), 1, "who was held was asked");
        assert_eq!(completed.deadline, begun.deadline);
    });
}

#[test]
fn the_limit_of_pending_tables_changes_at_once_and_takes_no_place_away() {
    paused(async {
        let partners = [partner("slow").loan(&simulate("1s"))];
        let most = |pending_tables| {
            let mut rules = rules();
            rules.matching.pending_tables = pending_tables;
            rules
        };
        let world = World::with_rules(&partners, most(2)).await;
        let first = world.submit(Until::Prompt).await;
        world.submit(Until::Prompt).await;
        world.configure(&partners, most(1)).await;
        assert_eq!(world.try_submit(Until::Prompt).await.unwrap_err(), LeadRefusal::Full);
        world.configure(&partners, most(3)).await;
        world.submit(Until::Prompt).await;
        assert_eq!(world.try_submit(Until::Prompt).await.unwrap_err(), LeadRefusal::Full);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(loan_offers(&world.poll(uuid(&first)).await), 1);
    });
}
