//! The rate-table actor: feeds what happens to a lead's [rate table](crate::rate_table::machine) into it, and carries out what it says.
//!
//! It writes a new table with its lead, asks every partner, takes in each outcome, and shows the table. While nobody may see the
//! table before it is complete, and no second look waits for them, answers [gather](super::replies) for a moment and are written
//! together: what a crash takes was shown to nobody, and its partners are asked again.

mod answering;
mod asking;
mod committing;
mod showing;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::admission::LivePlace;
use super::audience::Audience;
use super::budget::Budget;
use super::configuration::Configuration;
use super::engine::Engine;
use super::idempotency::Held;
use super::messages::{
    AwaitTable, GetRateTable, Leave, LookForChange, PartnerAnswered, Snapshot, Unchanged, Until,
};
use super::prepared::Prepared;
use super::replies::Replies;
use crate::rate_table::call_record::CallRecord;
use crate::rate_table::machine::{Beginning, Effect, Machine};
use crate::rate_table::table::Table;
use crate::records::writing::LeadCommit;
use offerd_base::config::MatchingSettings;
use offerd_base::telemetry::traces::LeadTrace;
use offerd_model::{CreditBands, Lead};
use offerd_partners::Fit;
use offerd_partners::ranking::RankedBy;
use offerd_store::CommitError;

/// What an actor needs to be started with.
pub struct Start {
    /// What it is computed under, to its end.
    pub configuration: Arc<Configuration>,
    /// The lead, as the partners see it.
    pub lead: Arc<Lead>,
    /// When the lead was made, Unix milliseconds.
    pub lead_created_at: i64,
    /// How scores become ratings.
    pub bands: CreditBands,
    /// What its offers are ranked by, to its end; by what the partner files say without.
    pub ranked_by: Option<Arc<RankedBy>>,
    /// Per seat of the table, the seat in the book and its fitting offers; `None` for one that left the book.
    pub fits: Vec<Option<Fit>>,
    /// What is on the disk of the calls of its seats.
    pub calls: HashMap<u16, CallRecord>,
    /// Of a new table, what it is written with, and who waits for that.
    pub first: Option<First>,
    /// When its lead had been read; `None` when it goes on after a restart.
    pub begun: Option<Instant>,
    /// When the table must be complete.
    pub deadline: Instant,
    /// The client's key, from whoever else sends it, until the table is written.
    pub held: Option<Held>,
    /// Held until the table is settled.
    pub place: Option<LivePlace>,
    /// The trace of the lead, until the table is settled.
    pub trace: LeadTrace,
}

/// Is told that a lead is on the disk, with its table where that has come as far as is wanted; or why it is not taken in.
pub type Acknowledged = oneshot::Sender<Result<Option<Snapshot>, CommitError>>;

/// Where that is told.
pub type Acknowledgement = oneshot::Receiver<Result<Option<Snapshot>, CommitError>>;

/// The first write of a table.
#[derive(Debug)]
pub struct First {
    /// What is written of its lead.
    pub lead: LeadCommit,
    /// How far the table is to come for who waits.
    pub until: Until,
    /// Who waits.
    pub acknowledged: Acknowledged,
}

/// One lead's rate table while it is being built, and a little longer.
pub struct RateTableActor {
    engine: Arc<Engine>,
    start: Start,
    table: Machine,
    budget: Budget,
    /// What those are asked who live elsewhere, made while the disk is busy with the lead.
    prepared: Option<Prepared>,
    /// Who waits for the first write, and how far the table is to come for it.
    waiting: Option<(Until, Acknowledged)>,
    /// Where partners reply to, once one is asked that does not answer at once.
    replies: Option<Replies>,
    /// How long the slowest partner took, of first look and of second.
    slowest: [Duration; 2],
    audience: Audience,
}

impl Actor for RateTableActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if self.start.first.is_none() {
            self.go_live(ctx);
        }
        self.drive(ctx);
    }
}

/// Replies of partners.
impl StreamHandler<Vec<PartnerAnswered>> for RateTableActor {
    fn handle(&mut self, answered: Vec<PartnerAnswered>, ctx: &mut Context<Self>) {
        answered.into_iter().for_each(|answered| self.take_in_reply(answered));
        self.drive(ctx);
    }
}

impl Handler<GetRateTable> for RateTableActor {
    type Result = MessageResult<GetRateTable>;

    fn handle(&mut self, _: GetRateTable, ctx: &mut Context<Self>) -> Self::Result {
        let snapshot = self.snapshot();
        self.look_to_hurry();
        self.leave_if_done(ctx);
        MessageResult(snapshot)
    }
}

impl Handler<LookForChange> for RateTableActor {
    type Result = MessageResult<LookForChange>;

    fn handle(&mut self, LookForChange(held): LookForChange, ctx: &mut Context<Self>) -> Self::Result {
        let version = self.shown().answers();
        let unchanged = held.contains(&version).then(|| {
            let pending = !self.shown().progress().settled();
            self.audience.looked(pending);
            Unchanged { version, pending, deadline: self.shown().head().deadline }
        });
        self.look_to_hurry();
        self.leave_if_done(ctx);
        MessageResult(unchanged)
    }
}

impl Handler<AwaitTable> for RateTableActor {
    type Result = ResponseFuture<Option<Snapshot>>;

    fn handle(&mut self, AwaitTable(until): AwaitTable, ctx: &mut Context<Self>) -> Self::Result {
        if self.has_come(until) {
            let snapshot = self.snapshot();
            self.look_to_hurry();
            self.leave_if_done(ctx);
            return Box::pin(std::future::ready(snapshot));
        }
        let receiver = self.audience.wait(until);
        self.look_to_hurry();
        Box::pin(async move { receiver.await.ok() })
    }
}

impl Handler<Leave> for RateTableActor {
    type Result = ();

    /// Leaves: what is pending stays recorded as pending, for recovery. The store writes what it was given before it
    /// closes.
    fn handle(&mut self, _: Leave, ctx: &mut Context<Self>) {
        self.take_in_gathered();
        self.drive(ctx);
        self.leave(ctx);
    }
}

impl RateTableActor {
    /// An actor that is ready to be started on an arbiter.
    pub fn new(engine: Arc<Engine>, start: Start, beginning: Beginning) -> Self {
        let deadline = beginning.table.head().longest();
        let rules = MatchingSettings { deadline, ..start.configuration.rules.matching };
        Self {
            engine,
            budget: Budget::until(start.deadline, rules),
            table: Machine::new(beginning),
            prepared: None,
            waiting: None,
            replies: None,
            slowest: [Duration::ZERO; 2],
            audience: Audience::default(),
            start,
        }
    }

    /// Carries out all that is to be done now.
    fn drive(&mut self, ctx: &mut Context<Self>) {
        while let Some(effect) = self.table.poll(self.engine.limiter.now()) {
            match effect {
                Effect::Ask(seats) => self.ask(&seats, ctx),
                Effect::Admit(held) => self.admit(&held),
                Effect::Write => self.write(ctx),
                Effect::GiveBack(spared) => self.give_back(&spared),
                Effect::Show => self.show(),
                Effect::Settle => self.settle(ctx),
            }
        }
        self.look_to_hurry();
    }

    fn shown(&self) -> &Table {
        self.table.table()
    }

    /// From now on the table is found by its uuid, and its time runs out.
    fn go_live(&mut self, ctx: &mut Context<Self>) {
        self.engine.live.add(self.shown().head(), ctx.address());
        let left = self.start.deadline.saturating_duration_since(Instant::now());
        ctx.run_later(left, |actor, ctx| {
            // What has come in time and still gathers has come in time.
            actor.take_in_gathered();
            actor.time_out();
            actor.drive(ctx);
        });
    }
}

/// However the actor ends, a panic included, it is not live any more.
impl Drop for RateTableActor {
    fn drop(&mut self) {
        self.engine.live.remove(self.shown().head().uuid);
    }
}
