//! Ephemeral records: readable while wanted, and lost for good afterwards, whatever is left of their bytes.

use super::backup::{master, restored, taken};
use super::*;

const TREE: Tree = Tree::Prefills;
const CANARY: &[u8] = b"078-05-1120 wren.canary@example.com";

fn put(key: &str) -> Commit {
    Commit::new().put(TREE, key, CANARY)
}

fn forget_but(store: &Store, wanted: &str) {
    let forgotten = store.forget_ephemeral(TREE, |key, _| key == wanted.as_bytes()).now_or_never();
    forgotten.expect("an inline store has done it at once").unwrap();
}

/// The raw value under a key, in a closed store.
fn raw_record(directory: &Directory, key: &str) -> Vec<u8> {
    let mut found = Vec::new();
    tamper(directory.path(), &TREE.tree_key(key.as_bytes()), |raw| found = raw.clone());
    found
}

#[test]
fn what_is_wanted_stays_and_the_old_bytes_of_the_rest_are_opened_by_nothing() {
    let directory = directory();
    let store = inline(&directory);
    for key in ["over", "wanted"] {
        store.commit_now(put(key)).unwrap();
    }
    assert_eq!(store.payload(TREE, "over").as_deref(), Some(CANARY));
    drop(store);
    let old = raw_record(&directory, "over");
    assert!(!old.windows(CANARY.len()).any(|window| window == CANARY), "it is sealed");

    let store = inline(&directory);
    forget_but(&store, "wanted");
    assert_eq!(store.scan(TREE, []).count(), 1);
    assert_eq!(store.payload(TREE, "wanted").as_deref(), Some(CANARY));
    store.commit_now(put("over")).unwrap();
    drop(store);
    tamper(directory.path(), &TREE.tree_key(b"over"), |raw| *raw = old);

    let store = inline(&directory);
    assert_eq!(store.payload(TREE, "over"), None, "its key is destroyed");
    assert_eq!(store.payload(TREE, "wanted").as_deref(), Some(CANARY));
    assert!(store.check().unwrap().is_sound());
}

#[test]
fn a_kill_in_the_middle_loses_nothing_that_is_wanted_and_the_next_time_finishes_it() {
    let directory = directory();
    let store = inline(&directory);
    store.commit_now(put("before")).unwrap();
    store.shared.records().sealing().begin_ephemeral().unwrap();
    store.commit_now(put("after")).unwrap();
    let store = killed(store, &directory);
    for key in ["before", "after"] {
        assert_eq!(store.payload(TREE, key).as_deref(), Some(CANARY), "{key}");
    }
    forget_but(&store, "before");
    let store = killed(store, &directory);
    assert_eq!(store.payload(TREE, "before").as_deref(), Some(CANARY));
    assert_eq!(store.payload(TREE, "after"), None);
}

#[test]
fn a_store_that_nothing_passes_through_has_no_key_for_it() {
    let directory = directory();
    let store = inline(&directory);
    forget_but(&store, "");
    assert!(!store.shared.records().sealing().has_ephemeral());
}

#[test]
fn what_passes_is_about_no_lead() {
    let directory = directory();
    let store = inline(&directory);
    let refused = store.commit_now(put("key").about(Uuid::from_u128(1)));
    assert!(matches!(refused, Err(CommitError::Failed(_))));
}

#[test]
fn a_backup_tells_nothing_of_it_and_what_is_restored_of_it_goes() {
    let (directory, other) = (directory(), self::directory());
    let store = inline(&directory);
    store.commit_now(put("key")).unwrap();
    store.commit_now(Commit::new().put(Tree::Templates, "text", "a text")).unwrap();
    let file = taken(&store, || ());
    restored(&file, other.path(), master(&directory)).unwrap();

    let options = StoreOptions {
        master_key_file: Some(directory.path().with_file_name("store.key")),
        ..StoreOptions::new(other.path())
    };
    let store = Store::open_inline_with(&options).unwrap();
    assert_eq!(store.payload(Tree::Templates, "text").as_deref(), Some(&b"a text"[..]));
    assert_eq!((store.payload(TREE, "key"), store.scan(TREE, []).count()), (None, 0));
    assert!(store.check().unwrap().is_sound());
    forget_but(&store, "key");
    assert!(store.keys(TREE, []).unwrap().is_empty());
}
