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

struct CommitReply {
    answer: oneshot::Sender<CommitResult>,
    outcome: CommitResult,
}

pub(super) struct CommitWaiter {
    answer: oneshot::Sender<CommitResult>,
    desk: Option<Arc<CompletionQueue>>,
}

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
        arrived.into_iter().flatten().for_each(CommitReply::give);
    }
}

impl CommitWaiter {
    pub(super) fn here() -> (Self, oneshot::Receiver<CommitResult>) {
        let (answer, awaited) = oneshot::channel();
        (Self { answer, desk: HERE.with_borrow(Clone::clone) }, awaited)
    }

    pub(super) fn answer(self, outcome: CommitResult) {
        CommitReply { answer: self.answer, outcome }.give();
    }
}

impl CommitReplies {
    pub(super) fn add(&mut self, asker: CommitWaiter, outcome: CommitResult) {
        let Some(desk) = asker.desk else { return asker.answer(outcome) };
        let reply = CommitReply { answer: asker.answer, outcome };
        match self.0.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &desk)) {
            Some((_, replies)) => replies.push(reply),
            None => self.0.push((desk, vec![reply])),
        }
    }

    pub(super) fn send(self) {
        for (desk, replies) in self.0 {
            let left = match desk.waiting.lock().as_mut() {
                Some(waiting) => {
                    waiting.extend(replies);
                    None
                }
                None => Some(replies),
            };
            desk.arrived.notify_one();
            left.into_iter().flatten().for_each(CommitReply::give);
        }
    }
}

impl CommitReply {
    fn give(self) {
        // Fails when the future was dropped.
        let _ = self.answer.send(self.outcome);
    }
}

/// Answers the pending commits, since nothing consumes the queue any more.
impl Drop for CompletionConsumer {
    fn drop(&mut self) {
        let left = self.0.waiting.lock().take();
        left.into_iter().flatten().for_each(CommitReply::give);
    }
}
