//! Records in several volumes: read as if they were in one, and dropped by age.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;

use super::backup::taken;
use super::*;
use crate::backup::Restore;
use crate::changes::RecordChange;

pub(super) const COMPANY: Uuid = Uuid::from_u128(0xC0);

pub(super) const HOUR_MS: u64 = 3_600_000;

/// A store that begins a volume each hour, and its clock, which stands still.
pub(super) struct Hourly {
    pub(super) options: StoreOptions,
    now_ms: Arc<AtomicU64>,
}

impl Hourly {
    pub(super) fn of(directory: &Directory) -> Self {
        let now_ms = Arc::new(AtomicU64::new(1_700_000_000_000));
        let mut options = StoreOptions::new(directory.path());
        let clock = Arc::clone(&now_ms);
        options.clock = Clock::new(move || clock.load(Ordering::SeqCst) * 1000);
        options.volume_age = Duration::from_millis(HOUR_MS);
        Self { options, now_ms }
    }

    pub(super) fn open(&self) -> Store {
        Store::open_inline_with(&self.options).unwrap()
    }

    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    pub(super) fn pass(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }

    fn uuid(&self, nth: u32) -> Uuid {
        let version = 7_u128 << 76;
        Uuid::from_u128(u128::from(self.now_ms()) << 80 | version | 2 << 62 | u128::from(nth))
    }
}

/// A lead with a uuid that has no time, its table, an event, and its identity.
pub(super) fn submit(store: &Store, hourly: &Hourly, nth: u32) -> (Uuid, Uuid) {
    let (lead, table) = (Uuid::from_u128(0xEE00 + u128::from(nth)), hourly.uuid(nth));
    let at = hourly.now_ms().cast_signed();
    let commit = Commit::new()
        .about(lead)
        .put(Tree::Leads, lead, format!("lead {nth}"))
        .put(Tree::LeadTables, [lead.as_bytes(), &table.as_bytes()[..]].concat(), "")
        .put(Tree::RateTables, table, "head")
        .put(Tree::Answers, [table.as_bytes(), &[0, 0][..]].concat(), vec![nth as u8; 9_000])
        .identify(COMPANY, [nth as u8; 32], at, 1)
        .put(Tree::PartnerEvents, nth.to_be_bytes(), "report")
        .put(Tree::Templates, "shared", "text")
        .append(Tree::LeadEvents, COMPANY, nth.to_be_bytes());
    store.commit_now(commit).unwrap();
    (lead, table)
}

pub(super) fn answers(store: &Store, table: Uuid) -> usize {
    store.scan(Tree::Answers, table).map(|record| record.unwrap().1.len()).sum()
}

pub(super) fn events(store: &Store) -> Vec<u32> {
    let number = |payload: Vec<u8>| u32::from_be_bytes(payload.try_into().unwrap());
    store.scan(Tree::LeadEvents, COMPANY).map(|record| number(record.unwrap().1)).collect()
}

#[test]
fn what_lies_in_several_volumes_is_read_as_if_it_lay_in_one() {
    let directory = directory();
    let hourly = Hourly::of(&directory);
    let mut store = hourly.open();
    let mut submitted = Vec::new();
    for nth in 0..9 {
        submitted.push(submit(&store, &hourly, nth));
        hourly.pass(HOUR_MS / 2);
        if nth == 4 {
            drop(store);
            store = hourly.open();
        }
    }
    assert_eq!(store.volumes().len(), 5);
    let second_table = hourly.uuid(99);
    let (first, _) = submitted[0];
    let grown = Commit::new()
        .about(first)
        .put(Tree::LeadTables, [first.as_bytes(), &second_table.as_bytes()[..]].concat(), "")
        .put(Tree::LeadActions, [first.as_bytes(), &[1; 16][..]].concat(), "applied")
        .put(Tree::Answers, [second_table.as_bytes(), &[0, 0][..]].concat(), "late");
    store.commit_now(grown).unwrap();

    let check = |store: &Store| {
        for (nth, (lead, table)) in submitted.iter().enumerate() {
            assert_eq!(store.payload(Tree::Leads, lead), Some(format!("lead {nth}").into_bytes()));
            assert_eq!(answers(store, *table), 9_000);
        }
        assert_eq!(events(store), Vec::from_iter(0..9));
        assert_eq!(store.scan(Tree::LeadTables, first).count(), 2);
        assert_eq!(store.scan(Tree::LeadActions, first).count(), 1);
        assert_eq!(answers(store, second_table), 4);
        let tables = store.scan(Tree::RateTables, []).map(|record| record.unwrap().0);
        assert!(tables.eq(submitted.iter().map(|(_, table)| table.as_bytes().to_vec())), "by their time");
        let since = FeedKey::first_at(COMPANY, (1_700_000_000_000 + 3 * HOUR_MS) * 1000).to_bytes();
        assert_eq!(store.scan_from(Tree::LeadEvents, since, COMPANY).count(), 3);
        assert!(store.check().unwrap().is_sound());
    };
    check(&store);
    check(&killed(store, &directory));
}

#[test]
fn a_volume_that_is_worked_on_no_more_is_closed_and_opened_when_it_is_asked_for() {
    let directory = directory();
    let hourly = Hourly::of(&directory);
    let store = hourly.open();
    let submitted: Vec<(Uuid, Uuid)> = (0..5)
        .map(|nth| {
            hourly.pass(HOUR_MS);
            submit(&store, &hourly, nth)
        })
        .collect();
    let volumes = store.shared.records().volumes();
    let numbers = volumes.open_numbers();
    let young = numbers.len() - 2;

    volumes.close_idle().unwrap();
    assert_eq!(volumes.open_numbers(), numbers, "each was used a moment ago");
    let read = volumes.volume(2).unwrap().unwrap();
    volumes.close_idle().unwrap();
    volumes.close_idle().unwrap();
    assert_eq!(volumes.open_numbers(), [2, numbers[young], numbers[young + 1]], "one is being read");
    drop(read);
    volumes.close_idle().unwrap();
    assert_eq!(volumes.open_numbers(), numbers[young..]);
    for (nth, (lead, table)) in submitted.into_iter().enumerate() {
        assert_eq!(store.get(Tree::Leads, lead).unwrap().unwrap(), format!("lead {nth}").as_bytes());
        assert_eq!(answers(&store, table), 9_000);
    }
    assert_eq!(volumes.open_numbers(), numbers[1..], "but the first, which has no records");
}

#[test]
fn a_volume_that_is_too_large_at_a_start_is_followed_by_the_next() {
    let directory = directory();
    let mut hourly = Hourly::of(&directory);
    hourly.options.volume_bytes = 64 * 1024;
    let volumes_after = |leads: std::ops::Range<u32>| {
        let store = hourly.open();
        for nth in leads {
            submit(&store, &hourly, nth);
        }
        crate::volume_number::volumes_in(directory.path()).unwrap().len()
    };
    let leads_of_nine_kilobytes = [volumes_after(0..1), volumes_after(1..9), volumes_after(9..10)];
    assert_eq!(leads_of_nine_kilobytes, [1, 1, 2]);
}

/// Files of 1 MiB, each with live records among dead ones.
#[test]
fn the_base_is_compacted_a_part_at_a_time_and_keeps_every_live_record() {
    let directory = directory();
    let mut options = StoreOptions::new(directory.path());
    options.volume_bytes = crate::volumes::BASE_FILE_SHARE << 20;
    let store = Store::open_inline_with(&options).unwrap();
    for nth in 0..60_u8 {
        let commit = Commit::new().put(Tree::Templates, "dead", vec![nth; 100_000]);
        // A group is not followed by a step, as a commit is.
        assert_eq!(store.commit_group(&[commit.put(Tree::Templates, [nth], vec![nth; 1_000])]), [Ok(())]);
    }
    let steps_until_gone = |file: &str| {
        let CommitQueue::Inline(writer) = &store.shared.queue else { panic!("not an inline store") };
        let file = directory.path().join("base").join(file);
        let step = |_: &usize| writer.lock().as_mut().expect("open").compact_some();
        (1..=20).inspect(step).find(|_| !file.exists())
    };
    let steps = ["00000001.records", "00000002.records"].map(|file| steps_until_gone(file).unwrap_or(0));
    assert!(steps.iter().all(|steps| (4..=6).contains(steps)), "256 KiB a step: {steps:?}");
    for nth in 0..60_u8 {
        assert_eq!(store.payload(Tree::Templates, [nth]), Some(vec![nth; 1_000]));
    }
    assert!(store.check().unwrap().is_sound());
}

#[test]
fn a_volume_that_cannot_be_synced_stays_as_it_is_and_nothing_of_it_is_lost() {
    let directory = directory();
    let hourly = Hourly::of(&directory);
    let store = hourly.open();
    let (_, table) = submit(&store, &hourly, 0);
    for nth in 1..4 {
        hourly.pass(HOUR_MS);
        submit(&store, &hourly, nth);
    }
    let volumes = store.shared.records().volumes();
    volumes.close_idle().unwrap();
    let before = volumes.open_numbers();
    hourly.options.sync_fault.set(true);
    assert!(volumes.close_idle().is_err());
    assert_eq!(volumes.open_numbers(), before);
    assert_eq!(answers(&store, table), 9_000);
    hourly.options.sync_fault.set(false);
    volumes.close_idle().unwrap();
    volumes.close_idle().unwrap();
    assert_ne!(volumes.open_numbers(), before, "what was not synced is tried again");
    assert_eq!(answers(&killed_with(store, &directory, &hourly.options), table), 9_000);
}

#[tokio::test]
async fn what_is_written_to_a_volume_that_was_dropped_does_not_bring_it_back() {
    let directory = directory();
    let hourly = Hourly::of(&directory);
    let store = hourly.open();
    submit(&store, &hourly, 0);
    let dropped = store.volumes()[0].number;
    for nth in 1..4 {
        hourly.pass(HOUR_MS);
        submit(&store, &hourly, nth);
    }
    assert!(store.drop_before(hourly.now_ms(), 0).await.unwrap().is_some());
    let late = RecordChange { volume: dropped, key: b"late"[..].into(), value: Some(b"change"[..].into()) };
    assert!(store.shared.records().volumes().append(vec![late]).is_ok());
    assert!(store.volumes().iter().all(|volume| volume.number != dropped));
    assert!(!directory.path().join("volumes").join(dropped.to_string()).exists());
}

/// A group is applied record by record, so this fails if a reader does not wait for its end.
#[test]
fn readers_see_all_of_a_group_or_nothing() {
    const ROUNDS: u32 = 2_000;
    let directory = directory();
    let store = inline(&directory);
    let number = |tree| store.payload(tree, "n").map_or(0, |n| u32::from_be_bytes(n.try_into().unwrap()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..=ROUNDS {
                let n = n.to_be_bytes();
                store
                    .commit_now(Commit::new().put(Tree::Companies, "n", n).put(Tree::Templates, "n", n))
                    .unwrap();
            }
        });
        while number(Tree::Templates) < ROUNDS {
            for (one, other) in [(Tree::Companies, Tree::Templates), (Tree::Templates, Tree::Companies)] {
                let seen = number(one);
                assert!(number(other) >= seen, "{other:?} is behind {one:?}");
            }
        }
    });
}

#[test]
fn a_backup_has_every_volume_and_so_has_the_store_that_is_restored() {
    let directory = directory();
    let hourly = Hourly::of(&directory);
    let store = hourly.open();
    let mut nth = 0;
    let mut next = || {
        submit(&store, &hourly, nth);
        hourly.pass(HOUR_MS / 3);
        nth += 1;
    };
    (0..5).for_each(|_| next());
    let file = taken(&store, &mut next);
    let master = MasterKey::find(None, directory.path()).unwrap().unwrap();
    let restored = super::directory();
    let mut restore = Restore::begin(restored.path(), master).unwrap();
    restore.push(&file).unwrap();
    let (_, report) = restore.finish().unwrap();
    assert!(report.is_sound());
    fs::copy(directory.path().with_file_name("store.key"), restored.path().with_file_name("store.key"))
        .unwrap();
    let again = inline(&restored);
    // Leads submitted after the last step of the backup are not in it.
    let submitted = u64::from(nth) - 1;
    assert_eq!(again.scan(Tree::Leads, []).count() as u64, submitted);
    assert_eq!(events(&again).len() as u64, submitted);
    assert!(again.volumes().len() > 2);
    assert_eq!(again.check().unwrap().count(Tree::Answers), submitted);
}

#[tokio::test]
async fn what_is_too_old_is_dropped_with_its_volume_and_the_rest_is_as_it_was() {
    let directory = directory();
    let hourly = Hourly::of(&directory);
    let store = hourly.open();
    let mut submitted = Vec::new();
    for nth in 0..6 {
        submitted.push(submit(&store, &hourly, nth));
        hourly.pass(HOUR_MS / 2);
    }
    let (old, young) = submitted.split_at(4);
    let (straddling, _) = old[3];
    let late = hourly.uuid(77);
    let commit = Commit::new().about(straddling).put(Tree::Answers, late, "of a dropped lead");
    store.commit_now(commit).unwrap();

    let now = hourly.now_ms();
    let before_any = now - 3 * HOUR_MS;
    assert_eq!(store.drop_before(before_any, 0).await.unwrap(), None);
    for nth in 0..2 {
        let dropped = store.drop_before(now - HOUR_MS, 0).await.unwrap().expect("it is old enough");
        assert_eq!((dropped.volume, dropped.leads), (nth + 1, 2));
        // Of each lead, its identity and its report.
        assert_eq!(dropped.records, 4);
        assert!(dropped.bytes > 0);
    }
    assert_eq!(store.drop_before(now - HOUR_MS, 0).await.unwrap(), None);

    let check = |store: &Store| {
        for (lead, table) in old {
            assert_eq!((store.payload(Tree::Leads, lead), answers(store, *table)), (None, 0));
        }
        assert_eq!(store.payload(Tree::Answers, late), None, "gone, and not broken");
        for (lead, table) in young {
            assert!(store.payload(Tree::Leads, lead).is_some());
            assert_eq!(answers(store, *table), 9_000);
        }
        assert_eq!(events(store), [4, 5]);
        assert_eq!(store.scan(Tree::Identities, COMPANY).count(), 2);
        assert_eq!(store.scan(Tree::PartnerEvents, []).count(), 2);
        assert!(store.check().unwrap().is_sound());
        assert_eq!(fs::read_dir(directory.path().join("volumes")).unwrap().count(), store.volumes().len());
    };
    check(&store);
    check(&killed(store, &directory));
}

#[tokio::test]
async fn the_size_of_a_store_follows_its_retention() {
    let directory = directory();
    let hourly = Hourly::of(&directory);
    let store = hourly.open();
    let mut sizes = Vec::new();
    for hour in 0..8 {
        for nth in 0..20 {
            submit(&store, &hourly, hour * 1000 + nth);
        }
        hourly.pass(HOUR_MS);
        while store.drop_before(hourly.now_ms() - 2 * HOUR_MS, 0).await.unwrap().is_some() {}
        sizes.push(store.volumes().iter().map(|volume| volume.bytes).sum::<u64>());
    }
    let (grown, last) = (sizes[3], sizes[7]);
    assert!(last <= grown + grown / 4, "it no longer grows when as much goes as comes: {sizes:?}");
}

proptest! {
    #![proptest_config(crate::cases::cases(2))]

    /// Whatever is written, with restarts and kills in between, reads match those of a map.
    #[test]
    fn volumes_tell_what_a_map_tells(
        steps in prop::collection::vec((0..12_u32, 0..4_u8, 0..HOUR_MS / 4, prop::option::of(any::<bool>())), 1..60),
    ) {
        let directory = directory();
        let hourly = Hourly::of(&directory);
        let mut store = hourly.open();
        let mut leads: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        let mut happened = Vec::new();
        for (nth, kind, ms, restart) in steps {
            let lead = Uuid::from_u128(u128::from(nth) << 70);
            match kind {
                0 => {
                    store.commit_now(Commit::new().remove(Tree::Leads, lead)).unwrap();
                    leads.remove(&nth);
                }
                1 => {
                    let event = Commit::new().append(Tree::LeadEvents, COMPANY, nth.to_be_bytes());
                    store.commit_now(event).unwrap();
                    happened.push(nth);
                }
                _ => {
                    let payload = vec![kind; 1 + ms as usize % 14_000];
                    let commit = Commit::new().about(lead).put(Tree::Leads, lead, payload.clone());
                    store.commit_now(commit).unwrap();
                    leads.insert(nth, payload);
                }
            }
            hourly.pass(ms);
            match restart {
                Some(true) => store = killed_with(store, &directory, &hourly.options),
                Some(false) => { drop(store); store = hourly.open(); }
                None => {}
            }
        }
        for nth in 0..12 {
            let lead = Uuid::from_u128(u128::from(nth) << 70);
            prop_assert_eq!(store.payload(Tree::Leads, lead), leads.get(&nth).cloned());
        }
        prop_assert_eq!(store.scan(Tree::Leads, []).count(), leads.len());
        prop_assert_eq!(events(&store), happened);
        prop_assert!(store.check().unwrap().is_sound());
    }
}
