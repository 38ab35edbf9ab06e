//! The rate-table actor: asks every partner of one lead, takes in each outcome, and shows the table.
//!
//! What is shown is durable: an answer is folded, written, and shown only when the store has acknowledged it. While one
//! write is under way further answers wait for the next, so that the order of the record is the order of arrival. While
//! nobody may see the table before it is complete, and no second look waits for them, answers [gather](super::replies) for a
//! moment and are written together: what a crash takes was shown to nobody, and its partners are asked again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use metrics::{counter, histogram};
use tokio::time::Instant;
use tracing::{error, warn};

use super::admission::Place;
use super::asks::Asks;
use super::audience::Audience;
use super::budget::Budget;
use super::conduct::Noted;
use super::configuration::Configuration;
use super::engine::Engine;
use super::limiter::Round;
use super::messages::{AwaitTable, GetRateTable, PartnerAnswered, RequestOffers, Settle, Snapshot, Until};
use super::outcome::{AskEnd, Failure, NoOfferReason, Outcome};
use super::partner_actor::PartnerActor;
use super::prepared::Prepared;
use super::progress::{Due, Event, Progress, Standing};
use super::question::Question;
use super::record::{Answer, AnswerRecord, Ask};
use super::replies::Replies;
use super::table::Table;
use super::writing;
use crate::model::{CreditBands, Lead, ProductType};
use crate::partners::{Fit, Seat, SeatText};
use crate::planted::{Planted, planted};
use crate::store::{Commit, CommitError};
use crate::telemetry::metrics::{
    LATE_ANSWERS, OFFERS_CUT, PARTNER_ANSWER_SECONDS, PARTNER_OUTCOMES, TABLE_BUDGET_LEFT_SECONDS,
    TABLE_OVERHEAD_SECONDS, TABLES_SETTLED,
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
    /// The table, with the answers it has.
    pub table: Table,
    /// Per seat of the table, the seat in the book and its fitting offers; `None` for one that left the book.
    pub fits: Vec<Option<Fit>>,
    /// What those are asked who are asked first, where that was made before.
    pub prepared: Option<Prepared>,
    /// Who was asked, as far as the head does not say so.
    pub asks: Asks,
    /// When its lead had been read; `None` when it goes on after a restart, so that its seats may have been asked before.
    pub begun: Option<Instant>,
    /// Position of its next answer record.
    pub sequence: u16,
    /// When the table must be complete.
    pub deadline: Instant,
    /// Held until the table is settled.
    pub place: Option<Place>,
    /// The trace of the lead, until the table is settled.
    pub trace: LeadTrace,
}

/// One lead's rate table while it is being built, and a little longer.
pub struct RateTableActor {
    engine: Arc<Engine>,
    start: Start,
    budget: Budget,
    /// Per seat, whether it answers at once.
    prompt: Vec<bool>,
    /// Per seat, whether its outcome is noted: written, being written, or about to be.
    noted: Vec<bool>,
    /// Per seat, how it was asked, if it was.
    asked: Vec<Option<Ask>>,
    /// Per seat, whether it was asked before a restart.
    asked_before: Vec<bool>,
    /// Who is asked, as far as the head does not say so.
    asks: Asks,
    /// `asks` as they are written.
    written_asks: Asks,
    /// Answers that are not written yet.
    arrived: Vec<Answer>,
    /// Where partners reply to.
    replies: Replies,
    writing: bool,
    /// Position of the next answer record.
    sequence: u16,
    /// How long the slowest partner took, of first look and of second.
    slowest: [Duration; 2],
    settled: bool,
    audience: Audience,
}

impl Actor for RateTableActor {
    type Context = Context<Self>;

    /// Asks every partner.
    fn started(&mut self, ctx: &mut Context<Self>) {
        let left = self.start.deadline.saturating_duration_since(Instant::now());
        ctx.run_later(left, |actor, ctx| actor.deadline_passed(ctx));
        ctx.add_stream(self.replies.gathered(self.start.configuration.rules.gather_answers));
        self.look_to_hurry();
        let seats: Vec<usize> = self.table().progress().standing(Standing::Asked).collect();
        self.ask(&seats);
        // Held seats may be due at once, and a table without seats is settled at once.
        self.write(ctx);
    }
}

/// Replies of partners.
impl StreamHandler<Vec<PartnerAnswered>> for RateTableActor {
    fn handle(&mut self, answered: Vec<PartnerAnswered>, ctx: &mut Context<Self>) {
        self.take_in_replies(answered);
        self.write(ctx);
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

impl Handler<Settle> for RateTableActor {
    type Result = ();

    /// Leaves: what is pending stays recorded as pending, for recovery. The store writes what it was given before it
    /// closes.
    fn handle(&mut self, _: Settle, ctx: &mut Context<Self>) {
        self.take_in_replies(self.replies.take());
        self.write(ctx);
        self.leave(ctx);
    }
}

impl RateTableActor {
    /// An actor that is ready to be started on an arbiter.
    pub fn new(engine: Arc<Engine>, start: Start) -> Self {
        let budget = Budget::until(start.deadline, start.configuration.rules.time);
        let prompt: Vec<bool> =
            start.fits.iter().map(|fit| fit.as_ref().is_none_or(|fit| fit.seat.answers_at_once())).collect();
        let asked_before = |seat: usize| {
            let asked = start.table.progress().standing(Standing::Asked).any(|asked| asked == seat);
            start.begun.is_none() && (asked || start.asks.is_released(seat))
        };
        let asked_before = (0..prompt.len()).map(asked_before).collect();
        let noted = (0..prompt.len()).map(|seat| !start.table.progress().is_pending(seat)).collect();
        Self {
            engine,
            budget,
            asked: vec![None; prompt.len()],
            prompt,
            noted,
            asked_before,
            asks: start.asks.clone(),
            written_asks: start.asks.clone(),
            sequence: start.sequence,
            start,
            arrived: Vec::new(),
            replies: Replies::default(),
            writing: false,
            slowest: [Duration::ZERO; 2],
            settled: false,
            audience: Audience::default(),
        }
    }

    fn table(&self) -> &Table {
        &self.start.table
    }

    /// Asks seats, each with its budget.
    fn ask(&mut self, seats: &[usize]) {
        let second_look_to_come = self.table().progress().standing(Standing::Held).next().is_some();
        let mut prepared = self.start.prepared.take().unwrap_or_else(|| self.question().into());
        for &seat in seats {
            let Some(fit) = self.start.fits[seat].take() else {
                self.take_in(seat, Outcome::Failed(Failure::Gone).into());
                continue;
            };
            let holds_up = second_look_to_come && fit.seat.product_type == ProductType::Loan;
            let Some(budget) = self.budget.for_partner(self.engine.paces.timeout(&fit.seat), holds_up) else {
                self.out_of_time(seat);
                continue;
            };
            let budget = if planted(Planted::NoDeadline) { budget * 1000 } else { budget };
            self.asked[seat] = Some(self.asked_now(budget));
            let trace = self.start.trace.ask(&fit.seat.identity.key, fit.seat.product_type.as_str());
            let request = RequestOffers {
                question: Arc::clone(prepared.question()),
                rendered: prepared.take(seat),
                draw: self.draw(seat),
                budget,
                trace: trace.context(),
                reply: self.replies.expect(seat, budget, trace),
            };
            let line = self.start.configuration.lines.of(&fit.seat);
            let most = self.start.configuration.rules.offers_per_partner;
            PartnerActor::new(fit.seat, fit.offers, most, line).start().do_send(request);
        }
    }

    /// An ask that begins now.
    fn asked_now(&self, budget: Duration) -> Ask {
        let after = self.engine.limiter.now() - self.table().head().created_at;
        Ask {
            after_ms: u32::try_from(after.max(0)).unwrap_or(u32::MAX),
            budget_ms: u32::try_from(budget.as_millis()).unwrap_or(u32::MAX),
        }
    }

    /// What is asked now.
    fn question(&self) -> Question {
        Question::of(self.table().head(), Arc::clone(&self.start.lead), self.start.bands)
    }

    /// No time is left for a seat. One that was asked before a restart was asked all the same.
    fn out_of_time(&mut self, seat: usize) {
        if self.asked_before[seat] {
            self.take_in(seat, Outcome::TimedOut.because("its time ran out during a restart"));
        } else {
            self.asks.spared.push(seat as u16);
            self.take_in(seat, Outcome::NoOffers(NoOfferReason::NoTime).into());
        }
    }

    /// A number that is the same for the same seat of the same table.
    fn draw(&self, seat: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.table().head().uuid, seat).hash(&mut hasher);
        hasher.finish()
    }

    /// Notes for people who look on how an ask ended.
    fn note_conduct(&self, seat: usize, end: &AskEnd, elapsed: Duration) {
        let SeatText { key, product_type, .. } = &*self.table().seats()[seat];
        let rate_table = self.table().head().uuid;
        let noted = Noted { rate_table, end, elapsed, late: self.noted[seat] };
        self.engine.conducts.note(key, *product_type, noted);
    }

    /// Notes what partners have replied.
    fn take_in_replies(&mut self, answered: Vec<PartnerAnswered>) {
        for PartnerAnswered { seat, end, at, elapsed } in answered {
            let seat_text = Arc::clone(&self.table().seats()[seat]);
            let labels = [
                ("partner", seat_text.key.clone()),
                ("product_type", seat_text.product_type.as_str().to_owned()),
            ];
            histogram!(PARTNER_ANSWER_SECONDS, &labels).record(elapsed.as_secs_f64());
            let slowest = &mut self.slowest[usize::from(self.asks.is_released(seat))];
            *slowest = elapsed.max(*slowest);
            self.engine.paces.note(self.table().head().test, &seat_text, elapsed, &end.outcome);
            self.note_conduct(seat, &end, elapsed);
            self.take_in_of(seat, end, at);
        }
    }

    /// Notes an outcome of now.
    fn take_in(&mut self, seat: usize, end: AskEnd) {
        self.take_in_of(seat, end, self.engine.limiter.now());
    }

    /// Notes an outcome of a moment, unless its seat has one already: a late offer never enters.
    fn take_in_of(&mut self, seat: usize, end: AskEnd, at: i64) {
        if std::mem::replace(&mut self.noted[seat], true) {
            counter!(LATE_ANSWERS).increment(1);
            return;
        }
        let SeatText { key, product_type, .. } = &*self.table().seats()[seat];
        let labels = [
            ("partner", key.clone()),
            ("product_type", product_type.as_str().to_owned()),
            ("outcome", end.outcome.word().to_owned()),
        ];
        counter!(PARTNER_OUTCOMES, &labels).increment(1);
        let AskEnd { outcome, cause } = end;
        self.arrived.push(Answer { seat: seat as u16, at, outcome, cause });
    }

    /// Every seat without an outcome has timed out.
    fn deadline_passed(&mut self, ctx: &mut Context<Self>) {
        // What has come in time and still gathers has come in time.
        self.take_in_replies(self.replies.take());
        for seat in 0..self.noted.len() {
            if !self.noted[seat] {
                let end = Outcome::TimedOut.because("the deadline of the rate table came");
                let elapsed = self.start.begun.map(|begun| begun.elapsed()).unwrap_or_default();
                self.note_conduct(seat, &end, elapsed);
                self.take_in(seat, end);
            }
        }
        self.write(ctx);
    }

    /// Replies are wanted one by one where somebody sees the table before it is complete, and where second look may be begun
    /// by any of them.
    fn look_to_hurry(&self) {
        let second_look_to_come = self.table().progress().standing(Standing::Held).next().is_some();
        self.replies.hurry(second_look_to_come || self.audience.watches());
    }

    /// Writes what has arrived, unless a write is under way; then shows it.
    fn write(&mut self, ctx: &mut Context<Self>) {
        if self.writing {
            return;
        }
        let (answers, settles) = self.next_answers();
        let asks = self.asks.clone();
        if answers.is_empty() && asks == self.written_asks {
            self.go_on(ctx);
            return;
        }
        self.writing = true;
        let mut commit = Commit::new();
        let asked = answers.iter().map(|answer| self.asked[usize::from(answer.seat)]).collect();
        let record = AnswerRecord { answers, asked };
        if !record.answers.is_empty() {
            let lead_created_at = self.start.lead_created_at;
            commit = writing::answers(self.table(), lead_created_at, self.sequence, &record, settles);
        }
        if asks != self.written_asks {
            commit = asks.write(commit, self.table().head().uuid);
        }
        let acknowledged = self.engine.store.commit(commit);
        ctx.spawn(
            acknowledged
                .into_actor(self)
                .map(move |result, actor, ctx| actor.written(record.answers, asks, result, ctx)),
        );
    }

    /// What has arrived, with the held seats that are not needed any more; and whether that settles the table.
    fn next_answers(&mut self) -> (Vec<Answer>, bool) {
        let mut progress = self.progress_with_arrived();
        if let Due::Drop(held) = progress.due() {
            for seat in held {
                self.take_in(seat, Outcome::NoOffers(NoOfferReason::NotNeeded).into());
            }
            progress = self.progress_with_arrived();
        }
        if let Due::Release(held) = progress.due() {
            self.begin_second_look(&held);
            progress = self.progress_with_arrived();
        }
        let mut answers = std::mem::take(&mut self.arrived);
        let cut = self.start.table.cut_to_fit(&mut answers);
        if cut > 0 {
            counter!(OFFERS_CUT, "partner" => "all").increment(cut as u64);
        }
        (answers, progress.settled())
    }

    /// Decides, once, which held seats are asked: their limits hold from now on. Those who are not have their outcome.
    fn begin_second_look(&mut self, held: &[usize]) {
        if self.asks.second_look_at.is_some() {
            return;
        }
        let in_book = held.iter().filter_map(|seat| Some((*seat, self.start.fits[*seat].as_ref()?)));
        let (seats, fits): (Vec<usize>, Vec<&Fit>) = in_book.unzip();
        let fitting: Vec<&Seat> = fits.iter().map(|fit| &*fit.seat).collect();
        let limiter = &self.engine.limiter;
        let (round, verdicts) = limiter.admit(self.table().head().test, fitting.len(), &fitting);
        self.asks.second_look_at = Some(round.at);
        for (seat, verdict) in seats.into_iter().zip(verdicts) {
            match verdict.against() {
                None => self.asks.released.push(seat as u16),
                Some(by) => {
                    self.asks.held_back.push((seat as u16, by));
                    self.take_in(seat, Outcome::NoOffers(NoOfferReason::HeldBack).into());
                }
            }
        }
    }

    /// Gives back what seats counted that were not asked after all, once that is written.
    fn give_back(&self, spared: &[u16]) {
        let head = self.table().head();
        for seat in spared.iter().map(|seat| usize::from(*seat)) {
            let SeatText { key, product_type, .. } = &*self.table().seats()[seat];
            let at = self.asks.released_at(seat).unwrap_or(head.created_at);
            self.engine.limiter.give_back(Round { at, test: head.test }, [(key.as_str(), *product_type)]);
        }
    }

    /// Where the seats will stand once what has arrived is written.
    fn progress_with_arrived(&self) -> Progress {
        let mut progress = self.table().progress().clone();
        for answer in &self.arrived {
            let offers = !answer.outcome.quotes().is_empty();
            let applied = progress.apply(Event::Ended { seat: usize::from(answer.seat), offers });
            debug_assert!(applied.is_ok(), "an answer is taken in once");
        }
        progress
    }

    /// The store has answered: the answers are shown, or the actor gives up.
    fn written(
        &mut self,
        answers: Vec<Answer>,
        asks: Asks,
        result: Result<(), CommitError>,
        ctx: &mut Context<Self>,
    ) {
        self.writing = false;
        if result == Err(CommitError::Busy) {
            // Only many tables recovered at once can fill the queue; the answers keep until there is room.
            self.arrived.splice(0..0, answers);
            ctx.run_later(BUSY_PAUSE, |actor, ctx| actor.write(ctx));
            return;
        }
        if let Err(failure) = result {
            error!(rate_table = %self.table().head().uuid, %failure, "answers could not be stored; the table is left to recovery");
            self.leave(ctx);
            return;
        }
        self.give_back(&asks.spared[self.written_asks.spared.len()..]);
        self.written_asks = asks;
        self.sequence += u16::from(!answers.is_empty());
        self.audience.changed();
        for answer in &answers {
            if let Err(illegal) = self.start.table.apply(answer) {
                warn!(?illegal, "an answer did not fit its table");
            }
        }
        self.write(ctx);
    }

    /// Asks held seats that are due, wakes who waits, and sees to the end.
    fn go_on(&mut self, ctx: &mut Context<Self>) {
        if let Due::Release(held) = self.table().progress().due() {
            for seat in &held {
                let released = self.start.table.release(*seat);
                debug_assert!(released.is_ok(), "a held seat can be released");
            }
            self.ask(&held);
            if !self.arrived.is_empty() {
                self.write(ctx);
                return;
            }
        }
        self.wake_waiters();
        self.look_to_hurry();
        if self.table().progress().settled() {
            self.settle(ctx);
        }
    }

    fn wake_waiters(&mut self) {
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
        let progress = self.table().progress();
        match until {
            Until::Settled => progress.settled() || planted(Planted::BlockingTooEarly),
            Until::After(version) => self.table().answers() != version,
            Until::Prompt => {
                // Whom second look asks is known when it is written.
                let deciding = self.asks.second_look_at != self.written_asks.second_look_at;
                !deciding && !progress.standing(Standing::Asked).any(|seat| self.prompt[seat])
            }
        }
    }

    /// The table as it is stored.
    fn snapshot(&mut self) -> Option<Snapshot> {
        self.audience.show(|| self.engine.snapshot(&self.start.table))
    }

    /// The table is complete: the place is free, and the actor lingers for those who will come.
    fn settle(&mut self, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
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
        self.engine.live.remove(self.table().head().uuid);
    }
}
