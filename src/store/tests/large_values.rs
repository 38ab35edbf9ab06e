//! Large values, and those that an older format has in pieces.

use super::*;
use crate::store::changes::Change;

const TREE: Tree = Tree::Templates;

fn large(seed: usize) -> Vec<u8> {
    (0..300_000).map(|i| (i * 31 + i / 255 + seed) as u8).collect()
}

#[test]
fn a_large_value_comes_back_by_every_way_of_reading() {
    let directory = directory();
    inline(&directory)
        .commit_now(Commit::new().put(TREE, "large", large(0)).put(TREE, "small", "s"))
        .unwrap();
    let store = inline(&directory);
    assert_eq!(store.payload(TREE, "large"), Some(large(0)));
    let scanned: Vec<(Vec<u8>, Vec<u8>)> = store.scan(TREE, "").map(Result::unwrap).collect();
    assert_eq!(scanned, [(b"large".to_vec(), large(0)), (b"small".to_vec(), b"s".to_vec())]);
    let guarded = store.commit_now(Commit::new().absent(TREE, "large"));
    assert_eq!(guarded, Err(CommitError::Guard { index: 0, found: large(0) }));
    assert!(store.check().unwrap().is_sound());
}

#[test]
fn a_value_of_exactly_the_limit_is_taken() {
    let directory = directory();
    let store = inline(&directory);
    store.commit_now(Commit::new().put(TREE, "key", vec![5; VALUE_LIMIT])).unwrap();
    assert_eq!(store.payload(TREE, "key").map(|payload| payload.len()), Some(VALUE_LIMIT));
}

/// The records of a value in pieces, as formats up to 3 had them.
pub(in crate::store) fn split(key: &str, payload: &[u8]) -> Vec<Change> {
    let pieces: Vec<&[u8]> = payload.chunks(6 * 1024).collect();
    let head = [
        &u16::try_from(pieces.len()).unwrap().to_be_bytes()[..],
        &u32::try_from(payload.len()).unwrap().to_be_bytes(),
        &crc32fast::hash(payload).to_be_bytes(),
    ];
    let head = head.concat();
    let crc = crc32fast::hash(&head).to_le_bytes();
    let record = [&[0x81][..], &crc, &head].concat();
    let change = |key, value| Change { volume: crate::store::volume_number::BASE, key, value: Some(value) };
    let parts = (0..)
        .zip(pieces)
        .map(|(part, piece)| change(frame::part_key(TREE, key.as_bytes(), part), frame::framed(piece)));
    [change(TREE.sled_key(key.as_bytes()), record)].into_iter().chain(parts).collect()
}

/// A store with such records.
fn with_split(directory: &Directory, changes: Vec<Change>) -> Store {
    let store = inline(directory);
    assert!(store.shared.records().apply(records::Batch(changes)).is_ok());
    store
}

#[test]
fn a_value_in_pieces_is_read_and_overwriting_or_removing_it_leaves_none() {
    let parts =
        |store: &Store| store.check().map(|report| (report.count(Tree::Parts), report.stray_parts)).unwrap();
    let overwritten = Commit::new().put(TREE, "key", "small");
    for (commit, left) in [(overwritten, Some(b"small".to_vec())), (Commit::new().remove(TREE, "key"), None)]
    {
        let directory = directory();
        let store = with_split(&directory, split("key", &large(1)));
        assert_eq!((store.payload(TREE, "key"), parts(&store)), (Some(large(1)), (49, 0)));
        assert_eq!(store.scan(TREE, "").map(Result::unwrap).next(), Some((b"key".to_vec(), large(1))));
        store.commit_now(commit).unwrap();
        assert_eq!((store.payload(TREE, "key"), parts(&store)), (left, (0, 0)));
    }
}

#[test]
fn a_missing_piece_breaks_its_record_alone_and_a_stray_one_is_counted() {
    let directory = directory();
    let mut changes = split("broken", &large(0));
    let mut piece = changes.remove(4);
    changes.extend(split("whole", &large(1)));
    piece.key = frame::part_key(TREE, b"gone", 0);
    changes.push(piece);
    let store = with_split(&directory, changes);
    let broken = BrokenRecord { tree: TREE, key: "62726f6b656e".to_owned(), reason: Reason::Part(3) };
    assert_eq!(store.get(TREE, "broken"), Err(ReadError::Broken(broken)));
    assert_eq!(store.payload(TREE, "whole"), Some(large(1)));
    assert_eq!(store.scan(TREE, "").count(), 1);
    assert_eq!(store.check().unwrap().stray_parts, 1);
}
