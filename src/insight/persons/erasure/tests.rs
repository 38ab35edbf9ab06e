use actix_rt::System;

use super::*;
use offerd_engine::matching::messages::Until;
use offerd_engine::matching::showing::rate_table;
use offerd_engine::matching::submission::Submission;
use crate::world::{COMPANY, LEAD, matchmaker, rules, simulate};
use offerd_model::{CreditBands, Lead};
use crate::partner_files::partner;
use offerd_store::Clock;

#[test]
fn what_was_erased_through_one_node_is_shown_by_no_other_and_nobody_is_asked_about_it_there() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    System::with_tokio_rt(runtime).block_on(async {
        let Some(([first, second], _directory)) = offerd_store::testing::two_nodes() else { return };
        let partners = [partner("slow").loan(&simulate("9s"))];
        let (first, second) = (
            matchmaker(first, &partners, rules(), &Clock::system()).await,
            matchmaker(second, &partners, rules(), &Clock::system()).await,
        );
        let submission = Submission {
            company: COMPANY,
            test: false,
            look_back_minutes: None,
            bands: CreditBands::Current,
            newer_values: false,
            idempotency_key: None,
            trace: None,
            permit: offerd_base::load_shedder::Permit::default(),
            lead: Lead::read(LEAD.as_bytes()).unwrap(),
        };
        let shown = second.submit(submission, Until::Prompt).await.unwrap().answer;
        let (theirs, viewer) = (second.engine(), Viewer::of_all(COMPANY));
        assert!(shown.pending && theirs.actors.has(shown.table));
        let lead = *theirs.actors.leads().first().unwrap();
        assert!(erase(first.engine(), lead).await.unwrap().is_some());
        apply_erasures(theirs).await.unwrap();
        while theirs.actors.has(shown.table) {
            tokio::task::yield_now().await;
        }
        assert!(rate_table(theirs, viewer, shown.table).await.unwrap().is_none());
    });
}
