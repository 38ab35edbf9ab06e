//! Time and failures on a paused clock: an hour passes at once, and no test depends on the speed of the
//! machine.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;
use tokio::time::Instant;
use uuid::Uuid;

use super::messages::{Leave, Polled, TableSnapshot, Until};
use super::recovery::{recover, recover_continuously};
use super::refused::LeadRefusal;
use super::showing::poll;
use crate::partner_files::{PartnerFile, partner};
use offerd_model::{Lead, Viewer};
use offerd_store::{Clock, Store, Tree};

mod limits;
mod nodes;
mod reload;
mod second_look;
pub(crate) mod world;

pub(crate) use self::world::*;

/// The state while a lead is being erased or the daemon is stopping: no change is reported, since there is
/// none.
#[test]
fn who_waits_for_a_pending_table_that_has_no_actor_waits() {
    paused(async {
        let world = World::of(&[partner("slow").loan(&simulate("9s"))]).await;
        let pending = world.submit(Until::Prompt).await;
        let engine = world.matchmaker.engine();
        for actor in engine.actors.all() {
            actor.send(Leave).await.unwrap();
        }
        let (begun, longest) = (Instant::now(), Duration::from_secs(5));
        let polled = poll(engine, Viewer::of_all(COMPANY), uuid(&pending), &[pending.version], longest).await;
        let Ok(Some(Polled::Unchanged(unchanged))) = polled else { panic!("{polled:?}") };
        assert!(unchanged.pending && begun.elapsed() >= longest, "{:?}", begun.elapsed());
    });
}

/// A generated id cannot exist yet; an id chosen by a client can.
#[test]
fn only_a_lead_whose_uuid_the_client_chose_is_looked_for() {
    paused(async {
        let world = World::of(&[partner("prompt").loan("")]).await;
        world.submit(Until::Complete).await;
        let before = Store::look_ups();
        assert!(!world.submit(Until::Complete).await.pending);
        assert_eq!(Store::look_ups() - before, 0);

        let lead = LEAD.replacen('{', r#"{"uuid": "01a20550-6693-7bf0-a5ed-9a8dd2717a08", "#, 1);
        let before = Store::look_ups();
        world.try_submit_lead(&lead, Until::Complete).await.unwrap();
        // Looks the lead up in the base and the last volume, and its data key, which names its volume, twice.
        assert_eq!(Store::look_ups() - before, 4);
        let again = world.try_submit_lead(&lead, Until::Complete).await;
        assert!(matches!(again, Err(LeadRefusal::Duplicate(_))), "{again:?}");
    });
}

#[test]
fn a_silent_partner_is_given_its_own_timeout() {
    paused(async {
        let world =
            World::of(&[partner("silent").loan(&failing("silence")), partner("prompt").loan("")]).await;
        let begun = Instant::now();
        let table = world.submit(Until::Complete).await;
        // The kit's loan partners have ten seconds.
        assert_eq!(begun.elapsed().as_secs(), 10);
        assert_eq!((loan_offers(&table), table.pending), (1, false));
    });
}

#[test]
fn no_partner_is_given_more_than_the_lead_has_left() {
    paused(async {
        let mut rules = rules();
        rules.matching.deadline = Duration::from_secs(6);
        let world = World::with_rules(&[partner("silent").loan(&failing("silence"))], rules).await;
        let begun = Instant::now();
        assert!(!world.submit(Until::Complete).await.pending);
        assert_eq!(begun.elapsed().as_millis() / 100, 59, "the deadline less the response margin");
    });
}

#[test]
fn a_partner_for_which_no_time_is_left_is_not_asked() {
    paused(async {
        let mut rules = rules();
        rules.matching.deadline = Duration::from_millis(55);
        let world = World::with_rules(&[partner("prompt").loan("")], rules).await;
        let table = world.submit(Until::Complete).await;
        assert_eq!((loan_offers(&table), table.pending), (0, false));
    });
}

#[test]
fn an_offer_that_comes_late_never_enters() {
    paused(async {
        let late = partner("late").loan(&simulate("11s"));
        let world = World::of(&[late, partner("prompt").loan("")]).await;
        let complete = world.submit(Until::Complete).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let later = world.poll(uuid(&complete)).await;
        assert_eq!((loan_offers(&later), later.json), (1, complete.json));
    });
}

#[test]
fn a_poll_sees_each_answer_when_it_has_come() {
    paused(async {
        let partners = [partner("two").loan(&simulate("2s")), partner("four").loan(&simulate("4s"))];
        let world = World::of(&partners).await;
        let first = world.submit(Until::Prompt).await;
        assert_eq!((loan_offers(&first), pending(&first)), (0, vec!["two".to_owned(), "four".to_owned()]));
        tokio::time::sleep(Duration::from_secs(3)).await;
        let second = world.poll(uuid(&first)).await;
        assert_eq!((loan_offers(&second), pending(&second)), (1, vec!["four".to_owned()]));
        tokio::time::sleep(Duration::from_secs(2)).await;
        let third = world.poll(uuid(&first)).await;
        assert_eq!((loan_offers(&third), third.pending), (2, false));
        assert!(first.version < second.version && second.version < third.version);
    });
}

#[test]
fn answers_that_nobody_can_see_yet_are_written_together() {
    paused(async {
        let delays = ["10ms", "20ms", "30ms", "1s"];
        let partners = delays.map(|delay| partner(&format!("p{delay}")).loan(&simulate(delay)));
        let world = World::of(&partners).await;
        let writes = |table: &TableSnapshot| {
            let engine = world.matchmaker.engine();
            engine.records.store.scan(Tree::Answers, uuid(table).as_bytes()).count()
        };
        let blocking = world.submit(Until::Complete).await;
        assert_eq!((loan_offers(&blocking), writes(&blocking)), (4, 2));

        let mut polled = world.submit(Until::Prompt).await;
        while polled.pending {
            tokio::time::sleep(Duration::from_millis(5)).await;
            polled = world.poll(uuid(&polled)).await;
        }
        assert_eq!((loan_offers(&polled), writes(&polled)), (4, 4));
    });
}

#[test]
fn a_first_look_at_a_table_has_what_was_gathered_written() {
    paused(async {
        let mut rules = rules();
        rules.matching.gather_answers = Duration::from_secs(5);
        let partners = [partner("soon").loan(&simulate("1s")), partner("late").loan(&simulate("9s"))];
        let world = World::with_rules(&partners, rules).await;
        let waiting = world.submit(Until::Complete);
        let polling = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let open = world.matchmaker.engine().records.store.scan(Tree::OpenTables, []).next();
            let table = Uuid::from_slice(&open.unwrap().unwrap().0).unwrap();
            let first = world.poll(table).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            (loan_offers(&first), loan_offers(&world.poll(table).await))
        };
        let (complete, polled) = tokio::join!(waiting, polling);
        assert_eq!((loan_offers(&complete), polled), (2, (0, 1)));
    });
}

#[test]
fn who_was_shown_a_pending_table_at_once_finds_each_answer_when_it_has_come() {
    paused(async {
        let mut rules = rules();
        rules.matching.gather_answers = Duration::from_secs(5);
        let partners = [partner("soon").loan(&simulate("1s")), partner("late").loan(&simulate("9s"))];
        let world = World::with_rules(&partners, rules).await;
        let pending = world.submit(Until::Prompt).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(loan_offers(&world.poll(uuid(&pending)).await), 1);
    });
}

#[test]
fn what_still_gathers_at_the_deadline_has_come_in_time() {
    paused(async {
        let mut rules = rules();
        rules.matching.gather_answers = Duration::from_secs(5);
        rules.matching.deadline = Duration::from_secs(6);
        let partners = [partner("soon").loan(&simulate("4s")), partner("silent").loan(&failing("silence"))];
        let world = World::with_rules(&partners, rules).await;
        let table = world.submit(Until::Complete).await;
        assert_eq!((loan_offers(&table), table.pending), (1, false));
    });
}

#[test]
fn what_still_gathers_when_the_daemon_stops_is_written() {
    paused(async {
        let mut rules = rules();
        rules.matching.gather_answers = Duration::from_secs(5);
        let partners = [partner("soon").loan(&simulate("1s")), partner("late").loan(&simulate("9s"))];
        let world = World::with_rules(&partners, rules).await;
        let stopping = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            world.matchmaker.stop_all().await;
        };
        let (cut, ()) = tokio::join!(world.try_submit(Until::Complete), stopping);
        assert!(cut.is_err(), "it was to be complete");
        assert_eq!(world.matchmaker.engine().records.store.scan(Tree::Answers, []).count(), 1);
    });
}

#[test]
fn a_partner_that_panics_is_an_outcome_and_no_more() {
    paused(async {
        let world = World::of(&[partner("panics").loan(&failing("panic")), partner("prompt").loan("")]).await;
        for _ in 0..3 {
            let table = world.submit(Until::Complete).await;
            assert_eq!((loan_offers(&table), table.pending), (1, false));
        }
    });
}

#[test]
fn a_submit_does_not_wait_for_partners_that_take_time() {
    paused(async {
        let world = World::of(&[partner("slow").loan(&simulate("9s")), partner("prompt").loan("")]).await;
        let begun = Instant::now();
        let table = world.submit(Until::Prompt).await;
        assert_eq!((loan_offers(&table), table.pending), (1, true));
        assert!(begun.elapsed() <= rules().matching.submit_wait);
    });
}

#[test]
fn time_is_kept_back_for_second_look_while_it_may_be_needed() {
    paused(async {
        let silent = partner("silent").loan(&failing("silence")).and("");
        let slow = PartnerFile::loan(partner("slow"), &failing("error"));
        let second = partner("second").second_look(3.0, &simulate("3s"));
        let world = World::of(&[silent, slow, second]).await;
        let begun = Instant::now();
        let table = world.submit(Until::Complete).await;
        assert_eq!(json(&table)["specialOffers"].as_array().unwrap().len(), 1);
        // First look ends at 15 s − 0.1 s − 5 s, and second look answers 3 s later.
        assert_eq!(begun.elapsed().as_millis() / 100, 129);
    });
}

#[test]
fn a_complete_table_is_read_from_the_store_once_its_actor_has_left() {
    paused(async {
        let world = World::of(&[partner("slow").loan(&simulate("1s"))]).await;
        let first = world.submit(Until::Prompt).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let live = world.poll(uuid(&first)).await;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert!(world.matchmaker.engine().actors.all().is_empty(), "a complete table lingers only a little");
        let stored = world.poll(uuid(&first)).await;
        assert_eq!((live.json, live.version), (stored.json, stored.version));
    });
}

#[test]
fn every_place_is_given_back() {
    paused(async {
        let mut rules = rules();
        rules.matching.pending_tables = 1;
        let world = World::with_rules(&[partner("slow").loan(&simulate("1s"))], rules).await;
        for _ in 0..3 {
            world.submit(Until::Prompt).await;
            assert_eq!(world.try_submit(Until::Prompt).await.unwrap_err(), LeadRefusal::Full);
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    });
}

#[test]
fn a_disk_that_fails_is_never_a_silent_acknowledgement() {
    paused(async {
        let world = World::of(&[partner("slow").loan(&simulate("1s"))]).await;
        let before = world.submit(Until::Prompt).await;
        world.disk.set(true);
        assert_eq!(world.try_submit(Until::Prompt).await.unwrap_err(), LeadRefusal::StoreFailed);
        tokio::time::sleep(Duration::from_secs(5)).await;
        let after = world.poll(uuid(&before)).await;
        assert_eq!(after.json, before.json, "what could not be written is not shown");
    });
}

#[test]
fn when_a_failed_disk_works_again_what_was_pending_goes_on() {
    paused(async {
        let world = World::of(&[partner("slow").loan(&simulate("1s"))]).await;
        let matchmaker = world.matchmaker.clone();
        let recovering = actix_rt::spawn(async move { recover_continuously(&matchmaker).await });
        let before = world.submit(Until::Prompt).await;
        world.disk.set(true);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(world.poll(uuid(&before)).await.pending, "its answer could not be written");
        world.disk.set(false);
        let next = world.submit(Until::Complete).await;
        assert_eq!((loan_offers(&next), next.pending), (1, false));
        tokio::time::sleep(Duration::from_secs(5)).await;
        let after = world.poll(uuid(&before)).await;
        assert_eq!((loan_offers(&after), after.pending), (1, false));
        recovering.abort();
    });
}

#[test]
fn what_was_answered_while_the_disk_failed_is_kept_and_nobody_is_asked_again_for_it() {
    paused(async {
        let world = World::of(&[partner("slow").loan(&simulate("1s")), partner("prompt").loan("")]).await;
        let before = world.submit(Until::Prompt).await;
        world.disk.set(true);
        assert_eq!(world.try_submit(Until::Prompt).await.unwrap_err(), LeadRefusal::StoreFailed);
        tokio::time::sleep(Duration::from_secs(30)).await;
        let meanwhile = world.poll(uuid(&before)).await;
        assert_eq!((loan_offers(&meanwhile), meanwhile.pending), (1, true), "polls go on");
        assert!(world.matchmaker.engine().actors.has(uuid(&before)));
        world.disk.set(false);
        world.submit(Until::Prompt).await;
        // No recovery needed: the answers are written.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let after = world.poll(uuid(&before)).await;
        assert_eq!((loan_offers(&after), after.pending), (2, false));
    });
}

#[test]
fn with_a_full_disk_nothing_new_is_taken_in_and_what_was_goes_on_until_there_is_room() {
    paused(async {
        let world = World::of(&[partner("slow").loan(&simulate("1s"))]).await;
        let before = world.submit(Until::Prompt).await;
        world.space.set(true);
        assert_eq!(world.try_submit(Until::Prompt).await.unwrap_err(), LeadRefusal::DiskFull);
        tokio::time::sleep(Duration::from_secs(5)).await;
        let after = world.poll(uuid(&before)).await;
        assert_eq!((loan_offers(&after), after.pending), (1, false));
        world.space.set(false);
        assert_eq!(loan_offers(&world.submit(Until::Complete).await), 1);
    });
}

#[test]
fn a_restart_goes_on_with_what_was_pending() {
    paused(async {
        let partners = [partner("slow").loan(&simulate("3s")), partner("prompt").loan("")];
        let world = World::of(&partners).await;
        let before = world.submit(Until::Prompt).await;
        let world = world.crash(&partners).await;
        assert_eq!(world.poll(uuid(&before)).await.json, before.json);
        assert_eq!(recover(&world.matchmaker).await, 1);
        tokio::time::sleep(Duration::from_secs(4)).await;
        let after = world.poll(uuid(&before)).await;
        assert_eq!((loan_offers(&after), after.pending), (2, false));
        let shown = |table: &TableSnapshot| json(table)["loanOffers"][0]["uuid"].clone();
        let known: Vec<Value> = json(&after)["loanOffers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|offer| offer["uuid"].clone())
            .collect();
        assert!(known.contains(&shown(&before)));
        assert_eq!(recover(&world.matchmaker).await, 0, "it is recovered once");
    });
}

#[test]
fn a_partner_that_left_the_book_meanwhile_is_not_waited_for() {
    paused(async {
        let world = World::of(&[partner("slow").loan(&simulate("3s"))]).await;
        let before = world.submit(Until::Prompt).await;
        let world = world.crash(&[]).await;
        assert_eq!(recover(&world.matchmaker).await, 1);
        tokio::time::sleep(Duration::from_millis(1)).await;
        let after = world.poll(uuid(&before)).await;
        assert_eq!((loan_offers(&after), after.pending), (0, false));
    });
}

proptest! {
    #![proptest_config(crate::cases::cases(24))]

    /// For every behaviour of the partners: pending responses only shrink, shown offers stay, the table
    /// completes by its deadline and then never changes, in memory or in the store.
    #[test]
    fn every_table_completes_by_its_deadline_and_only_ever_grows(
        partners in (0..6_usize).prop_flat_map(|count| (0..count).map(any_partner).collect::<Vec<_>>()),
        pauses in prop::collection::vec(1..4_000_u64, 8),
    ) {
        paused(async {
            let world = World::of(&partners).await;
            let first = world.submit(Until::Prompt).await;
            let table = uuid(&first);
            let mut last = first;
            let begun = Instant::now();
            for pause in pauses {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                let next = world.poll(table).await;
                prop_assert!(pending(&next).iter().all(|name| pending(&last).contains(name)));
                for array in ["loanOffers", "specialOffers"] {
                    let (before, after) = (json(&last), json(&next));
                    let uuids = |table: &Value| -> Vec<Value> {
                        table[array].as_array().unwrap().iter().map(|offer| offer["uuid"].clone()).collect()
                    };
                    prop_assert!(uuids(&before).iter().all(|offer| uuids(&after).contains(offer)));
                }
                if !last.pending {
                    prop_assert_eq!(&next.json, &last.json);
                }
                last = next;
            }
            tokio::time::sleep(rules().matching.deadline.saturating_sub(begun.elapsed())).await;
            let complete = world.poll(table).await;
            prop_assert!(!complete.pending);
            tokio::time::sleep(Duration::from_secs(60)).await;
            prop_assert_eq!(&world.poll(table).await.json, &complete.json);
            Ok(())
        })?;
    }
}
