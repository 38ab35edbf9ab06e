//! What partners are sent, made while the disk is busy with the lead.
//!
//! Nobody is asked before the lead is durable, but what they will be asked is known before. So their requests are made while
//! the lead's commit is under way, as many as that leaves time for; the others are made when they are sent.

use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::lines::Rendered;
use super::question::Question;
use crate::partners::Seat;

/// The question of a lead, and requests that ask it.
pub struct Prepared {
    question: Arc<Question>,
    /// Of the first seats, each once.
    requests: Vec<Option<Rendered>>,
}

impl Prepared {
    /// Waits for what is under way, and meanwhile makes the requests of the seats that are there to be asked, one after the
    /// other; `None` stands for a seat that is not. A request whose mapping panics is left to its own ask, which can fail alone.
    pub async fn meanwhile<T>(
        under_way: impl Future<Output = T>,
        question: Arc<Question>,
        seats: impl Iterator<Item = Option<&Seat>>,
    ) -> (T, Self) {
        let mut under_way = pin!(under_way);
        let mut requests = Vec::new();
        for seat in seats {
            let look = |cx: &mut Context<'_>| Poll::Ready(under_way.as_mut().poll(cx));
            if let Poll::Ready(done) = poll_fn(look).await {
                return (done, Self { question, requests });
            }
            let made = seat.map(|seat| catch_unwind(AssertUnwindSafe(|| Rendered::of(seat, &question))));
            requests.push(made.and_then(Result::ok).flatten());
        }
        (under_way.await, Self { question, requests })
    }

    /// What is asked.
    pub fn question(&self) -> &Arc<Question> {
        &self.question
    }

    /// Takes the request of the seat at a position, if it was made.
    pub fn take(&mut self, seat: usize) -> Option<Rendered> {
        self.requests.get_mut(seat).and_then(Option::take)
    }
}

/// A question without requests.
impl From<Question> for Prepared {
    fn from(question: Question) -> Self {
        Self { question: Arc::new(question), requests: Vec::new() }
    }
}

/// Tells nothing of the person.
impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("question", &self.question).finish_non_exhaustive()
    }
}
