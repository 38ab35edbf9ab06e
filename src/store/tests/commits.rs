//! Commits: all or nothing, under guards, in order.

use super::*;

const TREE: Tree = Tree::Templates;

#[test]
fn a_commit_writes_all_its_trees() {
    let directory = directory();
    let store = inline(&directory);
    let company = Uuid::from_u128(1);
    let commit = Commit::new()
        .absent(Tree::Templates, "lead")
        .put(Tree::Templates, "lead", "a lead")
        .put(Tree::RateTables, "table", "a table")
        .append(Tree::LeadEvents, company, "leadCreated");
    assert_eq!(store.commit_now(commit), Ok(()));
    assert_eq!(store.payload(Tree::Templates, "lead"), Some(b"a lead".to_vec()));
    assert_eq!(store.payload(Tree::RateTables, "table"), Some(b"a table".to_vec()));
    assert_eq!(store.feed(company).len(), 1);
}

#[test]
fn a_refused_commit_writes_nothing() {
    let directory = directory();
    let store = inline(&directory);
    let company = Uuid::from_u128(1);
    store.commit_now(Commit::new().put(TREE, "taken", "first")).unwrap();
    let refused = Commit::new()
        .put(Tree::RateTables, "table", "a table")
        .append(Tree::LeadEvents, company, "leadCreated")
        .absent(TREE, "free")
        .absent(TREE, "taken");
    let found = b"first".to_vec();
    assert_eq!(store.commit_now(refused), Err(CommitError::Guard { index: 1, found }));
    assert_eq!(store.payload(Tree::RateTables, "table"), None);
    assert_eq!(store.feed(company), []);
}

#[test]
fn of_two_changes_made_of_one_record_in_one_group_one_wins() {
    let directory = directory();
    let store = inline(&directory);
    store.commit_now(Commit::new().put(TREE, "key", "old")).unwrap();
    let change = |payload: &str| Commit::new().unchanged(TREE, "key", "old").put(TREE, "key", payload);
    let outcomes = store.commit_group(&[change("first"), change("second")]);
    assert_eq!(outcomes, [Ok(()), Err(CommitError::Guard { index: 0, found: b"first".to_vec() })]);
    let gone = store.commit_now(Commit::new().unchanged(TREE, "other", "old").put(TREE, "other", "new"));
    assert_eq!(
        gone,
        Err(CommitError::Guard { index: 0, found: Vec::new() }),
        "a record that is not there has changed"
    );
}

#[test]
fn of_two_commits_with_one_guard_in_one_group_one_wins() {
    let directory = directory();
    let store = inline(&directory);
    let claim = |payload: &str| Commit::new().absent(TREE, "key").put(TREE, "key", payload);
    let outcomes = store.commit_group(&[claim("one"), claim("two")]);
    assert_eq!(outcomes, [Ok(()), Err(CommitError::Guard { index: 0, found: b"one".to_vec() })]);
    assert_eq!(store.payload(TREE, "key"), Some(b"one".to_vec()));
}

#[test]
fn a_time_window_bars_what_is_recent_only() {
    let directory = directory();
    let store = inline(&directory);
    let submission = |at_ms: i64| [&at_ms.to_be_bytes()[..], b"lead"].concat();
    let submit = |at_ms: i64, since_ms: i64| {
        store.commit_now(Commit::new().unless_recent(TREE, "identity", since_ms).put(
            TREE,
            "identity",
            submission(at_ms),
        ))
    };
    assert_eq!(submit(100, 50), Ok(()));
    assert_eq!(submit(140, 100), Err(CommitError::Guard { index: 0, found: submission(100) }));
    assert_eq!(submit(151, 101), Ok(()));
    assert_eq!(store.payload(TREE, "identity"), Some(submission(151)));
}

#[test]
fn a_record_too_short_to_hold_a_time_bars_nothing() {
    let directory = directory();
    let store = inline(&directory);
    store.commit_now(Commit::new().put(TREE, "identity", "short")).unwrap();
    let commit = Commit::new().unless_recent(TREE, "identity", i64::MIN).put(TREE, "identity", "replaced");
    assert_eq!(store.commit_now(commit), Ok(()));
}

#[test]
fn a_value_over_the_limit_and_a_write_to_the_data_keys_are_refused_alone() {
    let directory = directory();
    let store = inline(&directory);
    let too_large = Commit::new().put(TREE, "large", vec![0; VALUE_LIMIT + 1]);
    let data_key = Commit::new().put(Tree::LeadKeys, "key", "mine");
    let no_feed = Commit::new().append(TREE, Uuid::nil(), "appended");
    let kept = Commit::new().put(TREE, "small", "kept");
    let outcomes = store.commit_group(&[too_large, data_key, no_feed, kept]);
    let refused = |outcome: &CommitResult| matches!(outcome, Err(CommitError::Failed(_)));
    assert!(outcomes[..3].iter().all(refused) && outcomes[3] == Ok(()), "{outcomes:?}");
    assert_eq!(store.health(), StoreHealth::Sound);
    assert_eq!(store.payload(TREE, "small"), Some(b"kept".to_vec()));
}

#[test]
fn a_scan_meets_its_prefix_in_order_from_where_it_starts() {
    let directory = directory();
    let store = inline(&directory);
    let commit =
        ["a1", "a2", "a3", "b1"].iter().fold(Commit::new(), |commit, key| commit.put(TREE, key, *key));
    store.commit_now(commit.put(Tree::RateTables, "a4", "another tree")).unwrap();
    let keys = |scan: Scan| -> Vec<String> {
        scan.map(|entry| String::from_utf8(entry.unwrap().0).unwrap()).collect()
    };
    assert_eq!(keys(store.scan(TREE, "a")), ["a1", "a2", "a3"]);
    assert_eq!(keys(store.scan(TREE, "")), ["a1", "a2", "a3", "b1"]);
    assert_eq!(keys(store.scan_from(TREE, "a2", "a")), ["a2", "a3"]);
    assert_eq!(keys(store.scan_from(TREE, "", "b")), ["b1"]);
}

#[test]
fn a_debug_print_shows_no_payload() {
    let commit = Commit::new().put(TREE, "lead", "078-05-1120");
    let refused = CommitError::Guard { index: 0, found: b"078-05-1120".to_vec() };
    assert_eq!(format!("{commit:?}"), "Commit { guards: 0, writes: 1 }");
    assert_eq!(format!("{refused:?}"), "Guard { index: 0, found: 11 bytes }");
}
