//! The rate table as a state machine, without actor, clock or store: events in, effects out.
//!
//! ```text
//!  Asked, NoTime, Ended ───┐                     ┌─ Ask        seats; each then is Asked, NoTime or Ended
//!  HeldJudged ─────────────┤                     ├─ JudgeHeld  held seats; their limits answer HeldJudged
//!  DeadlinePassed ─────────┼─▶ handle … poll ───▶┼─ Write      the write `in_flight`, then Written or PutOff
//!  Written, PutOff, Retry ─┘                     ├─ GiveBack, Show, Settle
//! ```
//!
//! One write is in flight at a time, and only written answers are shown. The first write includes the seats
//! that answer at once. Remote partners are asked after it.

use super::bids::Sale;
use super::outcome::{AskResult, NoOfferReason, Outcome};
use super::progress::{HeldDecision, SeatEvent, SeatPhase, TableProgress};
use super::record::{AnswerRecord, Ask, LaterDecisions, SeatOutcome};
use super::seating::Verdict;
use super::table::Table;

/// An event in the life of a rate table.
#[derive(Debug, Clone, PartialEq)]
pub enum TableEvent {
    /// A due seat is being asked.
    Asked {
        /// Position of the seat.
        seat: usize,
        /// The start and budget of the ask.
        ask: Ask,
    },
    /// No time was left to ask a due seat.
    NoTime {
        /// Position of the seat.
        seat: usize,
        /// When, Unix milliseconds.
        at: i64,
    },
    /// An ask ended.
    Ended {
        /// Position of the seat.
        seat: usize,
        /// The result of the ask.
        result: AskResult,
        /// When, Unix milliseconds.
        at: i64,
    },
    /// The limits decided which held seats are asked. A held seat without a verdict has no fit.
    HeldJudged {
        /// When, Unix milliseconds.
        at: i64,
        /// The verdict on each seat; `NotSeated(None)` when no place is left for it.
        verdicts: Vec<(usize, Verdict)>,
    },
    /// Every asked or held seat without an answer times out.
    DeadlinePassed {
        /// When, Unix milliseconds.
        at: i64,
    },
    /// The write in flight is on the disk.
    Written,
    /// The store had no room for the write in flight; no write starts before [`TableEvent::Retry`].
    PutOff,
    /// The store may have room again.
    Retry,
}

/// An effect that the driver carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Ask these seats.
    Ask(Vec<usize>),
    /// Let the limits decide which of these held seats are asked.
    JudgeHeld(Vec<usize>),
    /// Write the write in flight.
    Write,
    /// These seats were not asked after all: return what they counted against limits.
    GiveBack(Vec<usize>),
    /// The shown table has changed.
    Show,
    /// The table is complete. Emitted once.
    Settle,
}

/// The content of one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct TableWrite {
    /// Whether it creates the table.
    pub first: bool,
    /// Position of the answer record in the table.
    pub sequence: u16,
    /// The answers; empty when only the decisions changed.
    pub record: AnswerRecord,
    /// The answers that sell the lead.
    pub sales: Vec<Sale>,
    /// The decisions, if they changed.
    pub decisions: Option<LaterDecisions>,
    /// Offers that were cut because the table has no numbers left.
    pub cut: usize,
    /// Whether the table is complete after this write.
    pub completes: bool,
}

/// The state from which a machine starts: a new table, or one that a restart left pending.
#[derive(Debug)]
pub struct MachineStart {
    /// The table, with its answers so far.
    pub table: Table,
    /// For each seat, whether it answers at once.
    pub at_once: Vec<bool>,
    /// The decisions that the head does not record.
    pub decisions: LaterDecisions,
    /// Position of the next answer record; `None` for a new table.
    pub sequence: Option<u16>,
}

/// A rate table under construction.
#[derive(Debug)]
pub struct Machine {
    table: Table,
    /// The progress once everything that arrived is written.
    ahead: TableProgress,
    seats: Vec<MachineSeat>,
    decisions: LaterDecisions,
    decisions_changed: bool,
    arrived: Vec<(SeatOutcome, Option<Ask>)>,
    pub(crate) in_flight: Option<TableWrite>,
    put_off: bool,
    is_written: bool,
    sequence: u16,
    /// Seats whose ask was dropped for lack of time, from the last write.
    skipped: Vec<usize>,
    shows: bool,
    /// Whether [`Effect::Settle`] was emitted.
    settle_emitted: bool,
}

#[derive(Debug, Clone, Copy)]
struct MachineSeat {
    at_once: bool,
    asked_before: bool,
    /// Whether it is to be asked next.
    due: bool,
    ask: Option<Ask>,
    /// What the partner pays for the lead, dollars.
    pays: Option<f64>,
}

impl Machine {
    /// Starts a new table, or resumes one that a restart left pending.
    pub fn new(beginning: MachineStart) -> Self {
        let MachineStart { table, at_once, decisions, sequence } = beginning;
        let ahead = table.progress().clone();
        let is_asked = |seat: usize| ahead.at(seat) == Some(SeatPhase::Asked);
        let seat = |(seat, at_once): (usize, bool)| MachineSeat {
            at_once,
            asked_before: sequence.is_some() && (is_asked(seat) || decisions.is_released(seat)),
            due: is_asked(seat),
            ask: None,
            pays: None,
        };
        let seats = at_once.into_iter().enumerate().map(seat).collect();
        Self {
            seats,
            ahead,
            decisions,
            decisions_changed: false,
            arrived: Vec::new(),
            in_flight: None,
            put_off: false,
            is_written: sequence.is_some(),
            sequence: sequence.unwrap_or(0),
            skipped: Vec::new(),
            shows: false,
            settle_emitted: false,
            table,
        }
    }

    /// The table as written to disk: what may be shown.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Whether a seat has its outcome, so that another answer would be one too many.
    pub fn has_outcome(&self, seat: usize) -> bool {
        !self.ahead.is_pending(seat)
    }

    /// Seats without an outcome, except those still to be asked: they find no time left when they are.
    pub fn waited_for(&self) -> impl Iterator<Item = usize> {
        self.ahead.pending().filter(|seat| !self.seats[*seat].due)
    }

    /// When second look asked a seat, Unix milliseconds.
    pub fn released_at(&self, seat: usize) -> Option<i64> {
        self.decisions.released_at(seat)
    }

    /// When a seat was asked before a restart, Unix milliseconds; `None` if it was not.
    pub fn asked_before(&self, seat: usize) -> Option<i64> {
        let at = self.decisions.released_at(seat).unwrap_or(self.table.head().created_at);
        self.seats[seat].asked_before.then_some(at)
    }

    /// The seats that limits have counted for a table that is not written yet.
    pub fn counted(&self) -> impl Iterator<Item = usize> {
        let released = self.decisions.released.iter().map(|seat| usize::from(*seat));
        self.table.progress().seats_in(SeatPhase::Asked).chain(released)
    }

    /// Whether second look may still start.
    pub fn second_look_to_come(&self) -> bool {
        self.table.progress().seats_in(SeatPhase::Held).next().is_some()
    }

    /// Whether every seat has its outcome and all are written.
    pub fn is_complete(&self) -> bool {
        self.is_written && self.table.progress().all_ended()
    }

    /// Whether all seats that answer at once have their outcomes written.
    pub fn has_prompt_answers(&self) -> bool {
        let waits = |seat: usize| self.seats[seat].at_once;
        // The seats of second look are known once its start is written.
        let deciding = self.decisions_changed && self.decisions.second_look_at.is_some();
        self.is_written && !deciding && !self.table.progress().seats_in(SeatPhase::Asked).any(waits)
    }

    /// Handles an event. Drops an answer for a seat that has its outcome: a late offer never enters.
    pub fn handle(&mut self, event: TableEvent) {
        match event {
            TableEvent::Asked { seat, ask } => self.seats[seat].ask = Some(ask),
            TableEvent::NoTime { seat, at } if self.seats[seat].asked_before => {
                self.note(seat, Outcome::TimedOut.because("its time ran out during a restart"), at);
            }
            TableEvent::NoTime { seat, at } => {
                self.decisions.skipped.push(seat as u16);
                self.decisions_changed = true;
                self.note(seat, Outcome::NoOffers(NoOfferReason::NoTime).into(), at);
            }
            TableEvent::Ended { seat, result, at } => self.note(seat, result, at),
            TableEvent::HeldJudged { at, verdicts } => self.begin_second_look(at, verdicts),
            TableEvent::DeadlinePassed { at } => {
                for seat in self.waited_for().collect::<Vec<_>>() {
                    self.note(seat, Outcome::TimedOut.because("the deadline of the rate table came"), at);
                }
            }
            TableEvent::Written => self.written(),
            TableEvent::PutOff => {
                if let Some(TableWrite { record, .. }) = self.in_flight.take() {
                    self.arrived.splice(0..0, record.answers.into_iter().zip(record.asked));
                }
                self.put_off = true;
            }
            TableEvent::Retry => self.put_off = false,
        }
    }

    /// The next effect at `now` (Unix milliseconds); `None` until another event.
    pub fn poll(&mut self, now: i64) -> Option<Effect> {
        let may_write = self.in_flight.is_none() && !self.put_off;
        if may_write {
            self.release_if_decided();
        }
        if let Some(seats) = self.take_due() {
            return Some(Effect::Ask(seats));
        }
        if may_write {
            match self.ahead.held_decision() {
                HeldDecision::Release(held) if self.decisions.second_look_at.is_none() => {
                    return Some(Effect::JudgeHeld(held));
                }
                HeldDecision::Drop(held) => {
                    for seat in held {
                        self.note(seat, Outcome::NoOffers(NoOfferReason::NotNeeded).into(), now);
                    }
                }
                HeldDecision::Release(_) | HeldDecision::Nothing => {}
            }
            if !self.is_written || !self.arrived.is_empty() || self.decisions_changed {
                self.begin_write();
                return Some(Effect::Write);
            }
        }
        if !self.skipped.is_empty() {
            return Some(Effect::GiveBack(std::mem::take(&mut self.skipped)));
        }
        if std::mem::take(&mut self.shows) {
            return Some(Effect::Show);
        }
        let settles = !self.settle_emitted && self.is_complete();
        self.settle_emitted |= settles;
        settles.then_some(Effect::Settle)
    }

    fn note(&mut self, seat: usize, result: AskResult, at: i64) {
        let offers = !result.outcome.quotes().is_empty();
        if self.ahead.apply(SeatEvent::Ended { seat, offers }).is_err() {
            return;
        }
        let AskResult { outcome, cause, pays } = result;
        (self.seats[seat].due, self.seats[seat].pays) = (false, pays);
        self.arrived.push((SeatOutcome { seat: seat as u16, at, outcome, cause }, self.seats[seat].ask));
    }

    /// Starts second look. From now the limits of held seats apply; a seat they hold back has its outcome.
    fn begin_second_look(&mut self, at: i64, verdicts: Vec<(usize, Verdict)>) {
        self.decisions.second_look_at = Some(at);
        self.decisions_changed = true;
        for (seat, verdict) in verdicts {
            match verdict {
                Verdict::Seated => self.decisions.released.push(seat as u16),
                Verdict::NotSeated(by) => {
                    self.decisions.held_back.push((seat as u16, by));
                    self.note(seat, Outcome::NoOffers(NoOfferReason::HeldBack).into(), at);
                }
            }
        }
    }

    fn release_if_decided(&mut self) {
        if self.decisions.second_look_at.is_none() || self.decisions_changed {
            return;
        }
        if let HeldDecision::Release(held) = self.table.progress().held_decision() {
            // A seat whose outcome is not written yet is no longer asked.
            for seat in held.into_iter().filter(|seat| self.ahead.is_pending(*seat)).collect::<Vec<_>>() {
                let done =
                    self.table.release(seat).and_then(|()| self.ahead.apply(SeatEvent::Released { seat }));
                debug_assert!(done.is_ok(), "a held seat can be released");
                self.seats[seat].due = true;
            }
        }
    }

    fn take_due(&mut self) -> Option<Vec<usize>> {
        let is_written = self.is_written;
        let may_be_asked = |(_, seat): &(usize, &mut MachineSeat)| seat.due && (is_written || seat.at_once);
        let due = self.seats.iter_mut().enumerate().filter(may_be_asked);
        let due: Vec<usize> = due.map(|(nth, seat)| (seat.due = false, nth).1).collect();
        (!due.is_empty()).then_some(due)
    }

    fn begin_write(&mut self) {
        let (mut answers, asked): (Vec<SeatOutcome>, Vec<Option<Ask>>) = self.arrived.drain(..).unzip();
        let cut = self.table.cut_to_fit(&mut answers);
        let sale = |answer: &SeatOutcome| {
            let dollars = self.seats[usize::from(answer.seat)].pays?;
            Some(Sale { seat: answer.seat, at: answer.at, dollars })
        };
        let sales = answers.iter().filter_map(sale).collect();
        self.in_flight = Some(TableWrite {
            first: !self.is_written,
            sequence: self.sequence,
            record: AnswerRecord::new(answers, asked),
            sales,
            decisions: self.decisions_changed.then(|| self.decisions.clone()),
            cut,
            completes: self.ahead.all_ended(),
        });
    }

    fn written(&mut self) {
        let Some(TableWrite { record, decisions, .. }) = self.in_flight.take() else { return };
        self.sequence += u16::from(!record.answers.is_empty());
        self.is_written = true;
        self.shows = true;
        for answer in record.answers {
            // `note` moved `ahead` when the answer arrived.
            let applied = self.table.apply(&answer);
            debug_assert!(applied.is_ok(), "an answer is taken in once");
            let is_skipped = decisions.as_ref().is_some_and(|made| made.is_skipped(usize::from(answer.seat)));
            self.skipped.extend(is_skipped.then_some(usize::from(answer.seat)));
        }
        self.decisions_changed &= decisions.is_none_or(|written| written != self.decisions);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::super::tests::{Kind, empty};
    use super::*;

    /// A table driven by hand: each effect succeeds or fails as drawn.
    struct World {
        machine: Machine,
        kinds: Vec<Kind>,
        asked: HashSet<usize>,
        /// Answers in the order of writing.
        on_disk: Vec<SeatOutcome>,
        settled: usize,
        writes: usize,
    }

    impl World {
        fn new(kinds: Vec<Kind>) -> Self {
            let machine = Machine::new(MachineStart {
                table: empty(&kinds),
                at_once: kinds.iter().map(|kind| *kind == Kind::Catalog).collect(),
                decisions: LaterDecisions::default(),
                sequence: None,
            });
            Self { machine, kinds, asked: HashSet::new(), on_disk: Vec::new(), settled: 0, writes: 0 }
        }

        /// Carries out the effects; `draw` decides which seats have no time or are held back.
        fn drive(&mut self, draw: u8) {
            while let Some(effect) = self.machine.poll(7) {
                match effect {
                    Effect::Ask(seats) => seats.into_iter().for_each(|seat| self.ask(seat, draw)),
                    Effect::JudgeHeld(held) => {
                        let is_held_back = |seat: usize| (seat + usize::from(draw)).is_multiple_of(3);
                        let verdict = |seat| match is_held_back(seat) {
                            true => Verdict::NotSeated(None),
                            false => Verdict::Seated,
                        };
                        let verdicts = held.into_iter().map(|seat| (seat, verdict(seat))).collect();
                        self.machine.handle(TableEvent::HeldJudged { at: 7, verdicts });
                    }
                    Effect::Write => {
                        let write = self.machine.in_flight.as_ref().expect("a write is in flight");
                        assert_eq!(write.first, self.writes == 0);
                    }
                    Effect::Settle => self.settled += 1,
                    Effect::GiveBack(_) | Effect::Show => {}
                }
            }
        }

        fn ask(&mut self, seat: usize, draw: u8) {
            assert!(self.asked.insert(seat), "a seat is asked once");
            assert!(
                self.writes > 0 || self.kinds[seat] == Kind::Catalog,
                "nobody hears of an unwritten lead"
            );
            if draw.is_multiple_of(5) {
                return self.machine.handle(TableEvent::NoTime { seat, at: 7 });
            }
            self.machine.handle(TableEvent::Asked { seat, ask: Ask { after_ms: 0, budget_ms: 1 } });
            if self.kinds[seat] == Kind::Catalog {
                self.answer(seat);
            }
        }

        fn answer(&mut self, seat: usize) {
            let result = Outcome::NoOffers(NoOfferReason::Declined).into();
            self.machine.handle(TableEvent::Ended { seat, result, at: 7 });
        }

        fn written(&mut self) {
            let Some(write) = self.machine.in_flight.clone() else { return };
            self.writes += 1;
            self.on_disk.extend(write.record.answers);
            self.machine.handle(TableEvent::Written);
        }

        /// Asserts that the disk holds the shown answers, with one outcome per seat.
        fn holds(&self) {
            let mut folded = empty(&self.kinds);
            for answer in &self.on_disk {
                assert!(folded.apply(answer).is_ok(), "a seat has one outcome");
            }
            assert_eq!(folded.answers(), self.machine.table().answers());
            let pending = |table: &Table| table.progress().pending().collect::<Vec<_>>();
            assert_eq!(pending(&folded), pending(self.machine.table()));
            assert!(self.settled <= 1);
            assert_eq!(self.settled == 1, self.machine.is_complete());
        }
    }

    #[test]
    fn a_table_of_catalogs_is_one_write() {
        let mut world = World::new(vec![Kind::Catalog; 20]);
        world.drive(1);
        let write = world.machine.in_flight.as_ref().expect("it is being written");
        assert!(write.first && write.completes);
        assert_eq!(write.record.answers.len(), 20);
        world.written();
        world.drive(1);
        assert_eq!((world.writes, world.settled), (1, 1));
    }

    #[test]
    fn a_remote_seat_is_asked_when_the_lead_is_on_the_disk() {
        let mut world = World::new(vec![Kind::Catalog, Kind::Remote]);
        world.drive(1);
        assert_eq!(world.asked, HashSet::from([0]));
        world.written();
        world.drive(1);
        assert_eq!(world.asked, HashSet::from([0, 1]));
        assert!(world.machine.has_prompt_answers() && !world.machine.is_complete());
        world.answer(1);
        world.drive(1);
        world.written();
        world.drive(1);
        world.holds();
        assert!(world.machine.is_complete());
    }

    #[test]
    fn what_the_store_has_no_room_for_is_written_later_in_the_same_order() {
        let mut world = World::new(vec![Kind::Remote, Kind::Remote]);
        world.drive(1);
        world.written();
        world.drive(1);
        world.answer(1);
        world.drive(1);
        world.machine.handle(TableEvent::PutOff);
        world.answer(0);
        world.drive(1);
        assert_eq!(world.machine.in_flight, None);
        world.machine.handle(TableEvent::Retry);
        world.drive(1);
        world.written();
        world.drive(1);
        world.holds();
        assert_eq!(world.on_disk.iter().map(|answer| answer.seat).collect::<Vec<_>>(), [1, 0]);
    }

    proptest! {
        #![proptest_config(crate::cases::cases(64))]

        /// For every order of events: the disk holds the shown answers, each seat has one outcome, and the
        /// table is complete once the deadline has passed and the write in flight is done.
        #[test]
        fn it_comes_to_its_end_by_the_deadline(
            kinds in prop::collection::vec(prop::sample::select(vec![Kind::Catalog, Kind::Remote, Kind::SecondLook]), 0..6),
            steps in prop::collection::vec((0..6_u8, any::<u8>()), 0..30),
        ) {
            let mut world = World::new(kinds);
            world.drive(1);
            for (step, draw) in steps {
                match step {
                    0 | 1 if !world.kinds.is_empty() => {
                        let seat = usize::from(draw) % world.kinds.len();
                        if world.asked.contains(&seat) {
                            world.answer(seat);
                        }
                    }
                    2 | 3 => world.written(),
                    4 if world.writes > 0 => world.machine.handle(TableEvent::PutOff),
                    _ => world.machine.handle(TableEvent::Retry),
                }
                world.drive(draw);
                world.holds();
            }
            world.machine.handle(TableEvent::Retry);
            for _ in 0..3 {
                world.drive(1);
                world.written();
                world.drive(1);
                world.machine.handle(TableEvent::DeadlinePassed { at: 15_000 });
            }
            world.drive(1);
            world.written();
            world.drive(1);
            world.holds();
            prop_assert!(world.machine.is_complete());
        }
    }
}
