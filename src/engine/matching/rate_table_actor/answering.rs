//! Handles replies and the deadline.

use std::time::Duration;

use metrics::counter;

use super::RateTableActor;
use crate::matching::ask_statistics::AskObservation;
use crate::matching::messages::AskEnded;
use crate::matching::replies::ReplyQueue;
use crate::rate_table::machine::TableEvent;
use crate::rate_table::outcome::{AskResult, Outcome};
use offerd_base::telemetry::metrics::LATE_ANSWERS;

impl RateTableActor {
    pub(super) fn take_in_gathered(&mut self) {
        let gathered = self.replies.as_ref().map(ReplyQueue::take).unwrap_or_default();
        gathered.into_iter().for_each(|answered| self.take_in_reply(answered));
    }

    pub(super) fn take_in_reply(&mut self, AskEnded { seat, result, at, elapsed }: AskEnded) {
        let slowest = &mut self.slowest[usize::from(self.machine.released_at(seat).is_some())];
        *slowest = elapsed.max(*slowest);
        self.engine.statistics.replied(&self.shown().seats()[seat], self.observation(seat, &result, elapsed));
        if self.machine.has_outcome(seat) {
            counter!(LATE_ANSWERS).increment(1);
            return;
        }
        self.machine.handle(TableEvent::Ended { seat, result, at });
    }

    pub(super) fn observation<'n>(
        &self,
        seat: usize,
        result: &'n AskResult,
        elapsed: Duration,
    ) -> AskObservation<'n> {
        let head = self.shown().head();
        let late = self.machine.has_outcome(seat);
        AskObservation { rate_table: head.uuid, test: head.test, result, elapsed, late }
    }

    pub(super) fn time_out(&mut self) {
        // After a restart, only the clock gives the age of the table.
        let since = (self.engine.now_ms() - self.shown().head().created_at).max(0);
        let elapsed =
            self.resources.begun.map_or(Duration::from_millis(since as u64), |begun| begun.elapsed());
        let result = Outcome::TimedOut.into();
        for seat in self.machine.waited_for() {
            self.engine
                .statistics
                .unanswered(&self.shown().seats()[seat], self.observation(seat, &result, elapsed));
        }
        self.machine.handle(TableEvent::DeadlinePassed { at: self.engine.now_ms() });
    }

    /// Requests replies one by one where a viewer sees the pending table or a reply may start second look.
    pub(super) fn look_to_hurry(&self) {
        if let Some(replies) = &self.replies {
            replies.hurry(self.machine.second_look_to_come() || self.audience.watches());
        }
    }
}
