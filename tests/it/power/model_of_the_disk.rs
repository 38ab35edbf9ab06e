//! The disk that power cuts are simulated on keeps what a file system promises, and loses what it does not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use fastrand::Rng;

use super::disk::Disk;
use super::loss::Loss;
use super::recording::Operation;
use super::state::State;

/// States of each moment.
const STATES: usize = 200;

/// A disk on which this was done; paths are in its root.
fn disk(root: &Path, operations: impl IntoIterator<Item = Operation>) -> Disk {
    let mut disk = Disk::holding(&State::default(), root);
    operations.into_iter().for_each(|operation| disk.apply(&operation));
    disk
}

fn states(disk: &Disk) -> impl Iterator<Item = State> {
    let mut rng = Rng::with_seed(5);
    (0..STATES).map(move |_| {
        let (loss, by_file) = Loss::drawn(&mut rng);
        disk.cut(loss, by_file, &mut rng)
    })
}

fn open(fd: i32, path: PathBuf) -> Operation {
    Operation::Open { fd, flags: 0o100 | 0o2, path }
}

fn write(fd: i32, offset: u64, byte: u8, length: usize) -> Operation {
    Operation::Write { fd, offset, data: Bytes::from(vec![byte; length]) }
}

fn synced(fd: i32, number: i64) -> [Operation; 2] {
    [Operation::Sync { fd, number }, Operation::Synced { number }]
}

#[test]
fn what_was_synced_with_its_name_is_in_every_state() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut done = vec![open(3, root.join("file")), write(3, 0, b'a', 9_000)];
    done.extend(synced(3, 1));
    done.push(Operation::Open { fd: 4, flags: 0, path: root.to_owned() });
    done.extend(synced(4, 2));
    for state in states(&disk(root, done)) {
        assert_eq!(state.files[Path::new("file")], vec![b'a'; 9_000]);
    }
}

#[test]
fn what_was_written_while_a_sync_ran_may_be_lost() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let done = [
        open(3, root.join("file")),
        Operation::Open { fd: 4, flags: 0, path: root.to_owned() },
        Operation::Sync { fd: 4, number: 1 },
        Operation::Synced { number: 1 },
        write(3, 0, b'a', 100),
        Operation::Sync { fd: 3, number: 2 },
        write(3, 100, b'b', 100),
        Operation::Synced { number: 2 },
    ];
    let disk = disk(root, done);
    let lengths: BTreeSet<usize> = states(&disk).map(|state| state.files[Path::new("file")].len()).collect();
    assert_eq!(lengths, BTreeSet::from([100, 200]));
    let found: BTreeSet<u8> =
        states(&disk).filter_map(|state| state.files[Path::new("file")].get(150).copied()).collect();
    assert_eq!(found, BTreeSet::from([0, b'b']), "a length may be there without what was written");
}

#[test]
fn pages_are_lost_each_for_itself_and_sectors_are_torn() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut done = vec![open(3, root.join("file")), write(3, 0, b'a', 16_384)];
    done.extend(synced(3, 1));
    done.push(Operation::Open { fd: 4, flags: 0, path: root.to_owned() });
    done.extend(synced(4, 2));
    done.extend([write(3, 0, b'b', 16_384), write(3, 0, b'c', 16_384)]);
    let disk = disk(root, done);
    let pages: BTreeSet<Vec<u8>> = states(&disk)
        .map(|state| state.files[Path::new("file")].iter().step_by(4_096).copied().collect())
        .collect();
    assert!(pages.len() > 30, "{pages:?}");
    assert!(pages.contains(&b"aaaa"[..]) && pages.contains(&b"cccc"[..]));
    let is_torn =
        |state: State| state.files[Path::new("file")][..4_096].windows(2).any(|pair| pair[0] != pair[1]);
    assert!(states(&disk).any(is_torn));
}

#[test]
fn a_rename_is_there_as_a_whole_or_not_at_all() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let (new, name) = (root.join("new"), root.join("name"));
    let mut done = vec![open(3, name.clone()), write(3, 0, b'1', 1)];
    done.extend(synced(3, 1));
    done.push(Operation::Open { fd: 4, flags: 0, path: root.to_owned() });
    done.extend(synced(4, 2));
    done.extend([open(5, new.clone()), write(5, 0, b'2', 1)]);
    done.extend(synced(5, 3));
    done.push(Operation::Rename { from: new, to: name });
    let before = disk(root, done.clone());
    let found: BTreeSet<Vec<u8>> =
        states(&before).map(|state| state.files[Path::new("name")].clone()).collect();
    assert_eq!(found, BTreeSet::from([b"1".to_vec(), b"2".to_vec()]));
    done.extend(synced(4, 4));
    for state in states(&disk(root, done)) {
        assert_eq!(state.files.into_iter().collect::<Vec<_>>(), [(PathBuf::from("name"), b"2".to_vec())]);
    }
}

#[test]
fn what_was_cut_off_does_not_come_back_behind_a_longer_length() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut done = vec![open(3, root.join("file")), write(3, 0, b'a', 8_192)];
    done.extend(synced(3, 1));
    done.push(Operation::Open { fd: 4, flags: 0, path: root.to_owned() });
    done.extend(synced(4, 2));
    done.extend([
        Operation::Resize { fd: 3, length: 4_096 },
        Operation::Resize { fd: 3, length: 12_288 },
        write(3, 4_096, b'b', 4_096),
    ]);
    let disk = disk(root, done);
    for state in states(&disk) {
        let found = &state.files[Path::new("file")];
        assert_eq!(found[..4_096], [b'a'; 4_096]);
        match found.len() {
            4_096 => {}
            8_192 => assert!(found[4_096..].iter().all(|byte| *byte == b'a')),
            12_288 => assert!(found[4_096..].iter().all(|byte| *byte != b'a')),
            other => panic!("{other} bytes"),
        }
    }
    assert_eq!(disk.whole().files[Path::new("file")].len(), 12_288);
}
