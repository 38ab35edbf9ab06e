//! The way of outcomes back. Whoever commits on a thread of the engine is answered there, by the thread's courier: the writer wakes
//! it once for all outcomes of a group, and each goes from it to who waits without a wake-up from thread to thread.

use std::{cell::RefCell, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::commit::Outcome;

thread_local! {
    static HERE: RefCell<Option<Arc<Desk>>> = const { RefCell::new(None) };
}

/// What is to be handed out on a thread.
#[derive(Default)]
struct Desk {
    /// Nothing once the courier has left.
    waiting: Mutex<Option<Vec<Reply>>>,
    arrived: Notify,
}

/// An outcome, and who waits for it.
struct Reply {
    answer: oneshot::Sender<Outcome>,
    outcome: Outcome,
}

/// Who waits for the outcome of a commit, and where.
pub(super) struct Asker {
    answer: oneshot::Sender<Outcome>,
    desk: Option<Arc<Desk>>,
}

/// Hands out on its thread what arrives there, until it is dropped.
#[derive(Default)]
struct Courier(Arc<Desk>);

/// The outcomes of a group.
#[derive(Default)]
pub(super) struct Replies(Vec<(Arc<Desk>, Vec<Reply>)>);

/// Answers the commits of the thread that this is polled on, as long as it is polled: a task of each thread that commits much. Without
/// it the writer wakes each waiter by itself.
pub async fn answer_commits_here() {
    let courier = Courier::default();
    *courier.0.waiting.lock() = Some(Vec::new());
    HERE.set(Some(Arc::clone(&courier.0)));
    loop {
        courier.0.arrived.notified().await;
        let arrived = courier.0.waiting.lock().as_mut().map(std::mem::take);
        arrived.into_iter().flatten().for_each(Reply::give);
    }
}

impl Asker {
    /// Who asks on this thread; the outcome comes by the other end.
    pub(super) fn here() -> (Self, oneshot::Receiver<Outcome>) {
        let (answer, awaited) = oneshot::channel();
        (Self { answer, desk: HERE.with_borrow(Clone::clone) }, awaited)
    }

    /// Answers at once.
    pub(super) fn answer(self, outcome: Outcome) {
        Reply { answer: self.answer, outcome }.give();
    }
}

impl Replies {
    /// Takes an outcome along.
    pub(super) fn add(&mut self, asker: Asker, outcome: Outcome) {
        let Some(desk) = asker.desk else { return asker.answer(outcome) };
        let reply = Reply { answer: asker.answer, outcome };
        match self.0.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &desk)) {
            Some((_, replies)) => replies.push(reply),
            None => self.0.push((desk, vec![reply])),
        }
    }

    /// Brings each thread what is for it, and wakes it once.
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
            left.into_iter().flatten().for_each(Reply::give);
        }
    }
}

impl Reply {
    fn give(self) {
        // Who dropped the future does not want to know.
        let _ = self.answer.send(self.outcome);
    }
}

/// Nobody waits for a courier that has left.
impl Drop for Courier {
    fn drop(&mut self) {
        let left = self.0.waiting.lock().take();
        left.into_iter().flatten().for_each(Reply::give);
    }
}
