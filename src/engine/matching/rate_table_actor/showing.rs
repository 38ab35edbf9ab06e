//! Shows the table to its viewers, and decides when the actor stops.

use actix::prelude::*;
use metrics::{counter, histogram};
use tokio::time::Instant;

use super::RateTableActor;
use crate::matching::messages::{TableSnapshot, Until};
use crate::matching::trigger::RequestedReport;
use offerd_base::telemetry::metrics::{TABLE_BUDGET_LEFT_SECONDS, TABLE_OVERHEAD_SECONDS, TABLES_SETTLED};

impl RateTableActor {
    pub(super) fn has_come(&self, until: Until) -> bool {
        match until {
            Until::Complete | Until::Within(_) => self.machine.is_complete(),
            Until::After(version) => self.shown().answers() != version,
            Until::Prompt => self.machine.has_prompt_answers(),
        }
    }

    pub(super) fn snapshot(&mut self) -> Option<TableSnapshot> {
        self.audience.show(|| self.engine.show(self.machine.table()))
    }

    pub(super) fn show(&mut self) {
        self.audience.changed();
        let mut audience = std::mem::take(&mut self.audience);
        let served = audience.served(|until| self.has_come(until));
        self.audience = audience;
        if served.is_empty() {
            return;
        }
        if let Some(snapshot) = self.snapshot() {
            for waiter in served {
                // The client may have hung up.
                let _ = waiter.send(snapshot.clone());
            }
        }
    }

    pub(super) fn settle(&mut self, ctx: &mut Context<Self>) {
        let word = |is: bool| if is { "yes" } else { "no" };
        let (test, offers) = (word(self.shown().head().test), word(self.shown().offers() > 0));
        counter!(TABLES_SETTLED, "test" => test, "offers" => offers).increment(1);
        let left = self.resources.deadline.saturating_duration_since(Instant::now());
        histogram!(TABLE_BUDGET_LEFT_SECONDS).record(left.as_secs_f64());
        let head = self.shown().head();
        if head.test && !RequestedReport::all_of(&self.resources.lead).is_empty() {
            self.engine.to_report.add(head.uuid);
        }
        if let Some(begun) = self.resources.begun {
            let overhead = begun.elapsed().saturating_sub(self.slowest.iter().sum());
            histogram!(TABLE_OVERHEAD_SECONDS).record(overhead.as_secs_f64());
        }
        self.resources.slot = None;
        drop(std::mem::take(&mut self.resources.trace));
        ctx.run_later(self.resources.configuration.rules.matching.linger, |actor, ctx| actor.leave(ctx));
        self.leave_if_done(ctx);
    }

    pub(super) fn leave_if_done(&mut self, ctx: &mut Context<Self>) {
        if self.audience.is_done() {
            self.leave(ctx);
        }
    }

    pub(super) fn leave(&mut self, ctx: &mut Context<Self>) {
        drop(std::mem::take(&mut self.audience));
        ctx.stop();
    }
}
