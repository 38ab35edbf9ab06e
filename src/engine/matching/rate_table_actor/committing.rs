//! Writes the actor's commits, and handles their results.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use metrics::counter;
use tracing::{debug, error};

use super::{FirstWrite, RateTableActor};
use crate::matching::prepared::PreparedRequests;
use crate::rate_table::machine::TableEvent;
use crate::records::postings::Posting;
use crate::records::writing;
use offerd_base::telemetry::metrics::OFFERS_CUT;
use offerd_store::{CommitError, StoreHealth};

/// Pause before retrying a commit for which the store's queue had no room.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

const KEPT: &str = "could not store answers; keeping them until the store accepts them";

const FAILED_PAUSE: Duration = Duration::from_millis(250);

impl RateTableActor {
    pub(super) fn write(&mut self, ctx: &mut Context<Self>) {
        let Some(write) = &self.machine.in_flight else { return };
        if write.cut > 0 {
            counter!(OFFERS_CUT, "partner" => "all").increment(write.cut as u64);
        }
        match self.resources.first.take() {
            Some(first) => self.write_first(first, ctx),
            None => {
                let commit = writing::table(self.shown(), self.resources.lead_created_at, None, write);
                let written = self.engine.records.store.commit(commit).into_actor(self);
                ctx.spawn(written.map(|result, actor, ctx| actor.written(result, ctx)));
            }
        }
    }

    /// Writes the table with its lead, and prepares the requests meanwhile.
    fn write_first(&mut self, first: FirstWrite, ctx: &mut Context<Self>) {
        let Some(write) = &self.machine.in_flight else { return };
        let FirstWrite { lead, until, ack_sender } = first;
        let commit = writing::table(self.shown(), self.resources.lead_created_at, Some(lead), write);
        self.waiting = Some((until, ack_sender));
        let question = Arc::new(self.question());
        let written = self.engine.records.store.commit(commit);
        let remote = self.resources.fits.iter().map(|fit| fit.as_ref().map(|fit| Arc::clone(&fit.seat)));
        let remote: Vec<_> = remote.map(|seat| seat.filter(|seat| seat.http.is_some())).collect();
        let written = async move {
            PreparedRequests::meanwhile(written, question, remote.iter().map(Option::as_deref)).await
        };
        ctx.spawn(written.into_actor(self).map(|(result, prepared), actor, ctx| {
            actor.prepared = Some(prepared);
            actor.first_written(result, ctx);
        }));
    }

    pub(super) fn first_written(&mut self, result: Result<(), CommitError>, ctx: &mut Context<Self>) {
        let Some((until, ack_sender)) = self.waiting.take() else { return };
        self.resources.key_lock = None;
        if let Err(failure) = result {
            let counted: Vec<usize> = self.machine.counted().collect();
            self.give_back(&counted);
            std::mem::take(&mut self.resources.trace).fail("not taken in");
            // The caller may have hung up.
            let _ = ack_sender.send(Err(failure));
            ctx.stop();
            return;
        }
        self.take_in_written();
        if !self.machine.is_complete() {
            self.go_live(ctx);
        }
        let _ = ack_sender.send(Ok(self.has_come(until).then(|| self.snapshot()).flatten()));
        self.drive(ctx);
    }

    pub(super) fn written(&mut self, result: Result<(), CommitError>, ctx: &mut Context<Self>) {
        match result {
            Ok(()) => self.take_in_written(),
            // Only the recovery of many tables can fill the queue; the answers wait until there is room.
            Err(CommitError::Busy) => {
                self.machine.handle(TableEvent::PutOff);
                ctx.run_later(BUSY_PAUSE, |actor, ctx| {
                    actor.machine.handle(TableEvent::Retry);
                    actor.drive(ctx);
                });
            }
            // An erased lead takes its table along; a stopping daemon leaves it to the next start.
            Err(CommitError::Erased | CommitError::Closed) => return self.leave(ctx),
            Err(failure) => {
                let rate_table = self.shown().head().uuid;
                // The store logs its failure once, so many tables need not.
                match self.engine.records.store.health() {
                    StoreHealth::Failed(_) | StoreHealth::Stalled(_) => {
                        debug!(%rate_table, %failure, "{KEPT}")
                    }
                    StoreHealth::Sound | StoreHealth::Short(_) => error!(%rate_table, %failure, "{KEPT}"),
                }
                return self.await_store(ctx);
            }
        }
        self.drive(ctx);
    }

    /// Keeps the write in flight until the store works again, then writes it unless it is on the disk.
    fn await_store(&self, ctx: &mut Context<Self>) {
        ctx.run_later(FAILED_PAUSE, |actor, ctx| {
            let store = &actor.engine.records.store;
            if matches!(store.health(), StoreHealth::Failed(_) | StoreHealth::Stalled(_)) {
                return actor.await_store(ctx);
            }
            let table = actor.shown().head().uuid;
            match actor.machine.in_flight.as_ref().map(|write| writing::is_written(store, table, write)) {
                Some(Ok(true)) => actor.take_in_written(),
                Some(Err(_)) => return actor.await_store(ctx),
                Some(Ok(false)) | None => {
                    actor.machine.handle(TableEvent::PutOff);
                    actor.machine.handle(TableEvent::Retry);
                }
            }
            actor.drive(ctx);
        });
    }

    fn take_in_written(&mut self) {
        let sales = self.machine.in_flight.as_ref().map(|write| write.sales.clone()).unwrap_or_default();
        for sale in sales.iter().filter(|_| !self.shown().head().test) {
            self.engine
                .limiter
                .add_payout(&Posting::of_sale(&self.shown().seats()[usize::from(sale.seat)], sale));
        }
        self.machine.handle(TableEvent::Written);
    }
}
