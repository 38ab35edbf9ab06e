//! The replies of a table's partners, on their way to the table.
//!
//! A reply comes on whatever thread the partner's answer came to. To wake the table's thread for each of them costs more than
//! what is then done with it. So, while nobody is in a hurry, replies gather here until the last one has come, or for as long
//! as `matching.gather_answers` says, and the table takes in all of them together.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use futures_util::Stream;
use futures_util::stream::unfold;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::call_facts::CallFacts;
use super::messages::PartnerAnswered;
use crate::rate_table::outcome::{AskEnd, Failure, Outcome};
use offerd_base::telemetry::traces::AskTrace;

/// By how much a reply may come after its budget and still count: an answer that came in time may have to wait for a core.
const GRACE: Duration = Duration::from_millis(50);

/// Where the replies of one table arrive; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Replies(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the table.
    wanted: Notify,
}

#[derive(Debug, Default)]
struct State {
    arrived: Vec<PartnerAnswered>,
    /// Asks without a reply.
    outstanding: usize,
    hurried: bool,
}

impl Replies {
    /// A seat's ask begins, or goes on that began so long `before` a restart, and will be replied to within its budget.
    pub fn expect(&self, seat: usize, (before, budget): (Duration, Duration), trace: AskTrace) -> Reply {
        self.0.state.lock().outstanding += 1;
        Reply { replies: self.clone(), seat, asked_at: Instant::now(), before, budget, trace: Some(trace) }
    }

    /// From now on somebody is, or nobody is any more, in a hurry for each reply.
    pub fn hurry(&self, hurried: bool) {
        let mut state = self.0.state.lock();
        state.hurried = hurried;
        let is_wanted = hurried && !state.arrived.is_empty();
        drop(state);
        if is_wanted {
            self.0.wanted.notify_one();
        }
    }

    /// Those that are there, however long they may still gather.
    pub fn take(&self) -> Vec<PartnerAnswered> {
        mem::take(&mut self.0.state.lock().arrived)
    }

    /// The replies as the table takes them in, each time those that are there, gathered for `longest` at most. It never ends.
    pub fn gathered(&self, longest: Duration) -> impl Stream<Item = Vec<PartnerAnswered>> + use<> {
        unfold(self.clone(), move |replies| async move {
            replies.until(|state| !state.arrived.is_empty()).await;
            // When that is over, what is there is taken in as it is.
            let _ = timeout(longest, replies.until(State::is_due)).await;
            Some((replies.take(), replies))
        })
    }

    /// Waits until the replies have come so far.
    async fn until(&self, has_come: impl Fn(&State) -> bool) {
        while !has_come(&self.0.state.lock()) {
            self.0.wanted.notified().await;
        }
    }

    fn arrive(&self, answered: PartnerAnswered) {
        let mut state = self.0.state.lock();
        let first = state.arrived.is_empty();
        state.arrived.push(answered);
        state.outstanding -= 1;
        // The first has the gathering begin.
        let is_wanted = first || state.is_due();
        drop(state);
        if is_wanted {
            self.0.wanted.notify_one();
        }
    }
}

impl State {
    fn is_due(&self) -> bool {
        self.hurried || self.outstanding == 0
    }
}

/// What is owed to a table about one seat. However it is dropped, the table hears of it.
#[derive(Debug)]
pub struct Reply {
    replies: Replies,
    seat: usize,
    asked_at: Instant,
    /// What of its time had passed before a restart.
    before: Duration,
    budget: Duration,
    /// Taken when the reply is given.
    trace: Option<AskTrace>,
}

impl Reply {
    /// Tells of its calls, for whoever looks at its trace.
    pub fn tell(&mut self, facts: CallFacts) {
        if let Some(trace) = &mut self.trace {
            facts.tell(trace);
        }
    }

    /// Tells how the ask has ended.
    pub fn send(mut self, end: impl Into<AskEnd>) {
        self.give(end.into());
    }

    fn give(&mut self, end: AskEnd) {
        let Some(mut trace) = self.trace.take() else { return };
        let (at, elapsed) = (Utc::now().timestamp_millis(), self.asked_at.elapsed());
        // Whoever replies keeps to the budget by itself; what our own code takes for it counts too.
        let is_late = elapsed > self.budget + GRACE && !end.outcome.is_failure();
        let end = match end {
            AskEnd { outcome: Outcome::TimedOut, cause: None, .. } => self.timed_out(),
            _ if is_late => self.timed_out(),
            end => end,
        };
        if let Some(cause) = &end.cause {
            trace.note("offerd.cause", cause.to_string());
        }
        trace.note("offerd.offers", end.outcome.quotes().len() as i64);
        trace.end(end.outcome.word(), !end.outcome.is_failure());
        let elapsed = self.before + elapsed;
        self.replies.arrive(PartnerAnswered { seat: self.seat, end, at, elapsed });
    }

    fn timed_out(&self) -> AskEnd {
        let whole = self.before + self.budget;
        Outcome::TimedOut.because(format!("no answer within {} ms", whole.as_millis()))
    }
}

impl Drop for Reply {
    /// Whoever was to reply has panicked, or is gone.
    fn drop(&mut self) {
        self.give(Outcome::Failed(Failure::Panicked).into());
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

    fn expected(replies: &Replies, seats: usize) -> Vec<Reply> {
        let trace = LeadTrace::default();
        let expect =
            |seat| replies.expect(seat, (Duration::ZERO, Duration::from_secs(3)), trace.ask("bank", "loan"));
        (0..seats).map(expect).collect()
    }

    fn declined() -> AskEnd {
        Outcome::NoOffers(NoOfferReason::Declined).into()
    }

    fn seats(answered: Option<Vec<PartnerAnswered>>) -> Vec<usize> {
        answered.expect("it never ends").iter().map(|one| one.seat).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn replies_are_taken_in_together_when_the_last_has_come() {
        let replies = Replies::default();
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
        let replies = Replies::default();
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
        let replies = Replies::default();
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
        let replies = Replies::default();
        let mut expected = expected(&replies, 3);
        let late = expected.remove(2);
        expected.remove(0).send(Outcome::TimedOut);
        sleep(Duration::from_secs(3)).await;
        expected.remove(0).send(declined());
        sleep(GRACE + Duration::from_millis(1)).await;
        late.send(declined());
        let ends: Vec<AskEnd> = replies.take().into_iter().map(|answered| answered.end).collect();
        let none = Outcome::TimedOut.because("no answer within 3000 ms");
        assert_eq!(ends, [none.clone(), declined(), none]);
    }

    #[test]
    fn replies_of_many_threads_are_each_taken_in_once() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
        runtime.block_on(async {
            for round in 0..200_usize {
                let replies = Replies::default();
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
        let replies = Replies::default();
        drop(expected(&replies, 1));
        let answered = pin!(replies.gathered(LONGEST)).next().await.expect("it never ends");
        assert_eq!(answered[0].end, Outcome::Failed(Failure::Panicked).into());
        assert_eq!(answered.len(), 1);
    }
}
