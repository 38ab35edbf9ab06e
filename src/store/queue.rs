//! The path of a commit to the writer and back: a bounded queue and one plain thread, or no queue at all.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};
use std::{io, iter};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, TrySendError, bounded};
use parking_lot::{Mutex, RwLock};
use tokio::task::unconstrained;

use super::committer::Committer;
use super::completion_queue::{CommitReplies, CommitWaiter};
use super::engine::GroupWriter;
use crate::{Commit, CommitError, CommitResult, StoreError, StoreOptions};
use offerd_base::telemetry::metrics::{STORE_COMMIT_SECONDS, STORE_QUEUE_DEPTH};

type BoxedCommitter = Box<Committer<dyn GroupWriter>>;

pub(super) enum CommitQueue {
    /// To a dedicated thread, in groups.
    Threaded(Threaded),
    /// On the caller's thread, one by one; `None` once closed.
    Inline(Mutex<Option<BoxedCommitter>>),
}

pub(super) struct Threaded {
    sender: RwLock<Option<Sender<QueuedCommit>>>,
    /// Parked while the queue is empty. The channel's own wait yields first, which costs ms on busy cores.
    writer: Thread,
    thread: Mutex<Option<WriterThread>>,
    /// Disk time of the last two groups, microseconds.
    disk_wait: Arc<AtomicU64>,
    close_bound: Duration,
}

/// The writer's thread, and the result that it ends with.
type WriterThread = (JoinHandle<()>, Receiver<Result<(), String>>);

/// A commit, when it was queued, and what waits for its outcome.
type QueuedCommit = (Commit, (Instant, CommitWaiter));

impl CommitQueue {
    /// A queue to a writer on a dedicated thread; or inline, so that `submit` writes each commit.
    pub(super) fn new(
        committer: Committer<impl GroupWriter + 'static>,
        options: &StoreOptions,
        has_threads: bool,
    ) -> io::Result<Self> {
        let committer: BoxedCommitter = Box::new(committer);
        if !has_threads {
            return Ok(Self::Inline(Mutex::new(Some(committer))));
        }
        let StoreOptions { queue, group, close_bound, .. } = *options;
        let (sender, requests) = bounded(queue.max(1));
        let (finish, finished) = bounded(1);
        let disk_wait = Arc::<AtomicU64>::default();
        let shown = Arc::clone(&disk_wait);
        let latch = Arc::clone(&committer.latch);
        let handle = thread::Builder::new().name("store-writer".to_owned()).spawn(move || {
            let ran = catch_unwind(AssertUnwindSafe(|| run(committer, &requests, group.max(1), &shown)));
            let result = ran.unwrap_or_else(|_| {
                latch.fail_for_good("the writer panicked");
                Err("the writer panicked".to_owned())
            });
            // Fails when the bound of `close` has passed and no receiver is left.
            let _ = finish.send(result);
        })?;
        let (sender, writer) = (RwLock::new(Some(sender)), handle.thread().clone());
        let thread = Mutex::new(Some((handle, finished)));
        Ok(Self::Threaded(Threaded { sender, writer, thread, disk_wait, close_bound }))
    }

    /// Once this returns, the commit is queued (or written, inline), even if the answer is dropped.
    pub(super) fn submit(&self, commit: Commit) -> impl Future<Output = CommitResult> + Send + use<> {
        let (waiter, awaited) = CommitWaiter::here();
        let queued = Instant::now();
        match self {
            Self::Threaded(threaded) => threaded.submit((commit, (queued, waiter))),
            Self::Inline(committer) => waiter.answer(match committer.lock().as_mut() {
                Some(committer) => {
                    let outcome = committer.execute(&[commit]).pop().unwrap_or(Err(CommitError::Closed));
                    committer.compact_some();
                    metrics::histogram!(STORE_COMMIT_SECONDS).record(queued.elapsed());
                    outcome
                }
                None => Err(CommitError::Closed),
            }),
        }
        // Ready at once when inline, however much the task has done before.
        let outcome = unconstrained(awaited);
        async { outcome.await.unwrap_or_else(|_| Err(CommitError::Failed("the writer is gone".to_owned()))) }
    }

    pub(super) fn disk_wait(&self) -> Duration {
        match self {
            Self::Threaded(threaded) => Duration::from_micros(threaded.disk_wait.load(Ordering::Relaxed)),
            Self::Inline(_) => Duration::ZERO,
        }
    }

    /// Stops taking commits, lets the writer finish the queued ones, and stops it. Idempotent.
    pub(super) fn close(&self) -> Result<(), StoreError> {
        match self {
            Self::Threaded(threaded) => threaded.close(),
            Self::Inline(committer) => match committer.lock().take() {
                Some(mut committer) => committer.finish().map_err(StoreError::Disk),
                None => Ok(()),
            },
        }
    }
}

impl Threaded {
    fn submit(&self, request: QueuedCommit) {
        let ((_, (_, waiter)), refusal) = match self.sender.read().as_ref() {
            Some(sender) => match sender.try_send(request) {
                Ok(()) => return self.writer.unpark(),
                Err(TrySendError::Full(request)) => (request, CommitError::Busy),
                Err(TrySendError::Disconnected(request)) => (request, CommitError::Closed),
            },
            None => (request, CommitError::Closed),
        };
        waiter.answer(Err(refusal));
    }

    fn close(&self) -> Result<(), StoreError> {
        // Without its sender the writer's loop ends once the queue is empty.
        drop(self.sender.write().take());
        self.writer.unpark();
        let mut thread = self.thread.lock();
        let Some((handle, finished)) = thread.take() else { return Ok(()) };
        match finished.recv_timeout(self.close_bound) {
            Err(RecvTimeoutError::Timeout) => Err(StoreError::CloseTimedOut(self.close_bound)),
            Err(RecvTimeoutError::Disconnected) => Err(StoreError::Disk("the writer panicked".to_owned())),
            Ok(result) => {
                // The thread has sent its result and only drops the writer.
                let _ = handle.join();
                result.map_err(StoreError::Disk)
            }
        }
    }
}

fn run(
    mut committer: BoxedCommitter,
    requests: &Receiver<QueuedCommit>,
    group: usize,
    disk_wait: &AtomicU64,
) -> Result<(), String> {
    while let Some(first) = next(&mut committer, requests) {
        let waited_before = committer.writer.waited();
        metrics::gauge!(STORE_QUEUE_DEPTH).set(requests.len() as f64);
        let taken = iter::once(first).chain(requests.try_iter()).take(group);
        let (commits, waiters): (Vec<_>, Vec<_>) = taken.unzip();
        let outcomes = committer.execute(&commits);
        let waited = waited_before + committer.writer.waited();
        disk_wait.store(waited.as_micros() as u64, Ordering::Relaxed);
        let mut replies = CommitReplies::default();
        for ((queued, waiter), outcome) in waiters.into_iter().zip(outcomes) {
            metrics::histogram!(STORE_COMMIT_SECONDS).record(queued.elapsed());
            replies.add(waiter, outcome);
        }
        replies.send();
        committer.compact_some();
    }
    metrics::gauge!(STORE_QUEUE_DEPTH).set(0.0);
    committer.finish()
}

/// `None` when the queue is closed and empty. Retries a failed disk at intervals.
fn next(committer: &mut BoxedCommitter, requests: &Receiver<QueuedCommit>) -> Option<QueuedCommit> {
    loop {
        match requests.try_recv() {
            Ok(request) => return Some(request),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        match committer.latch.can_mend() {
            true => {
                thread::park_timeout(committer.mend_interval);
                committer.mend();
            }
            // Only a restart would repair a failure.
            false => thread::park(),
        }
    }
}
