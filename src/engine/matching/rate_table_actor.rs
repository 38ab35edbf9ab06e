//! The rate-table actor: feeds events into a lead's [state machine](crate::rate_table::machine) and carries
//! out its effects. Answers [gather](super::replies) briefly while nobody may see the table before completion
//! and no second look depends on them. A crash loses only unseen answers; their partners are asked again.

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

use super::admission::PendingSlot;
use super::audience::Audience;
use super::budget::Budget;
use super::configuration::Configuration;
use super::engine::MatchingEngine;
use super::idempotency::IdempotencyLock;
use super::messages::{
    AskEnded, AwaitTable, GetRateTable, Leave, LookForChange, TableSnapshot, Unchanged, Until,
};
use super::prepared::PreparedRequests;
use super::replies::ReplyQueue;
use crate::rate_table::machine::{Effect, Machine, MachineStart};
use crate::rate_table::record::CallRecord;
use crate::rate_table::table::Table;
use crate::records::writing::LeadCommit;
use offerd_base::config::MatchingSettings;
use offerd_base::telemetry::traces::LeadTrace;
use offerd_model::{CreditBands, Lead, SuppressionDigest, SuppressionKind};
use offerd_partners::Fit;
use offerd_partners::ranking::Scorer;
use offerd_store::CommitError;

/// What an actor needs for its table, taken and released as the table advances.
pub struct TableResources {
    /// The configuration of the table, until it is complete.
    pub configuration: Arc<Configuration>,
    /// The lead as sent to partners.
    pub lead: Arc<Lead>,
    /// By what suppression lists named its people before it grew.
    pub earlier_digests: Vec<(SuppressionKind, SuppressionDigest)>,
    /// When the lead was made, Unix milliseconds.
    pub lead_created_at: i64,
    /// Maps scores to ratings.
    pub bands: CreditBands,
    /// The ranking of its offers, until it is complete; `None` scores them by the partner files.
    pub ranked_by: Option<Arc<Scorer>>,
    /// For each seat of the table, the book's seat and its fitting offers; `None` if the current book has no
    /// fit for it, and once it is asked.
    pub fits: Vec<Option<Fit>>,
    /// The journaled calls of its seats.
    pub calls: HashMap<u16, CallRecord>,
    /// The first write of a new table.
    pub first: Option<FirstWrite>,
    /// When the lead had been read; `None` after a restart.
    pub begun: Option<Instant>,
    /// Deadline of the table.
    pub deadline: Instant,
    /// The lock on the client's idempotency key, until the table is written.
    pub key_lock: Option<IdempotencyLock>,
    /// The table's slot among pending tables, until it is complete.
    pub slot: Option<PendingSlot>,
    /// The trace of the lead, until the table is complete.
    pub trace: LeadTrace,
}

/// Resolves when the lead is on the disk, with the snapshot if the table is far enough, or with the refusal.
pub type AckSender = oneshot::Sender<Result<Option<TableSnapshot>, CommitError>>;

/// The receiver of [`AckSender`].
pub type AckReceiver = oneshot::Receiver<Result<Option<TableSnapshot>, CommitError>>;

/// The first write of a table.
#[derive(Debug)]
pub struct FirstWrite {
    /// The commit of the lead.
    pub lead: LeadCommit,
    /// How far the table must come for the waiting caller.
    pub until: Until,
    /// The waiting caller.
    pub ack_sender: AckSender,
}

/// Builds one lead's rate table, and lingers a little after completion.
pub struct RateTableActor {
    engine: Arc<MatchingEngine>,
    resources: TableResources,
    machine: Machine,
    budget: Budget,
    prepared: Option<PreparedRequests>,
    /// The caller of the first write, and how far the table must come for it.
    waiting: Option<(Until, AckSender)>,
    /// The replies of partners, once one is asked that does not answer at once.
    replies: Option<ReplyQueue>,
    /// The time of the slowest partner, for first and second look.
    slowest: [Duration; 2],
    audience: Audience,
}

impl Actor for RateTableActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if self.resources.first.is_none() {
            self.go_live(ctx);
        }
        self.drive(ctx);
    }
}

impl StreamHandler<Vec<AskEnded>> for RateTableActor {
    fn handle(&mut self, answered: Vec<AskEnded>, ctx: &mut Context<Self>) {
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

    fn handle(&mut self, LookForChange(versions): LookForChange, ctx: &mut Context<Self>) -> Self::Result {
        let version = self.shown().answers();
        let unchanged = versions.contains(&version).then(|| {
            let pending = !self.shown().progress().all_ended();
            self.audience.looked(pending);
            Unchanged { version, pending, deadline: self.shown().head().deadline }
        });
        self.look_to_hurry();
        self.leave_if_done(ctx);
        MessageResult(unchanged)
    }
}

impl Handler<AwaitTable> for RateTableActor {
    type Result = ResponseFuture<Option<TableSnapshot>>;

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

    fn handle(&mut self, _: Leave, ctx: &mut Context<Self>) {
        self.take_in_gathered();
        self.drive(ctx);
        self.leave(ctx);
    }
}

impl RateTableActor {
    /// An actor, ready to start on an arbiter.
    pub fn new(engine: Arc<MatchingEngine>, resources: TableResources, beginning: MachineStart) -> Self {
        let deadline = beginning.table.head().time_limit();
        let rules = MatchingSettings { deadline, ..resources.configuration.rules.matching };
        Self {
            engine,
            budget: Budget::until(resources.deadline, rules),
            machine: Machine::new(beginning),
            prepared: None,
            waiting: None,
            replies: None,
            slowest: [Duration::ZERO; 2],
            audience: Audience::default(),
            resources,
        }
    }

    fn drive(&mut self, ctx: &mut Context<Self>) {
        while let Some(effect) = self.machine.poll(self.engine.now_ms()) {
            match effect {
                Effect::Ask(seats) => self.ask(&seats, ctx),
                Effect::JudgeHeld(held) => self.judge_held(&held),
                Effect::Write => self.write(ctx),
                Effect::GiveBack(skipped) => self.give_back(&skipped),
                Effect::Show => self.show(),
                Effect::Settle => self.settle(ctx),
            }
        }
        self.look_to_hurry();
    }

    fn shown(&self) -> &Table {
        self.machine.table()
    }

    fn go_live(&mut self, ctx: &mut Context<Self>) {
        self.engine.actors.add(self.shown().head(), ctx.address());
        let left = self.resources.deadline.saturating_duration_since(Instant::now());
        ctx.run_later(left, |actor, ctx| {
            // Replies that are still gathering at the deadline were in time.
            actor.take_in_gathered();
            actor.time_out();
            actor.drive(ctx);
        });
    }
}

/// However the actor ends, even by a panic, it is no longer among the actors.
impl Drop for RateTableActor {
    fn drop(&mut self) {
        self.engine.actors.remove(self.shown().head().uuid);
    }
}
