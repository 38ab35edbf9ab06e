//! What the actor has the store write, and what it does when that is on the disk.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use metrics::counter;
use tracing::{debug, error};

use super::{First, RateTableActor};
use crate::matching::prepared::Prepared;
use crate::rate_table::machine::Event;
use crate::records::postings::Posting;
use crate::records::writing;
use offerd_base::telemetry::metrics::OFFERS_CUT;
use offerd_store::{CommitError, Health};

/// Pause before a commit is tried again that the store's queue had no room for.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// What becomes of answers that could not be written.
const KEPT: &str = "answers could not be stored; they are kept until the store takes them";

/// Pause before it is looked whether a store that failed works again.
const FAILED_PAUSE: Duration = Duration::from_millis(250);

impl RateTableActor {
    /// Writes what is in flight. Requests of partners who live elsewhere are made while the disk is busy with the lead.
    pub(super) fn write(&mut self, ctx: &mut Context<Self>) {
        let Some(write) = self.table.in_flight() else { return };
        if write.cut > 0 {
            counter!(OFFERS_CUT, "partner" => "all").increment(write.cut as u64);
        }
        let First { lead, until, acknowledged } = match self.start.first.take() {
            None => {
                let commit = writing::table(self.shown(), self.start.lead_created_at, None, write);
                let written = self.engine.records.store.commit(commit).into_actor(self);
                ctx.spawn(written.map(|result, actor, ctx| actor.written(result, ctx)));
                return;
            }
            Some(first) => first,
        };
        let commit = writing::table(self.shown(), self.start.lead_created_at, Some(lead), write);
        self.waiting = Some((until, acknowledged));
        let question = Arc::new(self.question());
        let written = self.engine.records.store.commit(commit);
        let afar = self.start.fits.iter().map(|fit| fit.as_ref().map(|fit| Arc::clone(&fit.seat)));
        let afar: Vec<_> = afar.map(|seat| seat.filter(|seat| seat.http.is_some())).collect();
        let written =
            async move { Prepared::meanwhile(written, question, afar.iter().map(Option::as_deref)).await };
        ctx.spawn(written.into_actor(self).map(|(result, prepared), actor, ctx| {
            actor.prepared = Some(prepared);
            actor.first_written(result, ctx);
        }));
    }

    /// The store has answered the first write: the lead is taken in, or refused.
    pub(super) fn first_written(&mut self, result: Result<(), CommitError>, ctx: &mut Context<Self>) {
        let Some((until, acknowledged)) = self.waiting.take() else { return };
        self.start.held = None;
        if let Err(failure) = result {
            let counted: Vec<usize> = self.table.counted().collect();
            self.give_back(&counted);
            std::mem::take(&mut self.start.trace).fail("not taken in");
            // Who has hung up is told nothing.
            let _ = acknowledged.send(Err(failure));
            ctx.stop();
            return;
        }
        self.take_in_written();
        if !self.table.is_complete() {
            self.go_live(ctx);
        }
        let shown = self.has_come(until).then(|| self.snapshot()).flatten();
        let _ = acknowledged.send(Ok(shown));
        self.drive(ctx);
    }

    /// The store has answered: the answers are shown, or the actor gives up.
    pub(super) fn written(&mut self, result: Result<(), CommitError>, ctx: &mut Context<Self>) {
        match result {
            Ok(()) => self.take_in_written(),
            // Only many tables recovered at once can fill the queue; the answers keep until there is room.
            Err(CommitError::Busy) => {
                self.table.handle(Event::PutOff);
                ctx.run_later(BUSY_PAUSE, |actor, ctx| {
                    actor.table.handle(Event::Retry);
                    actor.drive(ctx);
                });
            }
            // With its lead the table has gone; and who ends leaves it to the next start.
            Err(CommitError::Erased | CommitError::Closed) => return self.leave(ctx),
            Err(failure) => {
                let rate_table = self.shown().head().uuid;
                // That the store failed is told once, not for each of very many tables.
                match self.engine.records.store.health() {
                    Health::Failed(_) | Health::Stalled(_) => debug!(%rate_table, %failure, "{KEPT}"),
                    Health::Sound | Health::Short(_) => error!(%rate_table, %failure, "{KEPT}"),
                }
                return self.await_store(ctx);
            }
        }
        self.drive(ctx);
    }

    /// Keeps what was in flight until the store works again, and writes it then, unless it is on the disk after all. Polls are answered
    /// meanwhile, and nobody is asked twice.
    fn await_store(&self, ctx: &mut Context<Self>) {
        ctx.run_later(FAILED_PAUSE, |actor, ctx| {
            let store = &actor.engine.records.store;
            if matches!(store.health(), Health::Failed(_) | Health::Stalled(_)) {
                return actor.await_store(ctx);
            }
            match actor
                .table
                .in_flight()
                .map(|write| writing::is_written(store, actor.shown().head().uuid, write))
            {
                Some(Ok(true)) => actor.take_in_written(),
                Some(Err(_)) => return actor.await_store(ctx),
                Some(Ok(false)) | None => {
                    actor.table.handle(Event::PutOff);
                    actor.table.handle(Event::Retry);
                }
            }
            actor.drive(ctx);
        });
    }

    /// What was in flight is on the disk; what was earned with it counts towards the budgets of the seats.
    fn take_in_written(&mut self) {
        let sales = self.table.in_flight().map(|write| write.sales.clone()).unwrap_or_default();
        for sale in sales.iter().filter(|_| !self.shown().head().test) {
            let seat = &self.shown().seats()[usize::from(sale.seat)];
            self.engine.limiter.book(&Posting::of_sale(seat, sale));
        }
        self.table.handle(Event::Written);
    }
}
