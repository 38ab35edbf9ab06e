//! Explains each seat of a rate table, and each seat of the book that has no place at it.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::standing::{self, Standing};
use super::{OfferExplanation, OfferReason, SeatExplanation};
use crate::hindsight::judgement::{EligibilityObjection, NO_PLACE, OfferJudgement, SeatJudgement, judge};
use offerd_engine::rate_table::progress::SeatPhase;
use offerd_engine::rate_table::reason::{Denied, Reason};
use offerd_engine::rate_table::record::{Ask, EventAfterAskKind, LaterDecisions, SeatOutcome};
use offerd_engine::rate_table::seating::denied_by_file;
use offerd_engine::rate_table::table::Table;
use offerd_engine::rate_table::treatment::{self, Treatment};
use offerd_engine::records::templates::Templates;
use offerd_engine::records::{Found, Records, reading};
use offerd_model::{ProductType, Timestamp};
use offerd_partners::{Book, Facts, Quote, RecordedSeat, Seat};
use offerd_store::entities::LeadRecord;
use offerd_store::pauses::{Pause, Pauses};

struct KnownTable<'a> {
    table: &'a Table,
    templates: &'a Templates,
    book: &'a Book,
    decisions: LaterDecisions,
    later: HashMap<u16, EventAfterAskKind>,
    answers: Vec<RecordedAnswer>,
    /// The standings of its ranked offers, by offer number.
    standings: HashMap<u16, Standing>,
    /// The seats that fit but were not seated, each with the reason.
    not_seated: Vec<(Arc<RecordedSeat>, Option<Denied>)>,
    /// The pauses in force that had begun before.
    pauses: Vec<Pause>,
}

struct RecordedAnswer {
    answer: SeatOutcome,
    ask: Option<Ask>,
    first_number: u16,
}

/// The seats of the table, then the others of the book, then others that were not seated.
pub fn of_table(
    records: &Records,
    book: &Book,
    record: &LeadRecord,
    table: &Table,
) -> Found<Vec<SeatExplanation>> {
    let told = KnownTable::of(records, book, table)?;
    let created_at = DateTime::from_timestamp_millis(table.head().created_at).unwrap_or_default();
    let at = (!table.head().test).then_some(created_at);
    let facts = reading::facts(record, created_at);
    let counted = |seat: &Seat| {
        let by = told.not_seated(seat)?;
        // Avoids naming what the file shows already.
        let mut by_file = denied_by_file(seat, Some(record.uuid), created_at);
        (!by_file.any(|denied| Some(denied) == by)).then(|| told.refusal(by, &seat.recorded))
    };
    // The seats left out for lack of room are recorded.
    let judged = judge(book, &facts, at, usize::MAX, &counted);

    let mut seats: Vec<SeatExplanation> =
        (0..table.seats().len()).map(|seat| told.seated(seat, &judged)).collect();
    let others = judged.iter().filter(|judged| !told.has_place(&judged.seat));
    seats.extend(others.map(|judged| told.unseated(judged, &facts, at)));
    let left = told.not_seated.iter().filter(|(text, _)| judgement_of(&judged, text).is_none());
    seats.extend(left.map(|(text, by)| {
        let refusals = vec![told.refusal(*by, text)];
        SeatExplanation { refusals, ..bare(text, Reason::from(*by)) }
    }));
    Ok(seats)
}

impl<'a> KnownTable<'a> {
    fn of(Records { store, templates }: &'a Records, book: &'a Book, table: &'a Table) -> Found<Self> {
        let head = table.head();
        let mut answers = Vec::new();
        let mut number = 1;
        for recorded in reading::answer_records(store, head.uuid) {
            for (answer, ask) in recorded?.each() {
                let offers = answer.outcome.quotes().len();
                answers.push(RecordedAnswer { answer, ask, first_number: number });
                number += offers as u16;
            }
        }
        // A live table may have received another answer since it was read.
        answers.truncate(table.answers() as usize);
        let not_seated = templates.not_seated(head);
        let calls = reading::calls(store, head.uuid)?.into_iter();
        let later = calls.filter_map(|(seat, call)| Some((seat, call.later?.end))).collect();
        let (decisions, standings) =
            (reading::later_decisions(store, head.uuid)?, standing::of_table(table, templates));
        let mut pauses = Pauses::of(store.clone()).list();
        pauses.retain(|pause| pause.since <= head.created_at);
        Ok(Self { table, templates, book, decisions, later, answers, standings, not_seated, pauses })
    }

    fn not_seated(&self, seat: &Seat) -> Option<Option<Denied>> {
        let is_it = |text: &RecordedSeat| seat.is_of(&text.key, text.product_type);
        self.not_seated.iter().find(|(text, _)| is_it(text)).map(|(_, by)| *by)
    }

    fn has_place(&self, seat: &Seat) -> bool {
        self.table.seats().iter().any(|text| seat.is_of(&text.key, text.product_type))
    }

    fn seated(&self, seat: usize, judged: &[SeatJudgement]) -> SeatExplanation {
        let text = &self.table.seats()[seat];
        let judged = judgement_of(judged, text);
        let mut answers = self.answers.iter();
        let Some(RecordedAnswer { answer, ask, first_number }) =
            answers.find(|recorded| usize::from(recorded.answer.seat) == seat)
        else {
            let held = self.table.progress().seats_in(SeatPhase::Held).any(|held| held == seat)
                && !self.decisions.is_released(seat);
            let why = if held { Reason::Held } else { Reason::Pending };
            let asked_at = why.was_asked().then(|| self.asked_at(seat, None));
            let offers = unanswered(judged, &[]);
            return SeatExplanation { seated: true, asked_at, offers, ..bare(text, why) };
        };

        let held_back = self.decisions.held_back.iter().find(|(held, _)| usize::from(*held) == seat);
        let why = held_back.map_or_else(|| Reason::from(&answer.outcome), |(_, by)| Reason::from(*by));
        let asked_at = why.was_asked().then(|| self.asked_at(seat, *ask));
        let mut offers = self.answered(text, answer.outcome.quotes(), *first_number);
        offers.extend(unanswered(judged, &offers));
        let told = bare(text, why);
        SeatExplanation {
            seated: true,
            about: match answer.outcome.reject_reason() {
                Some(reason) => format!("{}: {reason}", told.about),
                None => told.about,
            },
            cause: match (answer.cause.as_ref(), self.later.get(&answer.seat)) {
                (cause, None) => cause.map(ToString::to_string),
                (None, Some(later)) => Some(later.sentence()),
                (Some(cause), Some(later)) => Some(format!("{cause}; {}", later.sentence())),
            },
            reject_reason: answer.outcome.reject_reason(),
            asked_at,
            budget_ms: ask.map(|ask| ask.budget_ms),
            ended_after_ms: asked_at.and_then(|asked_at| u64::try_from(answer.at - asked_at.millis()).ok()),
            refusals: held_back.map(|(_, by)| self.refusal(*by, text)).into_iter().collect(),
            offers,
            ..told
        }
    }

    fn refusal(&self, by: Option<Denied>, seat: &RecordedSeat) -> EligibilityObjection {
        let (wanted, found) = match by {
            Some(Denied::Experiment) => {
                let head = self.table.head();
                let variant = treatment::leaving_out(&head.treatments, seat, head.wants_loans);
                let variant = variant.map_or_else(|| "an experiment".to_owned(), Treatment::label);
                return EligibilityObjection::new("a variant that asks it", variant);
            }
            None => ("a place at the rate table", NO_PLACE),
            Some(denied @ Denied::Exclusive) => {
                let (wanted, another) = denied.wanted_and_found();
                (wanted, self.exclusive(seat.product_type).unwrap_or(another))
            }
            Some(Denied::Paused) if let Some(pause) = self.pause(seat) => {
                let (wanted, found) = Denied::Paused.wanted_and_found();
                return EligibilityObjection::new(wanted, format!("{found} {pause}"));
            }
            Some(denied) => denied.wanted_and_found(),
        };
        EligibilityObjection::new(wanted, found)
    }

    fn pause(&self, seat: &RecordedSeat) -> Option<&Pause> {
        self.pauses.iter().find(|pause| {
            pause.partner == seat.key && pause.product_type.is_none_or(|paused| paused == seat.product_type)
        })
    }

    fn exclusive(&self, product_type: ProductType) -> Option<&str> {
        let of_product = self.book.seats().iter().filter(|seat| seat.product_type == product_type);
        let mut exclusive = of_product.filter(|seat| seat.exclusive.is_some());
        exclusive.find(|seat| self.has_place(seat)).map(|seat| seat.identity.key.as_str())
    }

    /// When a seat was asked; if that is not recorded, when the table was created or second look began.
    fn asked_at(&self, seat: usize, ask: Option<Ask>) -> Timestamp {
        let made_at = self.table.head().created_at;
        let recorded = ask.map(|ask| made_at + i64::from(ask.after_ms));
        let at = recorded.or(self.decisions.released_at(seat)).unwrap_or(made_at);
        Timestamp::at(at)
    }

    fn answered(&self, seat: &RecordedSeat, quotes: &[Quote], first_number: u16) -> Vec<OfferExplanation> {
        let auction_open = self.table.progress().pending().any(|seat| self.table.seats()[seat].second_look);
        let not_shown = |quote: &Quote| quote.ranked.as_deref().map(Standing::of);
        let offers = quotes.iter().zip(first_number..).map(|(quote, number)| OfferExplanation {
            standing: self.standings.get(&number).cloned().or_else(|| not_shown(quote)),
            name: self.templates.offer_name(quote.text),
            uuid: Some(self.templates.ids.offer(self.table.head().uuid, number)),
            score: Some(quote.score),
            why: match self.table.offer(number) {
                Some(_) => OfferReason::Shown,
                None if seat.second_look && auction_open => OfferReason::Waiting,
                None => OfferReason::Outbid,
            },
            refusals: Vec::new(),
        });
        offers.collect()
    }

    fn unseated(&self, judged: &SeatJudgement, facts: &Facts, at: Option<DateTime<Utc>>) -> SeatExplanation {
        let seat = &judged.seat;
        let why = match self.not_seated(seat) {
            Some(by) => Reason::from(by),
            None if !judged.wanted => Reason::NotWanted,
            None if judged.refusals.iter().any(|refusal| refusal.attribute.is_some()) => Reason::Unmet,
            None if seat.fits_nothing(facts) => Reason::Unmet,
            None if seat.paused => Reason::Paused,
            None => match at.and_then(|at| denied_by_file(seat, facts.uuid, at).next()) {
                Some(denied) => Reason::from(denied),
                None if judged.refusals.is_empty() => Reason::Unlisted,
                None => Reason::Exclusive,
            },
        };
        let offers = judged.offers.iter().map(|offer| offer_of_file(offer, OfferReason::NotAsked)).collect();
        SeatExplanation { refusals: judged.refusals.clone(), offers, ..bare(&seat.recorded, why) }
    }
}

/// The offers of a file that no answer includes.
fn unanswered(judged: Option<&SeatJudgement>, answered: &[OfferExplanation]) -> Vec<OfferExplanation> {
    let offers = judged.into_iter().flat_map(|judged| &judged.offers);
    let others = offers.filter(|offer| !answered.iter().any(|answered| answered.name == offer.name));
    others.map(|offer| offer_of_file(offer, OfferReason::NotAnswered)).collect()
}

fn offer_of_file(offer: &OfferJudgement, otherwise: OfferReason) -> OfferExplanation {
    let (name, refusals) = (offer.name.clone(), offer.refusals.clone());
    let why = if refusals.is_empty() { otherwise } else { OfferReason::Unmet };
    OfferExplanation { name, uuid: None, score: None, why, standing: None, refusals }
}

fn judgement_of<'j>(all: &'j [SeatJudgement], text: &RecordedSeat) -> Option<&'j SeatJudgement> {
    all.iter().find(|judged| judged.seat.is_of(&text.key, text.product_type))
}

fn bare(text: &RecordedSeat, why: Reason) -> SeatExplanation {
    SeatExplanation {
        partner: text.key.clone(),
        partner_uuid: text.partner.uuid,
        name: text.partner.name.clone(),
        product_type: text.product_type,
        seated: false,
        second_look: text.second_look,
        why,
        about: why.sentence().to_owned(),
        cause: None,
        reject_reason: None,
        asked_at: None,
        budget_ms: None,
        ended_after_ms: None,
        refusals: Vec::new(),
        offers: Vec::new(),
    }
}
