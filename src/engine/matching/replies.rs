//! The replies of a table's partners. Waking the table's thread for each costs more than handling it, so
//! unless the table is in a hurry they gather until the last, or for `matching.gather_answers`.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::call_facts::CallFacts;
use super::messages::AskEnded;
use crate::rate_table::outcome::{AskFailure, AskResult, Outcome};
use offerd_base::telemetry::traces::AskTrace;

/// How much later than its budget a reply still counts: an answer in time may have waited for a core.
const GRACE: Duration = Duration::from_millis(50);

/// The time of an ask.
#[derive(Debug, Clone, Copy)]
pub struct AskTime {
    /// When it starts or goes on, Unix milliseconds.
    pub at: i64,
    /// The time that passed before a restart.
    pub elapsed_before_restart: Duration,
    /// The time to reply, from `at`.
    pub budget: Duration,
}

/// The reply queue of one table. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ReplyQueue(Arc<QueueShared>);

#[derive(Debug, Default)]
struct QueueShared {
    state: Mutex<ReplyQueueState>,
    wanted: Notify,
}

#[derive(Debug, Default)]
struct ReplyQueueState {
    arrived: Vec<AskEnded>,
    outstanding: usize,
    hurried: bool,
}

impl ReplyQueue {
    /// Registers an ask that starts now, or goes on after a restart; it must reply within its budget.
    pub fn register(&self, seat: usize, time: AskTime, trace: AskTrace) -> OwedReply {
        self.0.state.lock().outstanding += 1;
        let (replies, trace) = (self.clone(), Some(trace));
        OwedReply { replies, seat, asked_at: Instant::now(), time, trace }
    }

    /// Sets whether the table needs each reply at once.
    pub fn hurry(&self, hurried: bool) {
        let mut state = self.0.state.lock();
        state.hurried = hurried;
        let is_wanted = hurried && !state.arrived.is_empty();
        drop(state);
        if is_wanted {
            self.0.wanted.notify_one();
        }
    }

    /// Takes the arrived replies without further gathering.
    pub fn take(&self) -> Vec<AskEnded> {
        mem::take(&mut self.0.state.lock().arrived)
    }

    /// The replies in batches, each gathered for at most `longest`. Never ends.
    pub fn gathered(&self, longest: Duration) -> impl Stream<Item = Vec<AskEnded>> + use<> {
        unfold(self.clone(), move |replies| async move {
            replies.until(|state| !state.arrived.is_empty()).await;
            // After a timeout, take what has arrived.
            let _ = timeout(longest, replies.until(ReplyQueueState::is_due)).await;
            Some((replies.take(), replies))
        })
    }

    async fn until(&self, has_come: impl Fn(&ReplyQueueState) -> bool) {
        while !has_come(&self.0.state.lock()) {
            self.0.wanted.notified().await;
        }
    }

    fn arrive(&self, answered: AskEnded) {
        let mut state = self.0.state.lock();
        let first = state.arrived.is_empty();
        state.arrived.push(answered);
        state.outstanding -= 1;
        // The first reply starts the gathering.
        let is_wanted = first || state.is_due();
        drop(state);
        if is_wanted {
            self.0.wanted.notify_one();
        }
    }
}

impl ReplyQueueState {
    fn is_due(&self) -> bool {
        self.hurried || self.outstanding == 0
    }
}

/// The obligation to reply for one seat. Dropping it replies with a failure.
#[derive(Debug)]
pub struct OwedReply {
    replies: ReplyQueue,
    seat: usize,
    asked_at: Instant,
    time: AskTime,
    trace: Option<AskTrace>,
}

impl OwedReply {
    /// Adds facts about the calls to the trace.
    pub fn tell(&mut self, facts: CallFacts) {
        if let Some(trace) = &mut self.trace {
            facts.tell(trace);
        }
    }

    /// Sends the result of the ask.
    pub fn send(mut self, result: impl Into<AskResult>) {
        self.give(result.into());
    }

    fn give(&mut self, result: AskResult) {
        let Some(mut trace) = self.trace.take() else { return };
        let (AskTime { at, elapsed_before_restart, budget }, elapsed) = (self.time, self.asked_at.elapsed());
        // The partner's side enforces the budget itself; our own processing counts too.
        let is_late = elapsed > budget + GRACE && !result.outcome.is_failure();
        let has_no_cause = matches!(result, AskResult { outcome: Outcome::TimedOut, cause: None, .. });
        let result = if is_late || has_no_cause {
            let whole = elapsed_before_restart + budget;
            Outcome::TimedOut.because(format!("no answer within {} ms", whole.as_millis()))
        } else {
            result
        };
        if let Some(cause) = &result.cause {
            trace.note("offerd.cause", cause.to_string());
        }
        trace.note("offerd.offers", result.outcome.quotes().len() as i64);
        trace.end(result.outcome.word(), !result.outcome.is_failure());
        let (at, elapsed) = (at + elapsed.as_millis() as i64, elapsed_before_restart + elapsed);
        self.replies.arrive(AskEnded { seat: self.seat, result, at, elapsed });
    }
}

impl Drop for OwedReply {
    /// The sender panicked or is gone.
    fn drop(&mut self) {
        self.give(Outcome::Failed(AskFailure::Panicked).into());
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::{FutureExt, StreamExt};
    use tokio::time::sleep;

    use super::*;
    use crate::rate_table::outcome::NoOfferReason;
    use offerd_base::telemetry::traces::LeadTrace;

    const LONGEST: Duration = Duration::from_millis(100);

    fn expected(replies: &ReplyQueue, seats: usize) -> Vec<OwedReply> {
        let trace = LeadTrace::default();
        let time = AskTime { at: 0, elapsed_before_restart: Duration::ZERO, budget: Duration::from_secs(3) };
        (0..seats).map(|seat| replies.register(seat, time, trace.ask("bank", "loan"))).collect()
    }

    fn declined() -> AskResult {
        Outcome::NoOffers(NoOfferReason::Declined).into()
    }

    fn seats(answered: Option<Vec<AskEnded>>) -> Vec<usize> {
        answered.expect("it never ends").iter().map(|one| one.seat).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn replies_are_taken_in_together_when_the_last_has_come() {
        let replies = ReplyQueue::default();
        let mut gathered = pin!(replies.gathered(LONGEST));
        let mut expected = expected(&replies, 3);
        expected.remove(1).send(declined());
        assert!(gathered.next().now_or_never().is_none());
        expected.remove(1).send(declined());
        assert!(gathered.next().now_or_never().is_none());
        expected.remove(0).send(declined());
        assert_eq!(seats(gathered.next().await), [1, 2, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_come_does_not_wait_longer_than_it_may() {
        let replies = ReplyQueue::default();
        let mut gathered = pin!(replies.gathered(LONGEST));
        let mut expected = expected(&replies, 3);
        let begun = Instant::now();
        for _ in 0..2 {
            expected.remove(0).send(declined());
            let taken = gathered.next().await.map(|answered| answered.len());
            assert_eq!(taken, Some(1));
        }
        assert_eq!(begun.elapsed().as_millis() / 10, 2 * LONGEST.as_millis() / 10);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_in_a_hurry_has_each_at_once() {
        let replies = ReplyQueue::default();
        let mut gathered = pin!(replies.gathered(LONGEST));
        let mut expected = expected(&replies, 3);
        expected.remove(0).send(declined());
        assert!(gathered.next().now_or_never().is_none());
        replies.hurry(true);
        assert_eq!(seats(gathered.next().now_or_never().flatten()), [0]);
        expected.remove(0).send(declined());
        assert_eq!(seats(gathered.next().now_or_never().flatten()), [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_long_after_its_time_is_none() {
        let replies = ReplyQueue::default();
        let mut expected = expected(&replies, 3);
        let late = expected.remove(2);
        expected.remove(0).send(Outcome::TimedOut);
        sleep(Duration::from_secs(3)).await;
        expected.remove(0).send(declined());
        sleep(GRACE + Duration::from_millis(1)).await;
        late.send(declined());
        let results: Vec<AskResult> = replies.take().into_iter().map(|answered| answered.result).collect();
        let none = Outcome::TimedOut.because("no answer within 3000 ms");
        assert_eq!(results, [none.clone(), declined(), none]);
    }

    #[test]
    fn replies_of_many_threads_are_each_taken_in_once() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
        runtime.block_on(async {
            for round in 0..200_usize {
                let replies = ReplyQueue::default();
                let mut gathered = pin!(replies.gathered(Duration::from_secs(60)));
                for reply in expected(&replies, 16) {
                    let replies = replies.clone();
                    tokio::spawn(async move {
                        if (reply.seat + round).is_multiple_of(5) {
                            replies.hurry(round.is_multiple_of(2));
                        }
                        reply.send(declined());
                    });
                }
                let mut taken = Vec::new();
                while taken.len() < 16 {
                    taken.extend(seats(gathered.next().await));
                }
                taken.sort_unstable();
                assert_eq!(taken, (0..16).collect::<Vec<_>>());
            }
        });
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_that_is_dropped_is_the_end_of_the_ask() {
        let replies = ReplyQueue::default();
        drop(expected(&replies, 1));
        let answered = pin!(replies.gathered(LONGEST)).next().await.expect("it never ends");
        assert_eq!(answered[0].result, Outcome::Failed(AskFailure::Panicked).into());
        assert_eq!(answered.len(), 1);
    }
}
