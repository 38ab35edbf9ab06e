//! Several matchmakers on one store, like nodes that share a database.

use std::sync::Barrier;

use actix_rt::System;
use tempfile::TempDir;

use super::limits::Hand;
use super::*;
use crate::matching::cap_sharing::{give_back, share_out};
use crate::matching::idempotency::IdempotencyKey;
use crate::matching::limiter::State;
use crate::matching::matchmaker::Matchmaker;
use crate::matching::pausing::{self, Pausable};
use crate::matching::submission::Submission;
use offerd_model::CreditBands;
use offerd_store::pauses::{Pause, Pauses};

/// Runs a test on an actix system with a real clock, since a database does not wait for a paused one.
fn system<T>(test: impl Future<Output = T>) -> T {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    System::with_tokio_rt(runtime).block_on(test)
}

fn submission(key: Option<IdempotencyKey>) -> Submission {
    Submission {
        company: COMPANY,
        test: false,
        look_back_minutes: Some(60),
        bands: CreditBands::Current,
        newer_values: false,
        idempotency_key: key,
        trace: None,
        permit: offerd_base::load_shedder::Permit::default(),
        lead: Lead::read(LEAD.as_bytes()).unwrap(),
    }
}

fn capped(limits: &str) -> [PartnerFile; 1] {
    [partner("capped").loan("").and(&format!("\n[products.loan.limits]\n{limits}\n"))]
}

async fn two(partners: &[PartnerFile], hand: &Hand) -> Option<([Matchmaker; 2], TempDir)> {
    let ([first, second], directory) = offerd_store::testing::two_nodes()?;
    let clock = hand.clock();
    let first = matchmaker(first, partners, rules(), &clock).await;
    Some(([first, matchmaker(second, partners, rules(), &clock).await], directory))
}

/// A time of day at which no day ends during a test.
fn morning() -> Hand {
    Hand::days_ago(3, "10:00:00")
}

/// Advances the clock and lets the node adjust its grants.
async fn settle(node: &Matchmaker, hand: &Hand) {
    hand.advance(Duration::from_secs(2));
    share_out(node.engine(), &node.engine().book()).await.unwrap();
}

/// Number of loan offers that this many consecutive leads get.
async fn asked(node: &Matchmaker, leads: usize) -> usize {
    let mut offers = 0;
    for _ in 0..leads {
        let submission = Submission { look_back_minutes: None, ..submission(None) };
        offers += loan_offers(&node.submit(submission, Until::Complete).await.unwrap().answer);
    }
    offers
}

#[test]
fn through_whichever_node_leads_come_a_cap_is_never_exceeded_and_all_of_it_can_be_used() {
    system(async {
        let hand = morning();
        let Some((nodes, _directory)) = two(&capped("per_day = 12\nper_month = 1000"), &hand).await else {
            return;
        };
        let mut offers = 0;
        for node in &nodes {
            settle(node, &hand).await;
            offers += asked(node, 20).await;
        }
        assert!((1..=12).contains(&offers), "{offers} before anybody has more");
        for _ in 0..40 {
            for node in &nodes {
                settle(node, &hand).await;
                offers += asked(node, 1).await;
            }
        }
        assert_eq!(offers, 12);
        settle(&nodes[0], &hand).await;
        let status = nodes[0].engine().limiter.statuses(&nodes[0].engine().book()).remove(0);
        assert_eq!((status.state, status.per_day), (State::Capped, Some(12)));
    });
}

#[test]
fn what_a_node_leaves_is_the_others_and_a_start_counts_the_same() {
    system(async {
        let hand = morning();
        let partners = capped("per_day = 12");
        let Some(([first, second], _directory)) = two(&partners, &hand).await else { return };
        settle(&first, &hand).await;
        settle(&second, &hand).await;
        let before = asked(&first, 1).await;
        give_back(first.engine()).await;
        assert_eq!((before, asked(&first, 3).await), (1, 0), "who has given all back asks no more");
        first.engine().records.store.close().unwrap();
        let mut offers = 0;
        for _ in 0..20 {
            settle(&second, &hand).await;
            offers += asked(&second, 1).await;
        }
        assert_eq!(offers, 11);
        // Another engine of the same process counts from the records, as at a start.
        let store = second.engine().records.store.clone();
        let again = matchmaker(store, &partners, rules(), &hand.clock()).await;
        assert_eq!(again.engine().limiter.statuses(&again.engine().book())[0].asked_today, 12);
    });
}

#[test]
fn of_a_node_that_ended_without_a_word_all_that_it_asked_is_counted() {
    system(async {
        let hand = morning();
        let Some(([first, second], _directory)) = two(&capped("per_day = 12"), &hand).await else { return };
        settle(&second, &hand).await;
        settle(&first, &hand).await;
        let asked_there = asked(&first, 1).await;
        first.engine().records.store.close().unwrap();
        let mut offers = 0;
        for _ in 0..20 {
            settle(&second, &hand).await;
            offers += asked(&second, 1).await;
        }
        assert_eq!((asked_there, offers), (1, 11));
    });
}

#[test]
fn a_pause_through_one_node_holds_in_the_other_once_it_has_read_it() {
    system(async {
        let hand = morning();
        let Some(([first, second], _directory)) = two(&[partner("slow").loan("")], &hand).await else {
            return;
        };
        let what = Pausable { partner: "p0".to_owned(), product_type: None };
        let store = first.engine().records.store.clone();
        let commit = |to: Store| async move |commit| to.commit(commit).await;
        pausing::pause(first.engine(), Pause::now("p0", None, "test", None), commit(store.clone()))
            .await
            .unwrap();
        let pauses = Pauses::of(second.engine().records.store.clone());
        second.engine().limiter.take_in_pauses(&pauses).unwrap();
        assert_eq!((asked(&first, 1).await, asked(&second, 1).await), (0, 0));
        pausing::resume(first.engine(), &what, commit(store)).await.unwrap();
        second.engine().limiter.take_in_pauses(&pauses).unwrap();
        assert_eq!((asked(&first, 1).await, asked(&second, 1).await), (1, 1));
    });
}

#[test]
fn what_others_earn_counts_towards_a_budget_and_what_they_take_back_does_not() {
    system(async {
        let hand = morning();
        let partners = capped("per_day_budget = 10.0");
        let Some(([first, second], _directory)) = two(&partners, &hand).await else { return };
        let store = &first.engine().records.store;
        let posting = crate::records::postings::Posting {
            partner: "p0".to_owned(),
            product_type: offerd_model::ProductType::Loan,
            at: hand.now(),
            cents: 1000.0,
        };
        let earned_by = offerd_base::ids::timed();
        store.commit(posting.write(offerd_store::Commit::new(), earned_by)).await.unwrap();
        let sum_up = || second.engine().limiter.sum_up(&second.engine().records).unwrap();
        assert_eq!(asked(&second, 1).await, 1);
        sum_up();
        sum_up();
        let owed = |node: &Matchmaker| node.engine().limiter.statuses(&node.engine().book())[0].owed_today;
        assert_eq!((owed(&second), asked(&second, 1).await), (10.0, 0));
        let taken_back = crate::records::postings::Posting::remove(offerd_store::Commit::new(), earned_by);
        store.commit(taken_back).await.unwrap();
        sum_up();
        assert_eq!((owed(&second), asked(&second, 1).await), (0.0, 1));
    });
}

#[test]
fn of_one_submit_that_two_nodes_are_sent_at_once_both_answer_with_the_same_table() {
    let partners = [partner("one").loan("")];
    let Some((stores, _directory)) = offerd_store::testing::two_nodes() else { return };
    let together = Barrier::new(2);
    let answers: Vec<Vec<Uuid>> = std::thread::scope(|scope| {
        let answering = stores.map(|store| {
            let (partners, together) = (&partners, &together);
            scope.spawn(move || {
                system(async {
                    let node = matchmaker(store, partners, rules(), &Clock::system()).await;
                    let mut answers = Vec::new();
                    for round in 0..10 {
                        let company = Uuid::from_u128(100 + round);
                        let key =
                            IdempotencyKey::new(Viewer::of_all(company), &format!("round {round}"), "", &());
                        let submission = Submission { company, ..submission(Some(key)) };
                        together.wait();
                        answers.push(uuid(&node.submit(submission, Until::Complete).await.unwrap().answer));
                    }
                    answers
                })
            })
        });
        answering.map(|answering| answering.join().unwrap()).into()
    });
    assert_eq!(answers[0], answers[1]);
}
