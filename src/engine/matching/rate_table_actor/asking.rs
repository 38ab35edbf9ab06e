//! Asks seats: catalogs inline, remote partners in their own tasks, held seats within their limits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::time::Instant;

use super::{RateTableActor, TableResources};
use crate::matching::ask_session::AskSession;
use crate::matching::bidding::{Bidding, IsPaused};
use crate::matching::call_journal::CallJournal;
use crate::matching::late_asks::LateAnswerRecorder;
use crate::matching::limiter::LimiterRound;
use crate::matching::messages::AskEnded;
use crate::matching::partner_actor::{PartnerActor, RequestOffers, catalog_answer};
use crate::matching::prepared::PreparedRequests;
use crate::matching::question::LeadQuestion;
use crate::matching::replies::{AskTime, ReplyQueue};
use crate::matching::suppressions::Digests;
use crate::matching::trigger::Trigger;
use crate::rate_table::machine::TableEvent;
use crate::rate_table::outcome::{AskFailure, Outcome};
use crate::rate_table::record::Ask;
use crate::rate_table::seating::Verdict;
use offerd_model::ProductType;
use offerd_partners::{Fit, RecordedSeat, Seat};

impl RateTableActor {
    pub(super) fn ask(&mut self, seats: &[usize], ctx: &mut Context<Self>) {
        let bidding = Bidding::default();
        let chosen = self.resources.calls.iter().filter(|(_, call)| call.bid.is_some());
        chosen.for_each(|(seat, _)| bidding.was_chosen(usize::from(*seat)));
        let prepared = self.prepared.take();
        let unprepared = || PreparedRequests { question: Arc::new(self.question()), requests: Vec::new() };
        let mut prepared = prepared.unwrap_or_else(unprepared);
        for &seat in seats {
            let at = self.engine.now_ms();
            let Some(fit) = self.resources.fits[seat].take() else {
                let gone = Outcome::Failed(AskFailure::Gone);
                self.engine.statistics.not_asked(&self.shown().seats()[seat], gone.word());
                self.machine.handle(TableEvent::Ended { seat, result: gone.into(), at });
                continue;
            };
            let holds_up = self.machine.second_look_to_come() && fit.seat.product_type == ProductType::Loan;
            let Some(budget) = self.budget.for_partner(self.engine.statistics.timeout(&fit.seat), holds_up)
            else {
                self.engine.statistics.not_asked(&self.shown().seats()[seat], "no_time");
                self.machine.handle(TableEvent::NoTime { seat, at });
                continue;
            };
            let before = self.machine.asked_before(seat).map_or(0, |asked| (at - asked).max(0));
            let before = Duration::from_millis(before as u64);
            self.machine.handle(TableEvent::Asked { seat, ask: self.asked(at, before, budget) });
            if self.answers_at_once(&fit.seat) {
                self.ask_catalog(seat, &fit, &prepared.question);
            } else {
                let session = self.session(seat, &fit, &bidding);
                let time = AskTime { at, elapsed_before_restart: before, budget };
                self.ask_partner(seat, fit, (time, session), &mut prepared, ctx);
            }
        }
    }

    pub(super) fn answers_at_once(&self, seat: &Seat) -> bool {
        let is_triggered = || Trigger::of(&self.resources.lead, &seat.identity.key).is_some();
        seat.answers_at_once() && !(self.shown().head().test && is_triggered())
    }

    pub(super) fn ask_catalog(&mut self, seat: usize, fit: &Fit, question: &LeadQuestion) {
        let asked_at = Instant::now();
        let trace = self.resources.trace.ask(&fit.seat.identity.key, fit.seat.product_type.as_str());
        let most = self.resources.configuration.rules.matching.offers_per_partner;
        let ask = AssertUnwindSafe(|| catalog_answer(&fit.seat, &fit.offers, most, question));
        let outcome = catch_unwind(ask).unwrap_or(Outcome::Failed(AskFailure::Panicked));
        trace.end(outcome.word(), !outcome.is_failure());
        let (at, elapsed) = (self.engine.now_ms(), asked_at.elapsed());
        self.take_in_reply(AskEnded { seat, result: outcome.into(), at, elapsed });
    }

    pub(super) fn ask_partner(
        &mut self,
        seat: usize,
        fit: Fit,
        (time, session): (AskTime, AskSession),
        prepared: &mut PreparedRequests,
        ctx: &mut Context<Self>,
    ) {
        let rules = self.resources.configuration.rules.matching;
        let replies = self.replies.get_or_insert_with(|| {
            let replies = ReplyQueue::default();
            ctx.add_stream(replies.gathered(rules.gather_answers));
            replies
        });
        let trace = self.resources.trace.ask(&fit.seat.identity.key, fit.seat.product_type.as_str());
        let (context, reply) = (trace.context(), replies.register(seat, time, trace));
        let request = RequestOffers {
            client: self.resources.configuration.clients.of(&fit.seat),
            seat: fit.seat,
            offers: fit.offers,
            most: rules.offers_per_partner,
            question: Arc::clone(&prepared.question),
            rendered: prepared.take(seat),
            session,
            table: self.shown().head().uuid,
            budget: time.budget,
            trace: context,
            reply,
        };
        PartnerActor.start().do_send(request);
    }

    fn session(&self, seat: usize, fit: &Fit, bidding: &Bidding) -> AskSession {
        let Some(http) = &fit.seat.http else { return AskSession::default() };
        let head = self.shown().head();
        let position = seat as u16;
        let (records, is_event) = (self.engine.records.clone(), http.late_is_event);
        let journal = || CallJournal {
            records: self.engine.records.clone(),
            head: Arc::clone(head),
            seat: position,
            found: self.resources.calls.get(&position).cloned(),
        };
        AskSession {
            journal: (http.has_call_once_per_ask() || http.has_callback()).then(journal),
            bidder: http.has_ping().then(|| bidding.join(seat)),
            callback: http.has_callback().then(|| {
                let id = self.engine.records.templates.ids.callback(head.uuid, position);
                self.engine.callbacks.register(id, &fit.seat)
            }),
            transcript: http.transcripts.then(|| {
                let settings = self.resources.configuration.rules.transcripts;
                self.engine.transcripts.record(head, position, http, settings)
            }),
            is_paused: http.has_call_once_per_ask().then(|| {
                let (engine, seat) = (Arc::clone(&self.engine), Arc::clone(&fit.seat));
                Arc::new(move || engine.limiter.is_paused(&seat)) as IsPaused
            }),
            unreadable: None,
            afterwards: Some(LateAnswerRecorder { records, table: head.uuid, seat: position, is_event }),
        }
    }

    pub(super) fn asked(&self, at: i64, before: Duration, budget: Duration) -> Ask {
        let after = at - self.shown().head().created_at - before.as_millis() as i64;
        Ask {
            after_ms: u32::try_from(after.max(0)).unwrap_or(u32::MAX),
            budget_ms: u32::try_from((before + budget).as_millis()).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn question(&self) -> LeadQuestion {
        let TableResources { lead, bands, .. } = &self.resources;
        let question = LeadQuestion::of(self.shown().head(), Arc::clone(lead), *bands, self.engine.now());
        question.ranked_by(self.resources.ranked_by.clone())
    }

    pub(super) fn judge_held(&mut self, held: &[usize]) {
        let in_book = held.iter().filter_map(|seat| Some((*seat, self.resources.fits[*seat].as_ref()?)));
        let (seats, fits): (Vec<usize>, Vec<&Fit>) = in_book.unzip();
        let all: Vec<&Seat> = fits.iter().map(|fit| &*fit.seat).collect();
        let head = self.shown().head();
        let digests = Digests::with_earlier(&self.resources.lead, &self.resources.earlier_digests);
        let (round, verdicts) = self.engine.judge_seats((head.test, head.lead), &digests, all.len(), &all);
        let verdicts: Vec<_> = seats.into_iter().zip(verdicts).collect();
        for (seat, _) in verdicts.iter().filter(|(_, verdict)| *verdict != Verdict::Seated) {
            self.engine.statistics.not_asked(&self.shown().seats()[*seat], "held_back");
        }
        self.machine.handle(TableEvent::HeldJudged { at: round.at, verdicts });
    }

    pub(super) fn give_back(&self, seats: &[usize]) {
        let head = self.shown().head();
        for &seat in seats {
            let RecordedSeat { key, product_type, .. } = &*self.shown().seats()[seat];
            let at = self.machine.released_at(seat).unwrap_or(head.created_at);
            let round = LimiterRound { at, test: head.test };
            self.engine.limiter.give_back(round, [(key.as_str(), *product_type)]);
        }
    }
}
