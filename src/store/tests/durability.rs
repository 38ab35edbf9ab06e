//! Records and reports after a restart, a crash or a fault.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;

const TREE: Tree = Tree::Templates;

const LEAD: Uuid = Uuid::from_u128(0x1EAD);

#[test]
fn reopening_keeps_everything() {
    let directory = directory();
    for round in 0..20_u8 {
        let store = inline(&directory);
        assert_eq!(store.scan(TREE, "").count(), usize::from(round));
        store.commit_now(Commit::new().put(TREE, [round], [round])).unwrap();
    }
}

#[test]
fn a_new_store_is_the_owners_alone() {
    let directory = directory();
    let path = directory.path().join("deep/store");
    drop(Store::open_inline(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn arrivals_increase_over_restarts_and_while_the_clock_steps_back() {
    let directory = directory();
    let company = Uuid::from_u128(7);
    let now_us = Arc::new(AtomicU64::new(0));
    for clock_us in [5_000, 9_000, 2_000, 9_001] {
        now_us.store(clock_us, Ordering::SeqCst);
        let mut options = StoreOptions::new(directory.path());
        let now_us = Arc::clone(&now_us);
        options.clock = Clock::new(move || now_us.load(Ordering::SeqCst));
        let store = Store::open_inline_with(&options).unwrap();
        store
            .commit_now(Commit::new().append(Tree::LeadEvents, company, "first").append(
                Tree::LeadEvents,
                company,
                "second",
            ))
            .unwrap();
        store.commit_now(Commit::new().append(Tree::LeadEvents, company, "third")).unwrap();
    }
    let store = inline(&directory);
    let feed = store.feed(company);
    let arrivals: Vec<u64> = feed.iter().map(|key| key.arrival_us).collect();
    let sequences: Vec<u32> = feed.iter().map(|key| key.sequence).collect();
    assert_eq!(
        arrivals,
        [5_000, 5_001, 5_002, 9_000, 9_001, 9_002, 9_003, 9_004, 9_005, 9_006, 9_007, 9_008]
    );
    assert_eq!(sequences, [0, 1, 0].repeat(4));
}

#[test]
fn the_last_arrival_is_found_again_when_its_record_is_broken() {
    let directory = directory();
    let company = Uuid::from_u128(7);
    let mut options = StoreOptions::new(directory.path());
    options.clock = Clock::new(|| 1_000);
    let append = |options: &StoreOptions| {
        let store = Store::open_inline_with(options).unwrap();
        store.commit_now(Commit::new().append(Tree::LeadEvents, company, "happening")).unwrap();
        store.feed(company)
    };
    append(&options);
    tamper(directory.path(), &Tree::Meta.tree_key(arrival::LAST_ARRIVAL), |raw| raw[7] ^= 1);
    let arrivals: Vec<u64> = append(&options).iter().map(|key| key.arrival_us).collect();
    assert_eq!(arrivals, [1_000, 1_001]);
}

#[test]
fn whatever_becomes_of_the_indexes_nothing_is_lost() {
    let directory = directory();
    let store = inline(&directory);
    store
        .commit_now(Commit::new().put(TREE, "lead", "kept").about(LEAD).put(Tree::Leads, LEAD, "kept"))
        .unwrap();
    let mut store = Some(store);
    for killed in [false, true] {
        for harm in 0..3 {
            let copy = killed.then(|| copied(&directory));
            drop(store.take());
            if let Some(copy) = copy {
                fs::remove_dir_all(directory.path()).unwrap();
                fs::rename(copy.path(), directory.path()).unwrap();
            }
            for volume in ["base", "volumes/1"] {
                let index = directory.path().join(volume).join("index");
                match harm {
                    0 => fs::remove_dir_all(index).unwrap(),
                    1 => fs::write(index.join("db"), [7; 100_000]).unwrap(),
                    _ => fs::remove_file(index.join("db")).unwrap(),
                }
            }
            let open = inline(&directory);
            assert_eq!(open.payload(TREE, "lead"), Some(b"kept".to_vec()));
            assert_eq!(open.payload(Tree::Leads, LEAD), Some(b"kept".to_vec()));
            let report = open.check().unwrap();
            assert_eq!((report.is_sound(), report.leads_sound), (true, 1));
            store = Some(open);
        }
    }
}

/// The files are the truth: a check reads them, and an incomplete index is not kept.
#[test]
fn a_check_tells_what_an_index_does_not_find_and_the_next_start_finds_it() {
    let directory = directory();
    let store = inline(&directory);
    for nth in 0..40_u8 {
        let lead = Uuid::from_u128(u128::from(nth));
        let lead = Commit::new().about(lead).put(Tree::Leads, lead, "kept").put(TREE, [nth], "kept");
        store.commit_now(lead.put(Tree::OpenTables, [nth], "")).unwrap();
    }
    // More than a walk remembers.
    (0..40_u8).for_each(|nth| store.commit_now(Commit::new().remove(Tree::OpenTables, [nth])).unwrap());
    assert!(store.check().unwrap().is_sound());
    let volume = store.shared.records().volumes().volume(1).unwrap().unwrap();
    for nth in 3..7_u128 {
        volume.index.set(&Tree::Leads.tree_key(Uuid::from_u128(nth).as_bytes()), None);
    }
    drop(volume);
    drop(store);

    let store = inline(&directory);
    let report = store.check().unwrap();
    assert_eq!((report.is_sound(), &report.unfound[..]), (false, &[(1, 4)][..]));
    assert!(matches!(store.health(), StoreHealth::Failed(_)), "nothing more is made of it");
    drop(store);
    let store = inline(&directory);
    let report = store.check().unwrap();
    assert_eq!((report.is_sound(), report.leads_sound), (true, 40));
}

#[test]
fn a_store_that_was_closed_opens_without_making_an_index_anew() {
    let directory = directory();
    drop(inline(&directory));
    for volume in ["base", "volumes/1"] {
        assert!(directory.path().join(volume).join("index.sum").is_file(), "{volume}");
    }
}

#[test]
fn a_flipped_byte_is_found_and_the_other_records_are_readable() {
    // The first byte of a record is its version.
    for (byte, reason) in [(6, BrokenReason::Checksum), (0, BrokenReason::Version(0x21))] {
        let directory = directory();
        let fill = ["a", "b", "c"].iter().fold(Commit::new(), |commit, key| commit.put(TREE, key, "lead"));
        inline(&directory).commit_now(fill).unwrap();
        tamper(directory.path(), &TREE.tree_key(b"b"), |raw| raw[byte] ^= 0x20);

        let store = inline(&directory);
        let broken = BrokenRecord { tree: TREE, key: "62".to_owned(), reason };
        assert_eq!(store.get(TREE, "b"), Err(ReadError::Broken(broken.clone())));
        let readable: Vec<Vec<u8>> = store.scan(TREE, "").map(|entry| entry.unwrap().0).collect();
        assert_eq!(readable, [b"a", b"c"]);
        let report = store.check().unwrap();
        assert_eq!((report.count(TREE), &report.broken, report.is_sound()), (2, &vec![broken], false));
    }
}

#[test]
fn a_sound_record_that_does_not_decode_exactly_is_counted_once_and_costs_no_other() {
    let directory = directory();
    let store = inline(&directory);
    let longer = [codec::encode(&7_u64), vec![0]].concat();
    store.commit_now(Commit::new().put(TREE, "a", codec::encode(&7_u64)).put(TREE, "b", longer)).unwrap();
    for _ in 0..2 {
        assert_eq!(store.read::<u64>(TREE, "a"), Ok(Some(7)));
        let error = store.read::<u64>(TREE, "b").unwrap_err().to_string();
        let wanted = "record `62` of tree `texts` is broken: payload does not decode: 1 of 2 bytes left over";
        assert!(error.starts_with(wanted), "{error}");
        assert_eq!(store.broken_records(), 1);
    }
    assert_eq!(store.read::<u64>(TREE, "c"), Ok(None));
    assert!(matches!(store.read_json::<String>(TREE, "a"), Err(ReadError::Broken(_))));
    assert_eq!(store.broken_records(), 2);
}

#[test]
fn a_broken_record_is_not_absent_and_bars_no_time_window() {
    let directory = directory();
    inline(&directory).commit_now(Commit::new().put(TREE, "key", "a payload of some length")).unwrap();
    tamper(directory.path(), &TREE.tree_key(b"key"), |raw| raw.truncate(4));

    let store = inline(&directory);
    let absent = store.commit_now(Commit::new().absent(TREE, "key").put(TREE, "key", "x"));
    assert!(matches!(absent, Err(CommitError::Failed(_))));
    let window = store.commit_now(Commit::new().unless_recent(TREE, "key", 0).put(TREE, "key", "healed"));
    assert_eq!(window, Ok(()));
    assert_eq!(store.payload(TREE, "key"), Some(b"healed".to_vec()));
    assert_eq!(store.health(), StoreHealth::Sound);
}

#[test]
fn a_failing_sync_fails_the_group_and_the_store_until_the_disk_works_again() {
    let directory = directory();
    let options = StoreOptions::new(directory.path());
    let store = Store::open_inline_with(&options).unwrap();
    store.commit_now(Commit::new().put(TREE, "before", "kept")).unwrap();

    options.sync_fault.set(true);
    let outcomes =
        store.commit_group(&[Commit::new().put(TREE, "a", "a"), Commit::new().absent(TREE, "before")]);
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Err(CommitError::Failed(_)))), "{outcomes:?}");
    assert!(matches!(store.health(), StoreHealth::Failed(_)));
    store.tried_long_ago();
    let later = store.commit_now(Commit::new().put(TREE, "later", "x"));
    assert!(matches!(later, Err(CommitError::Failed(_))), "the disk still fails");

    options.sync_fault.set(false);
    let at_once = store.commit_now(Commit::new().put(TREE, "at once", "x"));
    assert!(matches!(at_once, Err(CommitError::Failed(_))), "it is tried now and then");
    store.tried_long_ago();
    store.commit_now(Commit::new().put(TREE, "after", "kept")).unwrap();
    assert_eq!(store.health(), StoreHealth::Sound);
    drop(store);

    let store = inline(&directory);
    let kept = |key| store.payload(TREE, key).is_some();
    assert_eq!(["before", "after", "a", "later", "at once"].map(kept), [true, true, false, false, false]);
}

#[test]
fn what_failed_does_not_come_back_when_the_disk_works_again() {
    let directory = directory();
    let options = StoreOptions::new(directory.path());
    let store = Store::open_inline_with(&options).unwrap();
    options.sync_fault.set(true);
    store.commit_now(Commit::new().put(TREE, "failed", "x")).unwrap_err();
    options.sync_fault.set(false);
    store.tried_long_ago();
    store.commit_now(Commit::new().absent(TREE, "failed").put(TREE, "after", "kept")).unwrap();
    let store = killed(store, &directory);
    assert_eq!((store.payload(TREE, "failed"), store.health()), (None, StoreHealth::Sound));
    assert!(store.payload(TREE, "after").is_some());
}

#[test]
fn a_kill_costs_nothing_that_was_acknowledged_and_leaves_no_half_a_commit() {
    let directory = directory();
    let mut store = inline(&directory);
    for round in 0..5_u8 {
        for nth in 0..40_u8 {
            let commit = Commit::new().put(TREE, [round, nth], [round; 900]).put(TREE, [9, 9], [round, nth]);
            store.commit_now(commit.remove(TREE, [round.wrapping_sub(1), nth])).unwrap();
        }
        store = killed(store, &directory);
        assert_eq!(store.payload(TREE, [9, 9]), Some(vec![round, 39]));
        assert_eq!(store.scan(TREE, "").count(), 41);
        assert!(store.check().unwrap().is_sound());
    }
}

#[test]
fn full_segments_of_the_journal_are_used_again() {
    let directory = directory();
    let store = inline(&directory);
    let big = vec![7; 512 * 1024];
    for nth in 0..160_u8 {
        store.commit_now(Commit::new().put(TREE, [nth % 4], big.clone())).unwrap();
    }
    let journal = directory.path().join("journal");
    let files = || fs::read_dir(&journal).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    assert!(
        files().sum::<u64>() < 5 * super::super::journal::SEGMENT_BYTES,
        "{:?}",
        files().collect::<Vec<_>>()
    );
    let store = killed(store, &directory);
    assert_eq!(store.scan(TREE, "").filter(|record| record.as_ref().unwrap().1 == big).count(), 4);
    store.close().unwrap();
    assert_eq!(files().count(), 0, "a store that was closed has nothing to replay");
}

/// Leftovers of an earlier use of a file are recognised by the number of the segment, which is never reused.
#[test]
fn a_start_that_was_cut_off_before_its_journal_was_begun_does_not_count_from_one() {
    let directory = directory();
    let store = inline(&directory);
    store.commit_now(Commit::new().put(TREE, "key", "old")).unwrap();
    let journal = directory.path().join("journal");
    let store = killed(store, &directory);
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&journal)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let begun = names().into_iter().find(|name| !name.starts_with("spare-")).unwrap();
    drop(copied(&directory));
    drop(store);
    fs::create_dir_all(&journal).unwrap();
    fs::write(journal.join(format!("spare-{begun}")), [0; 64]).unwrap();
    let _store = inline(&directory);
    let again = names().into_iter().find(|name| !name.starts_with("spare-")).unwrap();
    assert!(again > begun, "{again} after {begun}");
}

#[test]
fn a_damaged_journal_is_told_and_set_aside_and_costs_no_other_group() {
    let directory = directory();
    let store = inline(&directory);
    for key in ["a", "b", "c"] {
        store.commit_now(Commit::new().put(TREE, key, "of a group")).unwrap();
    }
    let copy = copied(&directory);
    drop(store);
    let journal = fs::read_dir(copy.path().join("journal")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&journal).unwrap();
    let place = bytes.windows(10).rposition(|window| window == b"of a group").unwrap();
    let second = bytes[..place].windows(10).rposition(|window| window == b"of a group").unwrap();
    bytes[second] ^= 1;
    fs::write(&journal, bytes).unwrap();

    let store = inline(&copy);
    // The record file already had it.
    assert!(["a", "b", "c"].iter().all(|key| store.payload(TREE, key).is_some()));
    let report = store.check().unwrap();
    assert_eq!((report.set_aside.len(), report.is_sound()), (1, false));
    let aside = format!("damaged/{}", report.set_aside[0]);
    assert!(copy.path().join(&aside).is_file());
    drop(store);
    let told =
        |store: &Store| store.damages().iter().any(|damage| damage.file == aside && damage.costs_records());
    assert!(told(&inline(&copy)), "and at each start");
    fs::remove_file(copy.path().join(&aside)).unwrap();
    assert!(!told(&inline(&copy)), "until somebody has seen it");
}

#[test]
fn a_store_that_is_open_is_locked_for_others() {
    let directory = directory();
    let _store = inline(&directory);
    let mut options = StoreOptions::new(directory.path());
    options.lock_wait = Duration::ZERO;
    let error = Store::open_inline_with(&options).unwrap_err();
    assert!(matches!(&error, StoreError::Locked { path, .. } if path == directory.path()));
    let holder = format!("another offerd is running on it, process {};", std::process::id());
    assert!(error.to_string().contains(&holder), "{error}");
}

/// Only the format of such a store is read, and nothing is written.
#[test]
fn a_store_of_another_format_is_refused_and_stays_as_it_is() {
    for format in [0, 2, 99] {
        let directory = directory();
        drop(inline(&directory));
        let text = format!("offerd store {format}\nnobody knows\n");
        let text = format!("{text}{:08x}\n", crc32fast::hash(text.as_bytes()));
        for name in ["manifest", "manifest.copy"] {
            fs::write(directory.path().join(name), &text).unwrap();
        }
        let content = || {
            let files = files_of(directory.path()).into_iter();
            files.map(|file| fs::read(directory.path().join(file)).unwrap()).collect::<Vec<_>>()
        };
        let before = content();
        let error = Store::open_inline(directory.path()).unwrap_err();
        assert!(matches!(error, StoreError::Format { found, .. } if found == format), "{error}");
        assert!(content() == before && Store::exists(directory.path()));
    }
}

/// A file is created and listed before anything is written to it. A power cut may leave part of its heading.
#[test]
fn what_a_cut_leaves_of_a_file_that_was_only_begun_is_no_damage() {
    for left in [&[][..], &[0; 20]] {
        let directory = directory();
        inline(&directory).commit_now(Commit::new().put(TREE, "a", "kept")).unwrap();
        fs::write(directory.path().join("base/00000002.records"), left).unwrap();
        fs::write(directory.path().join("base/00000003.records"), left).unwrap();
        for _ in 0..2 {
            let store = inline(&directory);
            let report = store.check().unwrap();
            assert!(report.is_sound() && report.damages.is_empty(), "{report:?}");
            assert_eq!(store.get(TREE, "a"), Ok(Some(b"kept".to_vec())));
        }
    }
}
