//! Values too large for one frame.

use std::fs;

use super::{frame::PART_LIMIT, *};

const TREE: Tree = Tree::Texts;

fn large(seed: usize) -> Vec<u8> {
    (0..300_000).map(|i| (i * 31 + i / 255 + seed) as u8).collect()
}

fn blob_files(directory: &Directory) -> usize {
    fs::read_dir(directory.path().join("blobs")).unwrap().count()
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
    assert_eq!(blob_files(&directory), 0);
}

#[test]
fn overwriting_and_removing_leave_no_pieces() {
    let directory = directory();
    let store = inline(&directory);
    let put = |payload: Vec<u8>| Commit::new().put(TREE, "key", payload);
    let parts = || store.check().map(|report| (report.count(Tree::Parts), report.stray_parts)).unwrap();

    store.commit_now(put(large(1))).unwrap();
    assert_eq!(parts(), (49, 0));
    store.commit_now(put(vec![1; PART_LIMIT + 1])).unwrap();
    assert_eq!(parts(), (2, 0));
    store.commit_now(put(b"small".to_vec())).unwrap();
    assert_eq!(parts(), (0, 0));
    // The same within one group and within one commit.
    store.commit_group(&[put(large(2)), put(large(3)).put(TREE, "key", "small")]);
    assert_eq!(parts(), (0, 0));
    store.commit_group(&[put(large(4)), Commit::new().remove(TREE, "key")]);
    assert_eq!((parts(), store.payload(TREE, "key")), ((0, 0), None));
}

#[test]
fn a_missing_piece_breaks_its_record_alone_and_a_stray_one_is_counted() {
    let directory = directory();
    let fill = Commit::new().put(TREE, "broken", large(0)).put(TREE, "whole", large(1));
    inline(&directory).commit_now(fill).unwrap();
    let piece = frame::part_key(TREE, b"broken", 3);
    tamper(directory.path(), &piece, |raw| raw[100] ^= 1);
    let db = sled(directory.path());
    db.insert(frame::part_key(TREE, b"gone", 0), db.get(&piece).unwrap().unwrap()).unwrap();
    drop(db);

    let store = inline(&directory);
    let broken = BrokenRecord { tree: TREE, key: "62726f6b656e".to_owned(), reason: Reason::Part(3) };
    assert_eq!(store.get(TREE, "broken"), Err(ReadError::Broken(broken)));
    assert_eq!(store.payload(TREE, "whole"), Some(large(1)));
    assert_eq!(store.scan(TREE, "").count(), 1);
    assert_eq!(store.check().unwrap().stray_parts, 1);
}

/// sled makes a blob file of a leaf that is too large, and fills leaves by number: the worst is many values as large as
/// one frame takes, coming and going in no order.
#[test]
fn nothing_ever_reaches_a_blob_file() {
    let directory = directory();
    let store = inline(&directory);
    let mut random = 1_u64;
    for round in 0..60 {
        let commits: Vec<Commit> = (0..50)
            .map(|_| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let key = Uuid::from_u128((u128::from(random >> 33) % 500) << 90);
                match random >> 62 {
                    0 => Commit::new().remove(TREE, key),
                    _ => Commit::new().put(TREE, key, vec![round; PART_LIMIT]),
                }
            })
            .collect();
        store.commit_group(&commits);
        assert_eq!(blob_files(&directory), 0, "after round {round}");
    }
}
