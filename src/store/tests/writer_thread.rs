//! The queue and its thread. A clock that waits for the test holds the writer inside a group.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::*;
use offerd_model::InDoubt;

const TREE: Tree = Tree::Templates;

/// Once shut, holds the writer when it asks for the time, until dropped.
struct Gate {
    shut: Arc<AtomicBool>,
    waiting: Receiver<()>,
    _open: Sender<()>,
}

impl Gate {
    /// Options of a store whose writer the gate can hold.
    fn before(directory: &Directory) -> (StoreOptions, Self) {
        let (wait, waiting) = unbounded();
        let (open, opened) = unbounded::<()>();
        let mut options = StoreOptions::new(directory.path());
        let shut = Arc::new(AtomicBool::new(false));
        let is_shut = Arc::clone(&shut);
        options.clock = Clock::new(move || {
            if !is_shut.load(Ordering::SeqCst) {
                return 1;
            }
            // Neither end matters once the test is over.
            let _ = wait.send(());
            let _ = opened.recv();
            1
        });
        (options, Self { shut, waiting, _open: open })
    }

    /// Holds the writer in a commit, and returns when it is held.
    fn hold(&self, store: &Store) {
        self.shut.store(true, Ordering::SeqCst);
        drop(store.commit(Commit::new().append(Tree::LeadEvents, Uuid::nil(), "held")));
        self.waiting.recv().unwrap();
    }
}

#[tokio::test]
async fn commits_are_answered_when_they_are_written() {
    let directory = directory();
    let store = Store::open(StoreOptions::new(directory.path())).unwrap();
    assert_eq!(store.commit(Commit::new().put(TREE, "lead", "a lead")).await, Ok(()));
    assert_eq!(store.payload(TREE, "lead"), Some(b"a lead".to_vec()));
    let refused = store.commit(Commit::new().absent(TREE, "lead")).await;
    assert_eq!(refused, Err(CommitError::Guard { index: 0, found: b"a lead".to_vec() }));
    assert!(store.disk_wait() > Duration::ZERO);
}

#[tokio::test]
async fn a_full_queue_is_busy_at_once_and_what_it_took_is_written() {
    let directory = directory();
    let (mut options, gate) = Gate::before(&directory);
    options.queue = 2;
    let store = Store::open(options).unwrap();
    gate.hold(&store);
    let taken =
        [store.commit(Commit::new().put(TREE, "a", "a")), store.commit(Commit::new().put(TREE, "b", "b"))];
    assert_eq!(store.commit(Commit::new().put(TREE, "c", "c")).now_or_never(), Some(Err(CommitError::Busy)));
    drop(gate);
    for outcome in taken {
        assert_eq!(outcome.await, Ok(()));
    }
    assert_eq!(store.payload(TREE, "c"), None);
}

#[tokio::test]
async fn of_equal_submits_in_one_group_one_wins() {
    let directory = directory();
    let (options, gate) = Gate::before(&directory);
    let store = Store::open(options).unwrap();
    gate.hold(&store);
    let claim = |payload: &str| store.commit(Commit::new().absent(TREE, "key").put(TREE, "key", payload));
    let (first, second) = (claim("one"), claim("two"));
    drop(gate);
    assert_eq!(first.await, Ok(()));
    assert_eq!(second.await, Err(CommitError::Guard { index: 0, found: b"one".to_vec() }));
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_thread_with_a_courier_is_woken_once_for_all_outcomes_of_a_group() {
    let directory = directory();
    let (options, gate) = Gate::before(&directory);
    let store = Store::open(options).unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut answering = pin!(answer_commits_here());
    gate.hold(&store);
    assert!(answering.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let [mut first, mut second] =
        ["a", "b"].map(|key| Box::pin(store.commit(Commit::new().put(TREE, key, "x"))));
    drop(gate);
    store.close().unwrap();
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert_eq!((&mut first).now_or_never(), None, "it comes by the completion queue");
    assert!(answering.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!((&mut first).now_or_never(), Some(Ok(())));
    assert_eq!((&mut second).now_or_never(), Some(Ok(())));
}

#[test]
fn a_courier_that_leaves_keeps_no_outcome() {
    let directory = directory();
    let (options, gate) = Gate::before(&directory);
    let store = Store::open(options).unwrap();
    let mut answering = Box::pin(answer_commits_here());
    assert!(answering.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    gate.hold(&store);
    let brought = store.commit(Commit::new().put(TREE, "brought", "x"));
    drop(gate);
    store.commit(Commit::new().put(TREE, "written", "x")).now_or_never();
    while store.payload(TREE, "written").is_none() {
        std::thread::yield_now();
    }
    drop(answering);
    let late = store.commit(Commit::new().put(TREE, "late", "x"));
    store.close().unwrap();
    assert_eq!(brought.now_or_never(), Some(Ok(())));
    assert_eq!(late.now_or_never(), Some(Ok(())));
}

#[test]
fn closing_writes_what_is_queued_even_if_nobody_waits() {
    let directory = directory();
    let (options, gate) = Gate::before(&directory);
    let store = Store::open(options).unwrap();
    gate.hold(&store);
    drop(store.commit(Commit::new().put(TREE, "lead", "dropped future")));
    drop(gate);
    store.close().unwrap();
    store.close().unwrap();
    assert_eq!(store.commit(Commit::new()).now_or_never(), Some(Err(CommitError::Closed)));
    assert_eq!(store.payload(TREE, "lead"), Some(b"dropped future".to_vec()));
    drop(store);
    assert_eq!(inline(&directory).payload(TREE, "lead"), Some(b"dropped future".to_vec()));
}

#[test]
fn closing_gives_up_on_a_writer_that_is_stuck() {
    let directory = directory();
    let (mut options, gate) = Gate::before(&directory);
    options.close_bound = Duration::ZERO;
    let store = Store::open(options).unwrap();
    gate.hold(&store);
    assert!(matches!(store.close(), Err(StoreError::CloseTimedOut { .. })));
}

#[tokio::test]
async fn a_panic_below_fails_the_store_and_answers_everyone() {
    let directory = directory();
    let mut options = StoreOptions::new(directory.path());
    let armed = Arc::new(AtomicBool::new(false));
    let is_armed = Arc::clone(&armed);
    options.clock = Clock::new(move || match is_armed.load(Ordering::SeqCst) {
        true => panic!("a panic on purpose"),
        false => 1,
    });
    let store = Store::open(options).unwrap();
    armed.store(true, Ordering::SeqCst);
    let outcome = store.commit(Commit::new().append(Tree::LeadEvents, Uuid::nil(), "x")).await;
    assert!(matches!(outcome, Err(CommitError::Failed(_))));
    let later = store.commit(Commit::new().put(TREE, "later", "x")).await;
    assert!(matches!(later, Err(CommitError::Failed(_))));
    assert!(matches!(store.health(), StoreHealth::Failed(_)));
}

#[tokio::test]
async fn readers_of_a_large_value_never_see_half_of_it() {
    let directory = directory();
    let store = Store::open(StoreOptions::new(directory.path())).unwrap();
    store.commit(Commit::new().put(TREE, "key", vec![0; 100_000])).await.unwrap();
    let reader = std::thread::spawn({
        let store = store.clone();
        move || {
            (0..2_000).for_each(|_| {
                let payload = store.payload(TREE, "key").expect("always there");
                assert!(payload.iter().all(|byte| *byte == payload[0]));
            });
        }
    });
    for round in 1..100_u8 {
        store.commit(Commit::new().put(TREE, "key", vec![round; usize::from(round) * 1_000])).await.unwrap();
    }
    reader.join().unwrap();
}

#[tokio::test]
async fn a_disk_that_hangs_is_told_and_what_waits_is_written_when_it_goes_on() {
    let directory = directory();
    let mut options = StoreOptions::new(directory.path());
    options.stall_after = Duration::from_millis(1);
    let store = Store::open(options.clone()).unwrap();
    assert_eq!(store.commit(Commit::new().put(TREE, "before", "1")).await, Ok(()));
    options.sync_fault.hang(true);
    let waiting = store.commit(Commit::new().put(TREE, "waiting", "1"));
    store.until_stalled().await;
    let StoreHealth::Stalled(reason) = store.health() else { panic!("{:?}", store.health()) };
    assert_eq!(reason, "the disk has not finished a journal write for 0 s");
    assert_eq!(store.payload(TREE, "before"), Some(b"1".to_vec()), "what is there is read");
    let late = store.commit_within(Duration::from_secs(3600), Commit::new().put(TREE, "refused", "1"));
    assert_eq!(late.now_or_never(), Some(Err(CommitError::Late)), "at once");

    options.sync_fault.hang(false);
    assert_eq!(waiting.await, Ok(()));
    assert_eq!(store.payload(TREE, "refused"), None, "it was not queued");
    assert_eq!(store.health(), StoreHealth::Sound);
}

#[tokio::test]
async fn what_is_not_on_the_disk_in_time_is_late_and_may_be_there_later() {
    let directory = directory();
    let options =
        StoreOptions { stall_after: Duration::from_secs(3600), ..StoreOptions::new(directory.path()) };
    let store = Store::open(options.clone()).unwrap();
    options.sync_fault.hang(true);
    let late = store.commit_within(Duration::from_millis(1), Commit::new().put(TREE, "late", "1")).await;
    assert_eq!(late, Err(CommitError::Late));
    options.sync_fault.hang(false);
    assert_eq!(store.commit(Commit::new()).await, Ok(()), "behind it");
    assert_eq!(store.payload(TREE, "late"), Some(b"1".to_vec()));
}

#[tokio::test]
async fn a_writer_that_panics_has_failed_for_good_and_nothing_is_read_any_more() {
    let directory = directory();
    let (panics, mut options) = (Arc::new(AtomicBool::new(false)), StoreOptions::new(directory.path()));
    let panicking = Arc::clone(&panics);
    options.clock = Clock::new(move || {
        assert!(!panicking.load(Ordering::SeqCst), "simulated panic of the writer");
        1
    });
    let store = Store::open(options).unwrap();
    assert_eq!(store.commit(Commit::new().put(TREE, "before", "1")).await, Ok(()));
    assert!(!store.lost().load(Ordering::SeqCst));
    panics.store(true, Ordering::SeqCst);
    drop(store.commit(Commit::new().append(Tree::LeadEvents, Uuid::nil(), "one")));
    assert_eq!(store.until_lost().await, "the writer panicked");
    assert!(store.lost().load(Ordering::SeqCst));
    let read = store.get(TREE, "before");
    assert!(matches!(&read, Err(ReadError::Disk(reason)) if reason.contains("no longer read")), "{read:?}");
    let scanned = store.scan(TREE, []).next();
    assert!(matches!(scanned, Some(Err(ReadError::Disk(_)))), "{scanned:?}");
    assert!(matches!(store.commit(Commit::new()).await, Err(CommitError::Failed(_))));
}

/// A reader does not wait for an index that does not answer.
#[tokio::test]
async fn a_read_waits_no_longer_for_a_group_than_a_step_may_take() {
    let directory = directory();
    let options =
        StoreOptions { stall_after: Duration::from_millis(1), ..StoreOptions::new(directory.path()) };
    let store = Store::open(options).unwrap();
    assert_eq!(store.commit(Commit::new().put(TREE, "before", "1")).await, Ok(()));
    store.shared.records().while_applying(|| {
        let read = store.get(TREE, "before");
        assert!(matches!(&read, Err(ReadError::Disk(reason)) if reason.contains("for too long")), "{read:?}");
        assert!(matches!(store.scan(TREE, []).next(), Some(Err(ReadError::Disk(_)))));
        let tokens = tokens::Tokens::of(store.clone());
        assert_eq!(tokens.find("a token").err(), Some(InDoubt), "it may be known");
        // A failed read is not reported as "nothing there".
        assert!(tokens.list().is_err() && tokens.ended(Uuid::nil()).is_err());
        assert!(tokens.company_named("Acme").is_err());
        let keys = registry::partner_keys::PartnerKeys::of(store.clone());
        assert_eq!(keys.find("a token").err(), Some(InDoubt));
        assert_eq!(keys.signing_key(Uuid::nil()).err(), Some(InDoubt));
        assert!(keys.list().is_err() && keys.ended(Uuid::nil()).is_err());
        let users = users::Users::of(store.clone());
        assert!(users.list().is_err() && users.are_any().is_err());
        let audit = audit::AuditLog::of(store.clone());
        assert!(audit.after(0, &Default::default(), 1, 1).is_err());
        assert!(audit.before(Some(9), &Default::default(), 1, 1).is_err());
    });
    assert_eq!(store.payload(TREE, "before"), Some(b"1".to_vec()));
}
