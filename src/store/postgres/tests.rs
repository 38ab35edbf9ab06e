//! The store in a database. With `OFFERD_TEST_POSTGRES`, all store tests run on one too.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use futures_util::FutureExt;
use tempfile::TempDir;

use super::client::Client;
use super::schema;
use super::writer::DatabaseWriter;
use crate::arrival::Arrivals;
use crate::commit::CommitResult;
use crate::committer::Committer;
use crate::line::Line;
use crate::options::StoreOptions;
use crate::testing::{TestNodes, beside, options};
use crate::{Clock, Commit, CommitError, MasterKey, Store, StoreHealth, Topic, Tree};

const TREE: Tree = Tree::Templates;

fn committed(store: &Store, commit: Commit) -> CommitResult {
    store.commit(commit).now_or_never().expect("an inline commit is ready at once")
}

#[test]
fn tables_of_another_version_are_refused_and_left_as_they_are() {
    let Some((options, _directory)) = options() else { return };
    Store::open_inline_with(&options).unwrap().close().unwrap();
    let client = Client::of(options.database.as_ref().unwrap()).unwrap();
    for found in [schema::KNOWN - 1, schema::KNOWN + 1] {
        let statement = format!("UPDATE offerd_schema SET version = {found}");
        let put = client.ask(|connection| async move { connection.say(&statement).await });
        put.unwrap();
        let error = Store::open_inline_with(&options).unwrap_err().to_string();
        let wanted =
            format!("have version `{found}`, this offerd needs `{}`: run the offerd that", schema::KNOWN);
        assert!(error.contains(&wanted), "{error}");
        assert_eq!(schema::version(&client).unwrap(), Some(found));
        let figures = Store::database_figures(&options).unwrap().unwrap();
        assert_eq!((figures.version, figures.known), (found, schema::KNOWN));
        assert!(figures.keeps_sessions, "no pooler is in front");
    }
}

#[test]
fn what_is_acknowledged_is_there_for_who_comes_next() {
    let Some((options, _directory)) = options() else { return };
    let mut killed = options.clone();
    let line = Line::to(&options.database.as_ref().unwrap().url);
    killed.database.as_mut().unwrap().url = line.url.clone();
    let store = Store::open_inline_with(&killed).unwrap();
    committed(&store, Commit::new().put(TREE, "key", "value")).unwrap();
    // Like a kill: nothing is released, and the next process ends the node.
    line.cut(true);
    std::mem::forget(store);
    let store = Store::open_inline_with(&options).unwrap();
    assert_eq!(store.get(TREE, "key"), Ok(Some(b"value".to_vec())));
    assert!(store.check().unwrap().is_sound());
}

#[test]
fn who_was_ended_writes_nothing_more_and_others_go_on() {
    let Some((options, directory)) = options() else { return };
    let first = Store::open_inline_with(&options).unwrap();
    let second = beside(&options, &directory, "second");
    committed(&first, Commit::new().put(TREE, "key", "first")).unwrap();
    // Like a restart in the same directory.
    let third = Store::open_inline_with(&options).unwrap();
    assert!(matches!(committed(&first, Commit::new().put(TREE, "key", "late")), Err(CommitError::Failed(_))));
    assert!(first.lost().load(Ordering::SeqCst), "only another process can go on");
    for (store, value) in [(&second, "second"), (&third, "third")] {
        committed(store, Commit::new().put(TREE, "key", value)).unwrap();
        assert_eq!(first.get(TREE, "key"), Ok(Some(value.as_bytes().to_vec())));
    }
}

#[test]
fn what_many_processes_append_to_one_feed_is_all_there_in_the_order_in_which_it_appears() {
    let Some((options, directory)) = options() else { return };
    let stores = [
        Store::open_inline_with(&options).unwrap(),
        beside(&options, &directory, "second"),
        beside(&options, &directory, "third"),
    ];
    let company = uuid::Uuid::from_u128(7);
    let is_over = AtomicBool::new(false);
    let mut seen = Vec::new();
    thread::scope(|scope| {
        let writing: Vec<_> = (0_u8..)
            .zip(&stores)
            .map(|(number, store)| {
                scope.spawn(move || {
                    for round in 0..40_u8 {
                        let commit = Commit::new().append(Tree::LeadEvents, company, [number, round]);
                        committed(store, commit).unwrap();
                    }
                })
            })
            .collect();
        // A reader that follows the feed by the last key it has seen misses nothing.
        let following = scope.spawn(|| {
            let mut seen: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            loop {
                let ends = is_over.load(Ordering::SeqCst);
                let start =
                    seen.last().map_or(company.as_bytes().to_vec(), |(key, _)| [&key[..], &[0]].concat());
                seen.extend(stores[1].scan_from(Tree::LeadEvents, start, company).map(Result::unwrap));
                if ends {
                    return seen;
                }
            }
        });
        writing.into_iter().for_each(|writer| writer.join().unwrap());
        is_over.store(true, Ordering::SeqCst);
        seen = following.join().unwrap();
    });
    assert_eq!(seen.len(), 3 * 40, "none is missed and none is written over");
    for number in 0..3 {
        let of_one = seen.iter().filter(|(_, payload)| payload[0] == number).map(|(_, payload)| payload[1]);
        assert!(of_one.eq(0..40), "each in the order in which it was written");
    }
}

#[test]
fn an_erasure_in_one_process_leaves_what_others_have_of_the_same_slot_readable() {
    let Some((options, directory)) = options() else { return };
    let first = Store::open_inline_with(&options).unwrap();
    let second = beside(&options, &directory, "second");
    let sealing = || first.shared.engine.sealing();
    let slot = |lead| sealing().slots.slot_of(lead);
    let gone = offerd_base::ids::random();
    let mate =
        std::iter::repeat_with(offerd_base::ids::random).find(|lead| slot(*lead) == slot(gone)).unwrap();
    let late =
        std::iter::repeat_with(offerd_base::ids::random).find(|lead| slot(*lead) == slot(gone)).unwrap();
    for (store, lead) in [(&first, gone), (&second, mate)] {
        committed(store, Commit::new().about(lead).put(Tree::Leads, lead.as_bytes(), "of a person")).unwrap();
    }
    committed(&first, Commit::new().erase(gone, 7)).unwrap();
    // The second node has not noticed yet that the keys have changed.
    committed(&second, Commit::new().about(late).put(Tree::Leads, late.as_bytes(), "later")).unwrap();
    committed(&second, Commit::new().erase(offerd_base::ids::random(), 8)).unwrap();
    for store in [&first, &second] {
        assert_eq!(store.get(Tree::Leads, gone.as_bytes()), Ok(None));
        assert!(store.is_erased(gone).unwrap());
        assert_eq!(store.get(Tree::Leads, mate.as_bytes()), Ok(Some(b"of a person".to_vec())));
        assert_eq!(store.get(Tree::Leads, late.as_bytes()), Ok(Some(b"later".to_vec())));
        assert_eq!(store.broken_records(), 0);
    }
    assert!(matches!(
        committed(&second, Commit::new().about(gone).put(Tree::Leads, gone.as_bytes(), "again")),
        Err(CommitError::Erased)
    ));
}

#[test]
fn of_equal_identities_through_two_processes_one_wins_also_where_each_would_begin_the_key() {
    let Some((options, directory)) = options() else { return };
    let stores = [Store::open_inline_with(&options).unwrap(), beside(&options, &directory, "second")];
    for _ in 0..10 {
        let (company, day) = (offerd_base::ids::random(), 24 * 3600 * 1000);
        let outcomes = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for store in &stores {
                let outcomes = &outcomes;
                scope.spawn(move || {
                    let lead = offerd_base::ids::random();
                    let known = Commit::new().unknown(company, [7; 32], 0).about_new(lead);
                    let outcome = committed(store, known.identify(company, [7; 32], day, day));
                    outcomes.lock().unwrap().push(outcome);
                });
            }
        });
        let outcomes = outcomes.into_inner().unwrap();
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    }
}

#[test]
fn what_one_process_changes_is_noticed_in_the_others_and_one_leads() {
    let Some((options, directory)) = options() else { return };
    let first = Store::open_inline_with(&options).unwrap();
    let second = beside(&options, &directory, "second");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    first.become_candidate(String::new());
    runtime.block_on(first.until_leader());
    second.become_candidate("the second".to_owned());
    let seen = second.changes_of(Topic::Pauses);
    committed(&first, Commit::new().put(Tree::Pauses, "partner", "{}")).unwrap();
    runtime.block_on(second.until_changed(Topic::Pauses, seen));
    assert!(!second.is_leader() && second.alive().unwrap().contains(&first.node()));
    assert_eq!(first.nodes().unwrap().len(), 2);
    let node = first.node();
    first.close().unwrap();
    runtime.block_on(second.until_leader());
    assert!(!second.alive().unwrap().contains(&node));
}

#[test]
fn the_master_key_is_not_exchanged_under_another_live_process() {
    let Some((options, directory)) = options() else { return };
    let file = directory.path().join("new.key");
    let new = MasterKey::create(&file).unwrap();
    let first = Store::open_inline_with(&options).unwrap();
    let second = beside(&options, &directory, "second");
    let refused = first.exchange_master_key(new.clone()).unwrap_err().to_string();
    assert!(refused.contains(&second.node().to_string()), "{refused}");
    assert!(!refused.contains(&first.node().to_string()), "{refused}");
    committed(&second, Commit::new().put(TREE, "key", "value")).unwrap();
    second.close().unwrap();
    first.exchange_master_key(new).unwrap();
    first.close().unwrap();
    let options = StoreOptions { master_key_file: Some(file), ..options };
    assert_eq!(Store::open_inline_with(&options).unwrap().get(TREE, "key"), Ok(Some(b"value".to_vec())));
}

#[test]
fn of_two_writers_at_one_time_one_wins_whatever_each_relies_on() {
    let Some((options, _directory)) = options() else { return };
    let opened = super::open(&options, options.database.as_ref().unwrap()).unwrap();
    let writer = || {
        let (database, clock) = (Arc::clone(&opened.database), Arc::clone(&opened.clock));
        let Committer { latch, stalls, .. } = &opened.committer;
        let writer = DatabaseWriter::new(database, Arrivals::after(0, clock), Arc::clone(stalls));
        let (latch, stalls) = (Arc::clone(latch), Arc::clone(stalls));
        Committer { latch, stalls, mend_interval: Duration::from_secs(1), tried: None, writer }
    };
    // Each node writes what the other requires to be missing, or both write the same.
    for round in 0..40_u8 {
        let keys = [[round, 0], [round, u8::from(round % 2 == 0)]];
        let claim = |own: usize| {
            let commit = Commit::new().absent(TREE, keys[0]).absent(TREE, keys[1]);
            commit.put(TREE, keys[own], [own as u8])
        };
        let outcomes = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for own in 0..2 {
                let (mut writer, outcomes) = (writer(), &outcomes);
                scope.spawn(move || {
                    let outcome = writer.execute(&[claim(own)]).remove(0);
                    outcomes.lock().unwrap().push(outcome);
                });
            }
        });
        let outcomes = outcomes.into_inner().unwrap();
        let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        let lost =
            outcomes.iter().filter(|outcome| matches!(outcome, Err(CommitError::Guard { .. }))).count();
        assert_eq!((won, lost), (1, 1), "round {round}: {outcomes:?}");
    }
}

/// A store whose database can be disconnected, with a lease that outlasts the test.
fn on_a_line() -> Option<(Store, Line, TempDir)> {
    let (mut options, directory) = options()?;
    let database = options.database.as_mut()?;
    let line = Line::to(&database.url);
    database.url = line.url.clone();
    database.answer_within = Duration::from_millis(500);
    database.lease = Duration::from_secs(60);
    Some((Store::open_inline_with(&options).unwrap(), line, directory))
}

#[test]
fn a_database_that_is_lost_is_told_and_commits_go_on_when_it_is_back() {
    let Some((store, line, _directory)) = on_a_line() else { return };
    committed(&store, Commit::new().put(TREE, "key", "before")).unwrap();
    line.cut(true);
    assert!(matches!(committed(&store, Commit::new().put(TREE, "key", "lost")), Err(CommitError::Failed(_))));
    assert!(matches!(store.health(), StoreHealth::Failed(_)));
    assert!(store.get(TREE, "key").is_err() && store.is_out_of_reach());
    until(&store, |health| matches!(health, StoreHealth::Failed(_)) && store.database_silence().is_some());
    line.cut(false);
    let mut tries = 0;
    while committed(&store, Commit::new().put(TREE, "key", "after")).is_err()
        || store.health() != StoreHealth::Sound
    {
        tries += 1;
        assert!(tries < 20_000, "{:?}", store.health());
        thread::park_timeout(Duration::from_millis(5));
    }
    assert_eq!(store.get(TREE, "key"), Ok(Some(b"after".to_vec())));
    until(&store, |_| !store.is_out_of_reach());
}

/// Waits until the health of a store satisfies a condition.
fn until(store: &Store, is_so: impl Fn(&StoreHealth) -> bool) {
    let mut looks = 0;
    while !is_so(&store.health()) {
        looks += 1;
        assert!(looks < 12_000, "{:?}", store.health());
        thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn a_database_that_is_lost_while_nothing_is_written_is_told_too() {
    let Some((store, line, _directory)) = on_a_line() else { return };
    line.cut(true);
    until(&store, |health| matches!(health, StoreHealth::Stalled(told) if told.contains("the database")));
    line.cut(false);
    until(&store, |health| *health == StoreHealth::Sound);
}

#[test]
fn a_database_that_would_take_no_write_is_told_before_a_start_finds_out() {
    let Some((options, _directory)) = options() else { return };
    let read_only = |options: &StoreOptions| {
        let mut read_only = options.clone();
        read_only.database.as_mut().unwrap().url.push_str("%20-cdefault_transaction_read_only%3Don");
        Store::database_figures(&read_only)
            .map(|figures| figures.is_some())
            .map_err(|error| error.to_string())
    };
    assert!(read_only(&options).unwrap_err().contains("read-only"), "no tables could be made");
    assert_eq!(Store::database_figures(&options).map(|figures| figures.is_some()).ok(), Some(false));
    let store = Store::open_inline_with(&options).unwrap();
    committed(&store, Commit::new().put(TREE, "key", "kept")).unwrap();
    assert!(read_only(&options).unwrap_err().contains("read-only"), "nothing could be written");
    assert_eq!(Store::database_figures(&options).map(|figures| figures.is_some()).ok(), Some(true));
    assert_eq!(store.get(TREE, "key"), Ok(Some(b"kept".to_vec())), "looking has changed nothing");
    assert_eq!(store.nodes().unwrap().len(), 1);
}

const HOUR_MS: u64 = 3_600_000;

/// A lead with a uuid that has no time, its table, an event, and its identity.
fn submit(store: &Store, company: uuid::Uuid, nth: u8) -> (uuid::Uuid, uuid::Uuid) {
    let (lead, table) =
        (uuid::Uuid::from_u128(0xEE00 + u128::from(nth)), offerd_base::ids::timed_at(store.arrival_ms()));
    let of_lead = |rest: uuid::Uuid| [lead.as_bytes(), &rest.as_bytes()[..]].concat();
    let commit = Commit::new()
        .about(lead)
        .put(Tree::Leads, lead, "a person")
        .put(Tree::LeadTables, of_lead(table), "")
        .put(Tree::LeadActions, of_lead(offerd_base::ids::random()), "clicked")
        .put(Tree::RateTables, table, "head")
        .put(Tree::Answers, [table.as_bytes(), &[0, 0][..]].concat(), "offers")
        .put(Tree::PartnerEvents, [nth; 32], "report")
        .append(Tree::LeadEvents, company, [nth]);
    committed(store, commit).unwrap();
    (lead, table)
}

/// Removes what is older than three hours, each step in another process; returns whether there was any.
fn expired(stores: &[Store]) -> bool {
    let mut nodes = stores.iter().cycle();
    let mut steps = 0;
    loop {
        let store = nodes.next().unwrap();
        let now_ms = store.now_ms();
        let before_ms = now_ms.unsigned_abs() - 3 * HOUR_MS;
        let step = store.expire_before(before_ms, Duration::from_millis(HOUR_MS), now_ms);
        match step.now_or_never().expect("an inline commit is ready at once").unwrap() {
            None => return steps > 0,
            Some(_) => steps += 1,
        }
    }
}

#[test]
fn what_is_older_than_it_is_to_be_kept_goes_whichever_process_removes_it_and_the_rest_stays() {
    let Some(mut nodes) = TestNodes::new() else { return };
    let now_ms = Arc::new(AtomicU64::new(1_700_000_000_000));
    let clock = Arc::clone(&now_ms);
    nodes.options.clock = Clock::new(move || clock.load(Ordering::SeqCst) * 1000);
    let pass = |hours: u64| now_ms.fetch_add(hours * HOUR_MS, Ordering::SeqCst);
    let stores = [nodes.first(), nodes.beside("second")];
    let [first, second] = &stores;
    let companies = [uuid::Uuid::from_u128(7), uuid::Uuid::from_u128(8)];
    let old = [submit(first, companies[0], 1), submit(second, companies[1], 2)];
    pass(2);
    let young = [submit(first, companies[0], 3), submit(second, companies[1], 4)];
    assert!(expired(&stores), "the first pass");
    assert_eq!(first.count(Tree::Leads, []), Ok(4), "nothing is too old yet");
    assert!(!expired(&stores), "the next pass is not due");

    pass(2);
    assert!(expired(&stores));
    for (lead, table) in old {
        assert_eq!(second.get(Tree::Leads, lead), Ok(None));
        assert_eq!(second.get(Tree::RateTables, table), Ok(None));
        assert!(first.is_erased(lead).unwrap(), "its key is destroyed");
    }
    for (lead, table) in young {
        assert_eq!(first.get(Tree::Leads, lead), Ok(Some(b"a person".to_vec())));
        assert!(second.get(Tree::RateTables, table).unwrap().is_some());
    }
    let by_lead = [Tree::Leads, Tree::LeadTables, Tree::LeadActions, Tree::RateTables, Tree::Answers];
    for tree in by_lead.into_iter().chain([Tree::PartnerEvents, Tree::LeadEvents]) {
        assert_eq!(first.count(tree, []), Ok(2), "{tree:?}");
    }

    pass(4);
    assert!(expired(&stores));
    assert_eq!(first.count(Tree::Leads, []), Ok(0));
    assert_eq!(first.count(Tree::LeadKeys, []), Ok(4), "that keys were destroyed is known");
    pass(8);
    // One pass finds that everything is gone, the next removes the data keys.
    assert!(expired(&stores));
    pass(2);
    assert!(expired(&stores));
    assert_eq!(first.count(Tree::LeadKeys, []), Ok(0));
    assert!(stores.iter().all(|store| store.broken_records() == 0 && store.check().unwrap().is_sound()));
}
