//! Completion queues: the writer wakes each async worker thread once for all outcomes of a group, and the
//! thread's queue passes them to its tasks without further cross-thread wake-ups.

use std::cell::RefCell;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::commit::CommitResult;

thread_local! {
    static HERE: RefCell<Option<Arc<CompletionQueue>>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct CompletionQueue {
    /// `None` once its consumer has ended.
    waiting: Mutex<Option<Vec<CommitReply>>>,
    arrived: Notify,
}

type CommitReply = (oneshot::Sender<CommitResult>, CommitResult);

/// The channel of a commit's outcome, and the queue of the thread that made the commit.
pub(super) struct CommitWaiter(oneshot::Sender<CommitResult>, Option<Arc<CompletionQueue>>);

#[derive(Default)]
struct CompletionConsumer(Arc<CompletionQueue>);

#[derive(Default)]
pub(super) struct CommitReplies(Vec<(Arc<CompletionQueue>, Vec<CommitReply>)>);

/// Answers commits made on the current thread for as long as it is polled: run it as a task on each thread
/// that commits often. Without it the writer wakes each waiting task individually.
pub async fn answer_commits_here() {
    let consumer = CompletionConsumer::default();
    *consumer.0.waiting.lock() = Some(Vec::new());
    HERE.set(Some(Arc::clone(&consumer.0)));
    loop {
        consumer.0.arrived.notified().await;
        let arrived = consumer.0.waiting.lock().as_mut().map(std::mem::take);
        give(arrived);
    }
}

impl CommitWaiter {
    pub(super) fn here() -> (Self, oneshot::Receiver<CommitResult>) {
        let (answer, awaited) = oneshot::channel();
        (Self(answer, HERE.with_borrow(Clone::clone)), awaited)
    }

    pub(super) fn answer(self, outcome: CommitResult) {
        give(Some(vec![(self.0, outcome)]));
    }
}

impl CommitReplies {
    pub(super) fn add(&mut self, waiter: CommitWaiter, outcome: CommitResult) {
        let CommitWaiter(answer, Some(queue)) = waiter else { return waiter.answer(outcome) };
        match self.0.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &queue)) {
            Some((_, replies)) => replies.push((answer, outcome)),
            None => self.0.push((queue, vec![(answer, outcome)])),
        }
    }

    pub(super) fn send(self) {
        for (queue, replies) in self.0 {
            let left = match queue.waiting.lock().as_mut() {
                Some(waiting) => {
                    waiting.extend(replies);
                    None
                }
                None => Some(replies),
            };
            queue.arrived.notify_one();
            give(left);
        }
    }
}

fn give(replies: Option<Vec<CommitReply>>) {
    for (answer, outcome) in replies.into_iter().flatten() {
        // Fails when the future was dropped.
        let _ = answer.send(outcome);
    }
}

/// Answers the pending commits, since nothing consumes the queue any more.
impl Drop for CompletionConsumer {
    fn drop(&mut self) {
        let left = self.0.waiting.lock().take();
        give(left);
    }
}
