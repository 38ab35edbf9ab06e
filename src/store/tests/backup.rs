//! Backups, with a writer between any two of their steps.

use std::collections::BTreeMap;
use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
pub(super) use crate::backup::{BackupError, BackupFault, BlockDamage, Restore, RestoreError, Scanner};
use crate::staging::StagingError;

const LEAD: Uuid = Uuid::from_u128(0x11);

pub(super) fn master(directory: &Directory) -> MasterKey {
    MasterKey::find(None, directory.path()).unwrap().expect("a first open makes one")
}

/// The whole backup, with something done after each step.
pub(super) fn taken(store: &Store, mut between: impl FnMut()) -> Vec<u8> {
    let mut backup = store.backup().unwrap();
    let mut file = Vec::new();
    while let Some(piece) = backup.step().unwrap() {
        file.extend(piece);
        between();
    }
    file
}

pub(super) fn restored(file: &[u8], into: &Path, master: MasterKey) -> Result<(), RestoreError> {
    let mut restore = Restore::begin(into, master)?;
    for piece in file.chunks(1000) {
        restore.push(piece)?;
    }
    restore.finish().map(drop)
}

fn contents(store: &Store) -> BTreeMap<(&'static str, Vec<u8>), Vec<u8>> {
    let trees = TREES.iter().filter(|row| row.tree != Tree::LeadKeys);
    let records = trees.flat_map(|row| store.scan(row.tree, []).map(|entry| (row.name, entry.unwrap())));
    records.map(|(name, (key, payload))| ((name, key), payload)).collect()
}

/// A store with records in several trees, and a backup of it.
fn backed_up(directory: &Directory) -> Vec<u8> {
    let store = inline(directory);
    let commit = Commit::new().about(LEAD).put(Tree::Leads, LEAD, vec![7; 20_000]);
    store.commit_now(commit.put(Tree::Templates, "text", "a text").put(Tree::Postings, "owed", "1")).unwrap();
    taken(&store, || ())
}

#[derive(Debug, Clone)]
struct Write {
    tree: Tree,
    key: u8,
    /// `None` removes the record.
    length: Option<usize>,
}

fn write() -> impl Strategy<Value = Write> {
    let trees =
        prop_oneof![Just(Tree::Leads), Just(Tree::Templates), Just(Tree::Answers), Just(Tree::Postings)];
    let length = prop_oneof![3 => (0..20_000_usize).prop_map(Some), 1 => Just(None)];
    (trees, any::<u8>(), length).prop_map(|(tree, key, length)| Write { tree, key, length })
}

fn commit(writes: &[Write]) -> Commit {
    writes.iter().fold(Commit::new().about(LEAD), |commit, Write { tree, key, length }| match length {
        Some(length) => commit.put(*tree, [*key], vec![*key; *length]),
        None => commit.remove(*tree, [*key]),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::cases::cases(4) })]

    /// Whatever is written between its steps, a backup is the store as of its last step.
    #[test]
    fn a_backup_is_of_one_instant(
        before in vec(vec(write(), 1..4), 20..60),
        meanwhile in vec(vec(write(), 1..4), 1..30),
    ) {
        let directory = directory();
        let store = inline(&directory);
        for writes in &before {
            store.commit_now(commit(writes)).unwrap();
        }
        let mut backup = store.backup().unwrap();
        let (mut file, mut instant) = (Vec::new(), contents(&store));
        let mut meanwhile = meanwhile.chunks(3);
        while let Some(piece) = backup.step().unwrap() {
            // Writes after the last step are not in it.
            let is_last = file.len() > 1 && Scanner::new(None).whole(&file, &piece);
            file.extend(piece);
            if is_last {
                instant = contents(&store);
            }
            for writes in meanwhile.next().unwrap_or_default() {
                store.commit_now(commit(writes)).unwrap();
            }
        }
        let into = directory.path().with_file_name("elsewhere");
        restored(&file, &into, master(&directory)).unwrap();
        let key = directory.path().with_file_name("store.key");
        let options = StoreOptions { master_key_file: Some(key), ..StoreOptions::new(into) };
        let elsewhere = Store::open_inline_with(&options).unwrap();
        prop_assert!(contents(&elsewhere) == instant);
    }
}

impl Scanner {
    /// Whether this piece completes the file.
    fn whole(mut self, file: &[u8], piece: &[u8]) -> bool {
        self.push(file).unwrap();
        self.push(piece).unwrap();
        self.finish().is_ok()
    }
}

#[test]
fn one_backup_is_taken_at_a_time_and_one_that_is_given_up_leaves_room() {
    let directory = directory();
    let store = inline(&directory);
    let mut first = store.backup().unwrap();
    first.step().unwrap();
    assert_eq!(store.backup().err(), Some(BackupError::UnderWay));
    drop(first);
    assert!(store.backup().is_ok());
}

#[test]
fn every_flipped_bit_is_found_without_a_key_and_named() {
    let directory = directory();
    let file = backed_up(&directory);
    // Every byte of the small blocks, and some of the large ones.
    for at in (0..file.len()).filter(|at| at % 61 == 0 || *at < 200 || at + 200 > file.len()) {
        let mut flipped = file.clone();
        flipped[at] ^= 1 << (at % 8);
        let mut scanner = Scanner::new(None);
        let fault = scanner.push(&flipped).and_then(|()| scanner.finish().map(drop)).unwrap_err();
        match fault {
            BackupFault::Damaged { at: begins, .. } => assert!(begins <= at as u64, "{fault} for byte {at}"),
            BackupFault::Foreign | BackupFault::Version { .. } => assert!(at < 16, "{fault} for byte {at}"),
            _ => panic!("{fault} for byte {at}"),
        }
    }
}

#[test]
fn a_file_that_is_cut_or_goes_on_is_found() {
    let directory = directory();
    let file = backed_up(&directory);
    for length in (0..file.len()).step_by(97) {
        let mut scanner = Scanner::new(Some(master(&directory)));
        scanner.push(&file[..length]).unwrap();
        assert!(scanner.finish().is_err(), "cut to {length}");
    }
    let fault = Scanner::new(None).push(&[&file[..], b"."].concat()).unwrap_err();
    assert!(matches!(fault, BackupFault::Damaged { damage: BlockDamage::Trailing, .. }), "{fault}");
}

/// The offsets of the blocks in a file.
fn block_starts(file: &[u8]) -> Vec<usize> {
    let mut starts = vec![file.iter().position(|byte| *byte == b'\n').unwrap() + 1];
    while let Some(length) = file.get(starts[starts.len() - 1]..).and_then(|block| block.get(5..9)) {
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        starts.push(starts[starts.len() - 1] + 13 + length);
    }
    starts
}

/// Without the master key, no block can be forged.
#[test]
fn what_was_changed_with_a_good_checksum_is_found_with_the_key() {
    let directory = directory();
    let file = backed_up(&directory);
    let begins = block_starts(&file);
    let (second, third) = (begins[1], begins[2]);
    let mut forged = file.clone();
    forged[third - 1] ^= 1;
    let summed = [&forged[second..second + 9], &forged[second + 13..third]].concat();
    forged[second + 9..second + 13].copy_from_slice(&crc32fast::hash(&summed).to_be_bytes());
    Scanner::new(None).push(&forged).unwrap();
    let fault = Scanner::new(Some(master(&directory))).push(&forged).unwrap_err();
    assert!(matches!(fault, BackupFault::Damaged { block: 1, damage: BlockDamage::Seal, .. }), "{fault}");

    let fourth = begins[3];
    let swapped = [&file[..second], &file[third..fourth], &file[second..third], &file[fourth..]].concat();
    let fault = Scanner::new(Some(master(&directory))).push(&swapped).unwrap_err();
    assert!(matches!(fault, BackupFault::Damaged { block: 1, damage: BlockDamage::Seal, .. }), "{fault}");
}

#[test]
fn what_cannot_be_restored_leaves_nothing_behind() {
    let directory = directory();
    let file = backed_up(&directory);
    let into = directory.path().with_file_name("elsewhere");
    let nothing = || !into.exists() && !into.with_file_name("elsewhere.part").exists();

    let mut damaged = file.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert!(matches!(restored(&damaged, &into, master(&directory)), Err(RestoreError::Backup(_))));
    assert!(nothing());
    assert!(matches!(restored(&file[..last], &into, master(&directory)), Err(RestoreError::Backup(_))));
    assert!(nothing());
    let other = MasterKey::create(&directory.path().with_file_name("other.key")).unwrap();
    let refused = restored(&file, &into, other).unwrap_err();
    assert!(matches!(refused, RestoreError::Backup(BackupFault::WrongMasterKey { .. })), "{refused}");
    assert!(nothing());

    fs::create_dir(&into).unwrap();
    fs::write(into.join("file"), "").unwrap();
    assert!(matches!(
        restored(&file, &into, master(&directory)),
        Err(RestoreError::Place(StagingError::NotEmpty { daemon: false, .. }))
    ));
    fs::remove_file(into.join("file")).unwrap();
    restored(&file, &into, master(&directory)).unwrap();
}

#[test]
fn who_is_erased_before_a_backup_ends_is_erased_in_it() {
    let directory = directory();
    let store = inline(&directory);
    store.commit_now(Commit::new().about(LEAD).put(Tree::Leads, LEAD, "person")).unwrap();
    let mut erased = false;
    let file = taken(&store, || {
        if !std::mem::replace(&mut erased, true) {
            store.commit_now(Commit::new().erase(LEAD, 1)).unwrap();
        }
    });
    let into = directory.path().with_file_name("elsewhere");
    restored(&file, &into, master(&directory)).unwrap();
    let key = directory.path().with_file_name("store.key");
    let options = StoreOptions { master_key_file: Some(key), ..StoreOptions::new(into) };
    let elsewhere = Store::open_inline_with(&options).unwrap();
    assert_eq!(elsewhere.is_erased(LEAD), Ok(true));
    assert_eq!(elsewhere.payload(Tree::Leads, LEAD), None);
}
