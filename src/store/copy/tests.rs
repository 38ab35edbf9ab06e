//! Copies of a store into a database and back.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use tempfile::TempDir;
use uuid::Uuid;

use super::*;
use crate::testing::database;
use crate::{Clock, ClockLimits, Commit, Seal, Store, StoreError, TREES, Tree, VolumeSelector};

/// When the first record of the test was written.
const MARCH_MS: u64 = 1_772_323_200_000;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Two stores that must end up equal, and the database between them.
struct Sides {
    there: StoreOptions,
    back: StoreOptions,
    database: PostgresSettings,
    _both: TempDir,
}

/// `None`, with a notice, if there is no database.
fn sides() -> Option<Sides> {
    let Some(database) = database() else {
        eprintln!("SKIPPED: OFFERD_TEST_POSTGRES names no database");
        return None;
    };
    let both = tempfile::tempdir().expect("a directory");
    let key = both.path().join("key");
    MasterKey::create(&key).unwrap();
    let options = |name: &str| StoreOptions {
        master_key_file: Some(key.clone()),
        lock_wait: Duration::from_secs(5),
        volume_age: Duration::from_secs(10 * 24 * 3600),
        ..StoreOptions::new(both.path().join(name))
    };
    Some(Sides { there: options("there"), back: options("back"), database, _both: both })
}

impl Sides {
    fn copied(&self, direction: Direction) -> Result<Copied, CopyError> {
        let options = if direction == Direction::IntoDatabase { &self.there } else { &self.back };
        copy(options, &self.database, direction, &mut |_| {})
    }

    /// Copies in small batches and panics after so many progress reports, like a kill.
    fn interrupted(&self, direction: Direction, after: usize) {
        let options = if direction == Direction::IntoDatabase { &self.there } else { &self.back };
        let mut told = 0;
        let killed = catch_unwind(AssertUnwindSafe(|| {
            let tell = &mut |_| {
                told += 1;
                assert!(told < after, "it is killed here");
            };
            copy(options, &self.database, direction, tell)
        }));
        assert!(killed.is_err(), "it was killed");
    }

    fn in_database(&self) -> Result<Store, StoreError> {
        let path = self.there.path.with_file_name("node");
        Store::open_inline_with(&StoreOptions {
            path,
            database: Some(self.database.clone()),
            ..self.there.clone()
        })
    }
}

fn committed(store: &Store, commit: Commit) {
    store.commit(commit).now_or_never().expect("an inline commit is ready at once").unwrap();
}

/// The lead of a day, whose uuid has that time.
fn lead(day: u64) -> Uuid {
    offerd_base::ids::timed_at(MARCH_MS + day * DAY_MS)
}

/// Writes records of every kind over forty days, and erases the first lead; returns the first and last.
fn filled(options: &StoreOptions) -> (Uuid, Uuid) {
    let day = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let now = std::sync::Arc::clone(&day);
    let clock =
        Clock::new(move || (MARCH_MS + now.load(std::sync::atomic::Ordering::SeqCst) * DAY_MS) * 1000);
    // The clock is stepped ahead by days.
    let days = Duration::from_secs(100 * 24 * 3600);
    let clock_limits = ClockLimits { jump: days, hold: Duration::ZERO, gap: days };
    let store = Store::open_inline_with(&StoreOptions { clock, clock_limits, ..options.clone() }).unwrap();
    let mut leads = Vec::new();
    for number in (0..40).step_by(4) {
        day.store(number, std::sync::atomic::Ordering::SeqCst);
        let (lead, table) = (lead(number), offerd_base::ids::timed_at(MARCH_MS + number * DAY_MS + 1));
        let company = Uuid::from_u128(7);
        let mut commit = Commit::new().about(lead);
        for row in TREES.iter().filter(|row| row.seal != Seal::Ephemeral && row.tree != Tree::LeadKeys) {
            commit = match row.kept {
                _ if Tree::FEEDS.contains(&row.tree) => commit.append(row.tree, company, [number as u8; 9]),
                VolumeSelector::WithLead => {
                    commit.put(row.tree, [lead.as_bytes(), &[1][..]].concat(), "with the lead")
                }
                VolumeSelector::ByTime => commit.put(row.tree, table.as_bytes(), "by time"),
                _ if row.tree == Tree::Identities => {
                    let at_ms = i64::try_from(MARCH_MS + number * DAY_MS).unwrap();
                    commit.identify(company, [number as u8; 32], at_ms, DAY_MS as i64)
                }
                _ => commit.put(row.tree, format!("{number}"), vec![number as u8; 40_000]),
            };
        }
        committed(&store, commit.put(Tree::Leads, lead.as_bytes(), vec![3; 100_000]));
        leads.push(lead);
    }
    committed(&store, Commit::new().erase(leads[0], 5));
    store.close().unwrap();
    (leads[0], leads[9])
}

/// All readable records of a store, by tree and key.
fn all(store: &Store) -> BTreeMap<(&'static str, Vec<u8>), Vec<u8>> {
    let records = |tree: Tree| {
        store.scan(tree, "").map(move |record| record.map(|(key, payload)| ((tree.name(), key), payload)))
    };
    let trees = TREES.iter().map(|row| row.tree).filter(|tree| *tree != Tree::LeadKeys);
    trees.flat_map(records).map(Result::unwrap).collect()
}

#[test]
fn a_store_that_was_copied_there_and_back_is_the_same() {
    let Some(sides) = sides() else { return };
    let (erased, last) = filled(&sides.there);
    let there = sides.copied(Direction::IntoDatabase).unwrap();
    assert!(there.compared.is_equal() && !there.is_resumed, "{:?}", there.compared);
    let back = sides.copied(Direction::IntoFiles).unwrap();
    assert!(back.compared.is_equal(), "{:?}", back.compared);
    assert_eq!(there.written, back.written);

    let first = Store::open_inline_with(&sides.there).unwrap();
    let second = Store::open_inline_with(&sides.back).unwrap();
    assert_eq!(all(&first), all(&second));
    assert_eq!(all(&first), all(&sides.in_database().unwrap()));
    assert_eq!(first.closed_us().unwrap(), second.closed_us().unwrap());
    assert!(second.is_erased(erased).unwrap() && second.check().unwrap().is_sound());
    assert_eq!(second.get(Tree::Leads, last.as_bytes()), Ok(Some(vec![3; 100_000])));
    // The next arrival continues after the last.
    committed(&second, Commit::new().append(Tree::LeadEvents, Uuid::from_u128(7), "next"));
    assert!(second.closed_us().unwrap() > first.closed_us().unwrap());
}

#[test]
fn what_comes_back_lies_in_volumes_of_its_time_and_goes_with_them() {
    let Some(sides) = sides() else { return };
    let (_, last) = filled(&sides.there);
    sides.copied(Direction::IntoDatabase).unwrap();
    sides.copied(Direction::IntoFiles).unwrap();
    let store = Store::open_inline_with(&sides.back).unwrap();
    assert_eq!(store.volumes().len(), 4, "one for each ten days, as far as there is something of them");
    let before = store.check().unwrap().count(Tree::RateTables);
    let twenty = MARCH_MS + 12 * DAY_MS;
    let dropped = store.drop_before(twenty, 0).now_or_never().unwrap().unwrap().expect("the oldest goes");
    assert_eq!(dropped.leads, 2, "the third of its leads was erased");
    assert_eq!(store.check().unwrap().count(Tree::RateTables), before - 3);
    assert!(store.get(Tree::Leads, last.as_bytes()).unwrap().is_some() && store.check().unwrap().is_sound());
}

#[test]
fn a_copy_that_was_interrupted_goes_on_and_nobody_opens_it_before() {
    let Some(sides) = sides() else { return };
    filled(&sides.there);
    for direction in [Direction::IntoDatabase, Direction::IntoFiles] {
        sides.interrupted(direction, 7);
        let opened = match direction {
            Direction::IntoDatabase => sides.in_database(),
            Direction::IntoFiles => Store::open_inline_with(&sides.back),
        };
        assert!(matches!(opened, Err(StoreError::Unfinished)), "{opened:?}");
        let copied = sides.copied(direction).unwrap();
        let all: u64 = copied.compared.trees.iter().map(|counts| counts.source.records).sum();
        assert!(copied.is_resumed && copied.compared.is_equal(), "{:?}", copied.compared);
        assert!(copied.written < all, "what was there is not copied again");
    }
    assert!(Store::open_inline_with(&sides.back).unwrap().check().unwrap().is_sound());
}

#[test]
fn a_copy_that_ended_before_its_first_record_is_opened_by_nobody_either() {
    let Some(sides) = sides() else { return };
    filled(&sides.there);
    let master = MasterKey::find(sides.there.master_key_file.as_deref(), &sides.there.path).unwrap().unwrap();
    {
        let mut files = FilesSide::source(&sides.there, master.clone()).unwrap();
        begin(&mut files, &mut DatabaseSide::of(&sides.database).unwrap(), &master).unwrap();
    }
    assert!(matches!(sides.in_database(), Err(StoreError::Unfinished)));
    let looked_at = StoreOptions { database: Some(sides.database.clone()), ..sides.back.clone() };
    assert!(matches!(Store::database_figures(&looked_at), Err(StoreError::Unfinished)));
    assert!(sides.copied(Direction::IntoDatabase).unwrap().compared.is_equal());
    {
        let mut tables = DatabaseSide::of(&sides.database).unwrap();
        begin(&mut tables, &mut FilesSide::target(&sides.back, master.clone()), &master).unwrap();
    }
    assert!(matches!(Store::open(sides.back.clone()), Err(StoreError::Unfinished)));
    assert!(sides.copied(Direction::IntoFiles).unwrap().compared.is_equal());
    assert!(Store::open(sides.back.clone()).unwrap().close().is_ok());
}

#[test]
fn a_copy_of_what_was_written_to_since_does_not_go_on() {
    let Some(sides) = sides() else { return };
    let (_, last) = filled(&sides.there);
    sides.interrupted(Direction::IntoDatabase, 7);
    let store = Store::open_inline_with(&sides.there).unwrap();
    committed(&store, Commit::new().erase(last, 6));
    drop(store);
    assert!(matches!(sides.copied(Direction::IntoDatabase), Err(CopyError::Changed { .. })));
}

#[test]
fn nothing_is_copied_over_another_store() {
    let Some(sides) = sides() else { return };
    filled(&sides.there);
    drop(sides.in_database().unwrap());
    let refused = sides.copied(Direction::IntoDatabase).unwrap_err();
    assert!(matches!(refused, CopyError::NotEmpty { .. }), "{refused}");
    let refused = copy(&sides.there, &sides.database, Direction::IntoFiles, &mut |_| {}).unwrap_err();
    assert!(matches!(refused, CopyError::NotEmpty { .. }), "{refused}");

    let Some(others) = self::sides() else { return };
    filled(&others.there);
    others.interrupted(Direction::IntoDatabase, 7);
    let onto = Sides { database: others.database.clone(), ..sides };
    let key = onto.there.master_key_file.clone().unwrap();
    std::fs::copy(others.there.master_key_file.as_ref().unwrap(), key).unwrap();
    // The same master key, but other keys.
    std::fs::remove_dir_all(&onto.there.path).unwrap();
    filled(&onto.there);
    let refused = onto.copied(Direction::IntoDatabase).unwrap_err();
    assert!(matches!(refused, CopyError::OtherSource { .. }), "{refused}");
}

#[test]
fn while_a_node_is_alive_in_the_database_nothing_is_copied() {
    let Some(sides) = sides() else { return };
    let node = sides.in_database().unwrap();
    let refused = sides.copied(Direction::IntoFiles).unwrap_err();
    assert!(matches!(&refused, CopyError::Alive(alive) if *alive == [node.node()]), "{refused}");
    assert!(!Path::new(&sides.back.path).exists());
}

#[test]
fn a_difference_is_named_by_its_tree_and_key() {
    let Some(mut sides) = sides() else { return };
    // A slow machine must not lose it.
    sides.database.lease = Duration::from_secs(60);
    filled(&sides.there);
    let told = sides.copied(Direction::IntoDatabase).unwrap();
    assert_eq!(told.compared.difference, None);
    // As if the copy had lost one record and changed another; in key order, the second comes first.
    let store = sides.in_database().unwrap();
    committed(&store, Commit::new().put(Tree::Templates, "12", "changed").remove(Tree::Templates, "8"));
    store.close().unwrap();
    drop(store);
    let master = MasterKey::read(sides.there.master_key_file.as_deref().unwrap()).unwrap();
    let (files, tables) =
        (FilesSide::source(&sides.there, master).unwrap(), DatabaseSide::of(&sides.database).unwrap());
    let compared = compare::compare(&files, &tables, &mut |_| {}).unwrap();
    assert!(!compared.is_equal());
    let difference = compared.difference.unwrap();
    assert_eq!((difference.tree, difference.key.as_str()), (Tree::Templates, "3132"));
    assert_eq!(difference.how, "it differs");
}
