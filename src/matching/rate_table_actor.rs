//! The rate-table actor: feeds what happens to a lead's [rate table](crate::rate_table::machine) into it, and carries out what it says.
//!
//! It writes a new table with its lead, asks every partner, takes in each outcome, and shows the table. While nobody may see the
//! table before it is complete, and no second look waits for them, answers [gather](super::replies) for a moment and are written
//! together: what a crash takes was shown to nobody, and its partners are asked again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use metrics::{counter, histogram};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::error;

use super::admission::Place;
use super::ask_statistics::Noted;
use super::audience::Audience;
use super::budget::Budget;
use super::configuration::Configuration;
use super::engine::Engine;
use super::idempotency::Held;
use super::limiter::Round;
use super::messages::{
    AwaitTable, GetRateTable, Leave, LookForChange, PartnerAnswered, RequestOffers, Snapshot, Unchanged,
    Until,
};
use super::partner_actor::{PartnerActor, catalog_answer};
use super::prepared::Prepared;
use super::question::Question;
use super::replies::Replies;
use super::trigger::Trigger;
use crate::model::{CreditBands, Lead, ProductType};
use crate::partners::{Fit, Seat, SeatTemplate};
use crate::planted::{Planted, planted};
use crate::rate_table::machine::{Beginning, Effect, Event, RateTable};
use crate::rate_table::outcome::{AskEnd, Failure, Outcome};
use crate::rate_table::record::Ask;
use crate::rate_table::table::Table;
use crate::records::writing;
use crate::records::writing::LeadCommit;
use crate::store::CommitError;
use crate::telemetry::metrics::{
    LATE_ANSWERS, OFFERS_CUT, TABLE_BUDGET_LEFT_SECONDS, TABLE_OVERHEAD_SECONDS, TABLES_SETTLED,
};
use crate::telemetry::traces::LeadTrace;

/// Pause before a commit is tried again that the store's queue had no room for.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// What an actor needs to be started with.
#[derive(Debug)]
pub struct Start {
    /// What it is computed under, to its end.
    pub configuration: Arc<Configuration>,
    /// The lead, as the partners see it.
    pub lead: Arc<Lead>,
    /// When the lead was made, Unix milliseconds.
    pub lead_created_at: i64,
    /// How scores become ratings.
    pub bands: CreditBands,
    /// Per seat of the table, the seat in the book and its fitting offers; `None` for one that left the book.
    pub fits: Vec<Option<Fit>>,
    /// Of a new table, what it is written with, and who waits for that.
    pub first: Option<First>,
    /// When its lead had been read; `None` when it goes on after a restart.
    pub begun: Option<Instant>,
    /// When the table must be complete.
    pub deadline: Instant,
    /// The client's key, from whoever else sends it, until the table is written.
    pub held: Option<Held>,
    /// Held until the table is settled.
    pub place: Option<Place>,
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
    table: RateTable,
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
        Self {
            engine,
            budget: Budget::until(start.deadline, start.configuration.rules.time),
            table: RateTable::new(beginning),
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

    /// Asks seats, each with its budget.
    fn ask(&mut self, seats: &[usize], ctx: &mut Context<Self>) {
        let mut prepared = self.prepared.take().unwrap_or_else(|| self.question().into());
        for &seat in seats {
            let at = self.engine.limiter.now();
            let Some(fit) = self.start.fits[seat].take() else {
                let gone = Outcome::Failed(Failure::Gone);
                self.engine.statistics.not_asked(&self.shown().seats()[seat], gone.word());
                self.table.handle(Event::Answered { seat, end: gone.into(), at });
                continue;
            };
            let holds_up = self.table.second_look_to_come() && fit.seat.product_type == ProductType::Loan;
            let Some(budget) = self.budget.for_partner(self.engine.statistics.timeout(&fit.seat), holds_up)
            else {
                self.engine.statistics.not_asked(&self.shown().seats()[seat], "no_time");
                self.table.handle(Event::NoTime { seat, at });
                continue;
            };
            let budget = if planted(Planted::NoDeadline) { budget * 1000 } else { budget };
            self.table.handle(Event::Asked { seat, ask: self.asked_now(at, budget) });
            if self.answers_at_once(&fit.seat) {
                self.ask_catalog(seat, &fit, prepared.question());
            } else {
                self.ask_partner(seat, fit, budget, &mut prepared, ctx);
            }
        }
    }

    /// Whether a seat answers in the process, without a pretence.
    fn answers_at_once(&self, seat: &Seat) -> bool {
        let is_triggered = || Trigger::of(&self.start.lead, &seat.identity.key).is_some();
        seat.answers_at_once() && !(self.shown().head().test && is_triggered())
    }

    /// Has a catalog answer here and now.
    fn ask_catalog(&mut self, seat: usize, fit: &Fit, question: &Question) {
        let asked_at = Instant::now();
        let trace = self.start.trace.ask(&fit.seat.identity.key, fit.seat.product_type.as_str());
        let most = self.start.configuration.rules.offers_per_partner;
        let answer =
            catch_unwind(AssertUnwindSafe(|| catalog_answer(&fit.seat, &fit.offers, most, question)));
        let outcome = answer.unwrap_or(Outcome::Failed(Failure::Panicked));
        trace.end(outcome.word(), !outcome.is_failure());
        let (at, elapsed) = (self.engine.limiter.now(), asked_at.elapsed());
        self.take_in_reply(PartnerAnswered { seat, end: outcome.into(), at, elapsed });
    }

    /// Has a partner answer that takes its time.
    fn ask_partner(
        &mut self,
        seat: usize,
        fit: Fit,
        budget: Duration,
        prepared: &mut Prepared,
        ctx: &mut Context<Self>,
    ) {
        let rules = &self.start.configuration.rules;
        let replies = self.replies.get_or_insert_with(|| {
            let replies = Replies::default();
            ctx.add_stream(replies.gathered(rules.gather_answers));
            replies
        });
        let trace = self.start.trace.ask(&fit.seat.identity.key, fit.seat.product_type.as_str());
        let (context, reply) = (trace.context(), replies.expect(seat, budget, trace));
        let request = RequestOffers {
            question: Arc::clone(prepared.question()),
            rendered: prepared.take(seat),
            draw: self.draw(seat),
            budget,
            trace: context,
            reply,
        };
        let client = self.start.configuration.clients.of(&fit.seat);
        PartnerActor::new(fit.seat, fit.offers, rules.offers_per_partner, client).start().do_send(request);
    }

    /// An ask that begins now.
    fn asked_now(&self, at: i64, budget: Duration) -> Ask {
        let after = at - self.shown().head().created_at;
        Ask {
            after_ms: u32::try_from(after.max(0)).unwrap_or(u32::MAX),
            budget_ms: u32::try_from(budget.as_millis()).unwrap_or(u32::MAX),
        }
    }

    /// What is asked now.
    fn question(&self) -> Question {
        Question::of(self.shown().head(), Arc::clone(&self.start.lead), self.start.bands)
    }

    /// A number that is the same for the same seat of the same table.
    fn draw(&self, seat: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.shown().head().uuid, seat).hash(&mut hasher);
        hasher.finish()
    }

    /// Has the limits say which held seats are asked.
    fn admit(&mut self, held: &[usize]) {
        let in_book = held.iter().filter_map(|seat| Some((*seat, self.start.fits[*seat].as_ref()?)));
        let (seats, fits): (Vec<usize>, Vec<&Fit>) = in_book.unzip();
        let fitting: Vec<&Seat> = fits.iter().map(|fit| &*fit.seat).collect();
        let (round, verdicts) = self.engine.limiter.admit(self.shown().head().test, fitting.len(), &fitting);
        let verdicts: Vec<_> =
            seats.into_iter().zip(verdicts.into_iter().map(|verdict| verdict.against())).collect();
        for (seat, _) in verdicts.iter().filter(|(_, against)| against.is_some()) {
            self.engine.statistics.not_asked(&self.shown().seats()[*seat], "held_back");
        }
        self.table.handle(Event::Admitted { at: round.at, verdicts });
    }

    /// Takes in what has come and still gathers.
    fn take_in_gathered(&mut self) {
        let gathered = self.replies.as_ref().map(Replies::take).unwrap_or_default();
        gathered.into_iter().for_each(|answered| self.take_in_reply(answered));
    }

    /// Takes in what a partner has replied, unless its seat has an outcome already, and notes how long it took.
    fn take_in_reply(&mut self, PartnerAnswered { seat, end, at, elapsed }: PartnerAnswered) {
        let slowest = &mut self.slowest[usize::from(self.table.is_second_look(seat))];
        *slowest = elapsed.max(*slowest);
        self.engine.statistics.replied(&self.shown().seats()[seat], self.noted(seat, &end, elapsed));
        if self.table.has_outcome(seat) {
            counter!(LATE_ANSWERS).increment(1);
            return;
        }
        self.table.handle(Event::Answered { seat, end, at });
    }

    /// How an ask has ended, as the statistic of its seat has it.
    fn noted<'n>(&self, seat: usize, end: &'n AskEnd, elapsed: Duration) -> Noted<'n> {
        let head = self.shown().head();
        Noted { rate_table: head.uuid, test: head.test, end, elapsed, late: self.table.has_outcome(seat) }
    }

    /// Every seat without an outcome has timed out.
    fn time_out(&mut self) {
        let elapsed = self.start.begun.map(|begun| begun.elapsed()).unwrap_or_default();
        let end = Outcome::TimedOut.into();
        for seat in self.table.waited_for() {
            self.engine.statistics.unanswered(&self.shown().seats()[seat], self.noted(seat, &end, elapsed));
        }
        self.table.handle(Event::DeadlinePassed { at: self.engine.limiter.now() });
    }

    /// Replies are wanted one by one where somebody sees the table before it is complete, and where second look may be begun
    /// by any of them.
    fn look_to_hurry(&self) {
        if let Some(replies) = &self.replies {
            replies.hurry(self.table.second_look_to_come() || self.audience.watches());
        }
    }

    /// Writes what is in flight. Requests of partners who live elsewhere are made while the disk is busy with the lead.
    fn write(&mut self, ctx: &mut Context<Self>) {
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
    fn first_written(&mut self, result: Result<(), CommitError>, ctx: &mut Context<Self>) {
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
        self.table.handle(Event::Written);
        if !self.table.is_complete() {
            self.go_live(ctx);
        }
        let shown = self.has_come(until).then(|| self.snapshot()).flatten();
        let _ = acknowledged.send(Ok(shown));
        self.drive(ctx);
    }

    /// The store has answered: the answers are shown, or the actor gives up.
    fn written(&mut self, result: Result<(), CommitError>, ctx: &mut Context<Self>) {
        match result {
            Ok(()) => self.table.handle(Event::Written),
            // Only many tables recovered at once can fill the queue; the answers keep until there is room.
            Err(CommitError::Busy) => {
                self.table.handle(Event::PutOff);
                ctx.run_later(BUSY_PAUSE, |actor, ctx| {
                    actor.table.handle(Event::Retry);
                    actor.drive(ctx);
                });
            }
            Err(failure) => {
                // With its lead the table has gone.
                if failure != CommitError::Erased {
                    error!(rate_table = %self.shown().head().uuid, %failure, "answers could not be stored; the table is left to recovery");
                }
                self.leave(ctx);
                return;
            }
        }
        self.drive(ctx);
    }

    /// Gives back what seats counted that were not asked after all.
    fn give_back(&self, seats: &[usize]) {
        let head = self.shown().head();
        for &seat in seats {
            let SeatTemplate { key, product_type, .. } = &*self.shown().seats()[seat];
            let at = self.table.released_at(seat).unwrap_or(head.created_at);
            self.engine.limiter.give_back(Round { at, test: head.test }, [(key.as_str(), *product_type)]);
        }
    }

    /// Wakes those whose wait is over.
    fn show(&mut self) {
        self.audience.changed();
        let mut audience = std::mem::take(&mut self.audience);
        let served = audience.served(|until| self.has_come(until));
        self.audience = audience;
        if served.is_empty() {
            return;
        }
        if let Some(snapshot) = self.snapshot() {
            for waiter in served {
                // A client that has hung up does not wait any more.
                let _ = waiter.send(snapshot.clone());
            }
        }
    }

    fn has_come(&self, until: Until) -> bool {
        match until {
            Until::Settled => self.table.is_complete() || planted(Planted::BlockingTooEarly),
            Until::After(version) => self.shown().answers() != version,
            Until::Prompt => self.table.has_prompt_answers(),
        }
    }

    /// The table as it is stored.
    fn snapshot(&mut self) -> Option<Snapshot> {
        self.audience.show(|| self.engine.snapshot(self.table.table()))
    }

    /// The table is complete: the place is free, and the actor lingers for those who will come.
    fn settle(&mut self, ctx: &mut Context<Self>) {
        counter!(TABLES_SETTLED).increment(1);
        let left = self.start.deadline.saturating_duration_since(Instant::now());
        histogram!(TABLE_BUDGET_LEFT_SECONDS).record(left.as_secs_f64());
        if let Some(begun) = self.start.begun {
            let overhead = begun.elapsed().saturating_sub(self.slowest.iter().sum());
            histogram!(TABLE_OVERHEAD_SECONDS).record(overhead.as_secs_f64());
        }
        self.start.place = None;
        drop(std::mem::take(&mut self.start.trace));
        ctx.run_later(self.start.configuration.rules.linger, |actor, ctx| actor.leave(ctx));
        self.leave_if_done(ctx);
    }

    fn leave_if_done(&mut self, ctx: &mut Context<Self>) {
        if self.audience.is_done() {
            self.leave(ctx);
        }
    }

    fn leave(&mut self, ctx: &mut Context<Self>) {
        self.audience.dismiss();
        ctx.stop();
    }
}

/// However the actor ends, a panic included, it is not live any more.
impl Drop for RateTableActor {
    fn drop(&mut self) {
        self.engine.live.remove(self.shown().head().uuid);
    }
}
