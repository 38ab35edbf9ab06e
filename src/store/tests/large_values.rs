//! Large values.

use super::*;

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
