//! The rate table as a machine: what happens to it goes in by [`handle`](Machine::handle), what is to be done about it comes
//! out by [`poll`](Machine::poll). It knows no actor, no clock and no store.
//!
//! ```text
//!  Asked, NoTime, Answered ─┐                     ┌─ Ask     seats, of which each is then Asked, NoTime or Answered
//!  Admitted ────────────────┤                     ├─ Admit   held seats; their limits answer Admitted
//!  DeadlinePassed ──────────┼─▶ handle … poll ───▶┼─ Write   what in_flight() says, then Written or PutOff
//!  Written, PutOff, Retry ──┘                     ├─ GiveBack, Show, Settle
//! ```
//!
//! One write is under way at a time, so that the order of the record is the order of arrival; what is shown is written. The first
//! write has the answers of those who answer at once, since asking them sends nothing out. Who lives elsewhere is asked after it.

use super::asks::Asks;
use super::bids::Sale;
use super::outcome::{AskEnd, NoOfferReason, Outcome};
use super::progress::{Due, Event as Step, Progress, Standing};
use super::record::{Answer, AnswerRecord, Ask};
use super::seating::Verdict;
use super::table::Table;

/// What can happen to a rate table.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A seat that was to be asked is being asked.
    Asked {
        /// Position of the seat.
        seat: usize,
        /// How.
        ask: Ask,
    },
    /// There was no time to ask a seat that was to be asked.
    NoTime {
        /// Position of the seat.
        seat: usize,
        /// When, Unix milliseconds.
        at: i64,
    },
    /// An ask has ended.
    Answered {
        /// Position of the seat.
        seat: usize,
        /// How it ended.
        end: AskEnd,
        /// When, Unix milliseconds.
        at: i64,
    },
    /// The limits have decided which of the held seats are asked. A held seat without a verdict has left the book.
    Admitted {
        /// When, Unix milliseconds.
        at: i64,
        /// Of each seat what keeps it from being asked, if something does; `Some(None)` when no place is left for it.
        verdicts: Vec<(usize, Verdict)>,
    },
    /// Whoever was asked and has not answered has timed out, and so has who is held.
    DeadlinePassed {
        /// When, Unix milliseconds.
        at: i64,
    },
    /// What was in flight is on the disk.
    Written,
    /// The store had no room for what was in flight; nothing is written before [`Event::Retry`].
    PutOff,
    /// The store may have room again.
    Retry,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Ask these seats.
    Ask(Vec<usize>),
    /// Have their limits say which of these held seats are asked.
    Admit(Vec<usize>),
    /// Write what is [in flight](Machine::in_flight).
    Write,
    /// These seats were not asked after all: what they counted is given back.
    GiveBack(Vec<usize>),
    /// What is shown has changed.
    Show,
    /// The table is complete. It comes once.
    Settle,
}

/// What is written together.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// Whether the table itself is written with it.
    pub first: bool,
    /// Position of the answer record.
    pub sequence: u16,
    /// The answers; none when only the asks have changed.
    pub record: AnswerRecord,
    /// Those of the answers by which the lead is sold.
    pub sales: Vec<Sale>,
    /// Who is asked, where that has changed.
    pub asks: Option<Asks>,
    /// Offers that the table had no numbers left for.
    pub cut: usize,
    /// Whether the table is complete with it.
    pub settles: bool,
}

/// Where a rate table is taken up.
#[derive(Debug)]
pub struct Beginning {
    /// The table, with the answers that it has.
    pub table: Table,
    /// Of each seat, whether it answers at once.
    pub at_once: Vec<bool>,
    /// Who was asked, as far as the head does not say so.
    pub asks: Asks,
    /// Position of the next answer record; `None` for a table that is to be written first.
    pub sequence: Option<u16>,
}

/// A rate table that is being built.
#[derive(Debug)]
pub struct Machine {
    /// As it is on the disk.
    table: Table,
    /// As its seats will stand when all that has arrived is written.
    ahead: Progress,
    seats: Vec<Seat>,
    asks: Asks,
    /// What of the asks is to be written.
    asks_changed: bool,
    /// In the order of arrival.
    arrived: Vec<(Answer, Option<Ask>)>,
    in_flight: Option<Write>,
    put_off: bool,
    is_written: bool,
    sequence: u16,
    /// Seats that were not asked after all, as has just been written.
    spared: Vec<usize>,
    shows: bool,
    settled: bool,
}

#[derive(Debug, Clone, Copy)]
struct Seat {
    at_once: bool,
    /// It was asked before a restart.
    asked_before: bool,
    /// It is to be asked.
    due: bool,
    ask: Option<Ask>,
    /// What it pays for the lead, dollars.
    pays: Option<f64>,
}

impl Machine {
    /// Takes a table up: a new one, or one that a restart has left pending.
    pub fn new(beginning: Beginning) -> Self {
        let Beginning { table, at_once, asks, sequence } = beginning;
        let ahead = table.progress().clone();
        let is_asked = |seat: usize| ahead.at(seat) == Some(Standing::Asked);
        let seat = |(seat, at_once): (usize, bool)| Seat {
            at_once,
            asked_before: sequence.is_some() && (is_asked(seat) || asks.is_released(seat)),
            due: is_asked(seat),
            ask: None,
            pays: None,
        };
        let seats = at_once.into_iter().enumerate().map(seat).collect();
        Self {
            seats,
            ahead,
            asks,
            asks_changed: false,
            arrived: Vec::new(),
            in_flight: None,
            put_off: false,
            is_written: sequence.is_some(),
            sequence: sequence.unwrap_or(0),
            spared: Vec::new(),
            shows: false,
            settled: false,
            table,
        }
    }

    /// The table as it is on the disk: what may be shown.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What is being written.
    pub fn in_flight(&self) -> Option<&Write> {
        self.in_flight.as_ref()
    }

    /// Whether an answer of a seat would be one too many.
    pub fn has_outcome(&self, seat: usize) -> bool {
        !self.ahead.is_pending(seat)
    }

    /// The seats without an outcome, be it written or not, but for those that are still to be asked: asking them finds no
    /// time left.
    pub fn waited_for(&self) -> impl Iterator<Item = usize> {
        self.ahead.pending().filter(|seat| !self.seats[*seat].due)
    }

    /// When second look has asked a seat, Unix milliseconds.
    pub fn released_at(&self, seat: usize) -> Option<i64> {
        self.asks.released_at(seat)
    }

    /// When a seat was asked before a restart, Unix milliseconds; `None` for one that was not.
    pub fn asked_before(&self, seat: usize) -> Option<i64> {
        let at = self.asks.released_at(seat).unwrap_or(self.table.head().created_at);
        self.seats[seat].asked_before.then_some(at)
    }

    /// The seats that limits have counted for a table that is not written yet.
    pub fn counted(&self) -> impl Iterator<Item = usize> {
        let released = self.asks.released.iter().map(|seat| usize::from(*seat));
        self.table.progress().standing(Standing::Asked).chain(released)
    }

    /// Whether second look may still begin.
    pub fn second_look_to_come(&self) -> bool {
        self.table.progress().standing(Standing::Held).next().is_some()
    }

    /// Whether everybody is heard and written.
    pub fn is_complete(&self) -> bool {
        self.is_written && self.table.progress().settled()
    }

    /// Whether those are heard and written who answer at once.
    pub fn has_prompt_answers(&self) -> bool {
        let waits = |seat: usize| self.seats[seat].at_once;
        // Whom second look asks is known when it is written.
        let deciding = self.asks_changed && self.asks.second_look_at.is_some();
        self.is_written && !deciding && !self.table.progress().standing(Standing::Asked).any(waits)
    }

    /// Takes in what has happened. An answer of a seat that has its outcome is dropped: a late offer never enters.
    pub fn handle(&mut self, event: Event) {
        match event {
            Event::Asked { seat, ask } => self.seats[seat].ask = Some(ask),
            Event::NoTime { seat, at } if self.seats[seat].asked_before => {
                self.note(seat, Outcome::TimedOut.because("its time ran out during a restart"), at);
            }
            Event::NoTime { seat, at } => {
                self.asks.spared.push(seat as u16);
                self.asks_changed = true;
                self.note(seat, Outcome::NoOffers(NoOfferReason::NoTime).into(), at);
            }
            Event::Answered { seat, end, at } => self.note(seat, end, at),
            Event::Admitted { at, verdicts } => self.begin_second_look(at, verdicts),
            Event::DeadlinePassed { at } => {
                for seat in self.waited_for().collect::<Vec<_>>() {
                    self.note(seat, Outcome::TimedOut.because("the deadline of the rate table came"), at);
                }
            }
            Event::Written => self.written(),
            Event::PutOff => {
                if let Some(Write { record, asks, .. }) = self.in_flight.take() {
                    self.asks_changed |= asks.is_some();
                    self.arrived.splice(0..0, record.answers.into_iter().zip(record.asked));
                }
                self.put_off = true;
            }
            Event::Retry => self.put_off = false,
        }
    }

    /// What is to be done next at a time in Unix milliseconds; `None` when nothing is before something happens.
    pub fn poll(&mut self, now: i64) -> Option<Effect> {
        let may_write = self.in_flight.is_none() && !self.put_off;
        if may_write {
            self.release_if_due();
        }
        if let Some(seats) = self.take_due() {
            return Some(Effect::Ask(seats));
        }
        if may_write {
            match self.ahead.due() {
                Due::Release(held) if self.asks.second_look_at.is_none() => return Some(Effect::Admit(held)),
                Due::Drop(held) => {
                    for seat in held {
                        self.note(seat, Outcome::NoOffers(NoOfferReason::NotNeeded).into(), now);
                    }
                }
                Due::Release(_) | Due::Nothing => {}
            }
            if !self.is_written || !self.arrived.is_empty() || self.asks_changed {
                self.begin_write();
                return Some(Effect::Write);
            }
        }
        if !self.spared.is_empty() {
            return Some(Effect::GiveBack(std::mem::take(&mut self.spared)));
        }
        if std::mem::take(&mut self.shows) {
            return Some(Effect::Show);
        }
        let settles = !self.settled && self.is_complete();
        self.settled |= settles;
        settles.then_some(Effect::Settle)
    }

    /// Notes an outcome, unless its seat has one.
    fn note(&mut self, seat: usize, end: AskEnd, at: i64) {
        let offers = !end.outcome.quotes().is_empty();
        if self.ahead.apply(Step::Ended { seat, offers }).is_err() {
            return;
        }
        let AskEnd { outcome, cause, pays } = end;
        (self.seats[seat].due, self.seats[seat].pays) = (false, pays);
        self.arrived.push((Answer { seat: seat as u16, at, outcome, cause }, self.seats[seat].ask));
    }

    /// The limits of held seats hold from when second look begins. Who is kept out has its outcome.
    fn begin_second_look(&mut self, at: i64, verdicts: Vec<(usize, Verdict)>) {
        self.asks.second_look_at = Some(at);
        self.asks_changed = true;
        for (seat, verdict) in verdicts {
            match verdict {
                Verdict::Asked => self.asks.released.push(seat as u16),
                Verdict::KeptOut(by) => {
                    self.asks.held_back.push((seat as u16, by));
                    self.note(seat, Outcome::NoOffers(NoOfferReason::HeldBack).into(), at);
                }
            }
        }
    }

    /// Has held seats asked once it is on the disk that second look has begun.
    fn release_if_due(&mut self) {
        if self.asks.second_look_at.is_none() || self.asks_changed {
            return;
        }
        if let Due::Release(held) = self.table.progress().due() {
            // Who has an outcome that is not written yet is not asked any more.
            for seat in held.into_iter().filter(|seat| self.ahead.is_pending(*seat)).collect::<Vec<_>>() {
                let released =
                    self.table.release(seat).and_then(|()| self.ahead.apply(Step::Released { seat }));
                debug_assert!(released.is_ok(), "a held seat can be released");
                self.seats[seat].due = true;
            }
        }
    }

    /// Those who are to be asked and may be: before the table is on the disk only who answers at once.
    fn take_due(&mut self) -> Option<Vec<usize>> {
        let is_written = self.is_written;
        let may_be_asked = |(_, seat): &(usize, &mut Seat)| seat.due && (is_written || seat.at_once);
        let due = self.seats.iter_mut().enumerate().filter(may_be_asked);
        let due: Vec<usize> = due.map(|(nth, seat)| (seat.due = false, nth).1).collect();
        (!due.is_empty()).then_some(due)
    }

    fn begin_write(&mut self) {
        let (mut answers, asked): (Vec<Answer>, Vec<Option<Ask>>) = self.arrived.drain(..).unzip();
        let cut = self.table.cut_to_fit(&mut answers);
        let sale = |answer: &Answer| {
            let dollars = self.seats[usize::from(answer.seat)].pays?;
            Some(Sale { seat: answer.seat, at: answer.at, dollars })
        };
        let sales = answers.iter().filter_map(sale).collect();
        self.in_flight = Some(Write {
            first: !self.is_written,
            sequence: self.sequence,
            record: AnswerRecord::new(answers, asked),
            sales,
            asks: self.asks_changed.then(|| self.asks.clone()),
            cut,
            settles: self.ahead.settled(),
        });
    }

    fn written(&mut self) {
        let Some(Write { record, asks, .. }) = self.in_flight.take() else { return };
        self.sequence += u16::from(!record.answers.is_empty());
        self.is_written = true;
        self.shows = true;
        for answer in record.answers {
            // Its progress was moved ahead when it came.
            let applied = self.table.apply(&answer);
            debug_assert!(applied.is_ok(), "an answer is taken in once");
            let is_spared = asks.as_ref().is_some_and(|asks| asks.is_spared(usize::from(answer.seat)));
            self.spared.extend(is_spared.then_some(usize::from(answer.seat)));
        }
        self.asks_changed &= asks.is_none_or(|written| written != self.asks);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::partner_files::partner;
    use crate::rate_table::record::TableHead;
    use offerd_partners::{Book, Fingerprint, SeatTemplate};

    /// What a seat is in a story: whether it answers at once, and its second look.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Kind {
        Catalog,
        Afar,
        SecondLook,
    }

    /// A table that is driven by hand: whatever it wants done is done, or fails, as drawn.
    struct World {
        table: Machine,
        kinds: Vec<Kind>,
        asked: HashSet<usize>,
        /// Answers in the order in which they came to the disk.
        on_disk: Vec<Answer>,
        settled: usize,
        writes: usize,
    }

    fn seats(kinds: &[Kind]) -> Vec<Arc<SeatTemplate>> {
        let files = kinds.iter().enumerate().map(|(nth, kind)| {
            let lender = partner(&format!("lender{nth}"));
            let lender =
                if *kind == Kind::SecondLook { lender.second_look(1.0, "") } else { lender.loan("") };
            (format!("lender{nth}.toml").into(), lender.text())
        });
        let book = Book::from_texts(files).expect("the partners of a test are good");
        let known = |nth: usize| {
            let key = format!("lender{nth}");
            let seat = book.seats().iter().find(|seat| seat.identity.key == key);
            Arc::clone(&seat.expect("each file has a seat").known_as)
        };
        (0..kinds.len()).map(known).collect()
    }

    fn empty(kinds: &[Kind]) -> Table {
        let seats = seats(kinds);
        let head = TableHead {
            uuid: uuid::Uuid::from_u128(1),
            lead: uuid::Uuid::from_u128(2),
            company: uuid::Uuid::from_u128(3),
            test: false,
            loan_amount: None,
            wants_loans: true,
            created_at: 0,
            deadline: 15_000,
            seats: vec![Fingerprint([0; 16]); seats.len()],
            book: Fingerprint([0; 16]),
            treatments: Vec::new(),
            kept_out: Vec::new(),
        };
        Table::new(Arc::new(head), seats)
    }

    impl World {
        fn new(kinds: Vec<Kind>) -> Self {
            let table = Machine::new(Beginning {
                table: empty(&kinds),
                at_once: kinds.iter().map(|kind| *kind == Kind::Catalog).collect(),
                asks: Asks::default(),
                sequence: None,
            });
            Self { table, kinds, asked: HashSet::new(), on_disk: Vec::new(), settled: 0, writes: 0 }
        }

        /// Carries out what is to be done; `draw` says who has no time and who is kept out.
        fn drive(&mut self, draw: u8) {
            while let Some(effect) = self.table.poll(7) {
                match effect {
                    Effect::Ask(seats) => seats.into_iter().for_each(|seat| self.ask(seat, draw)),
                    Effect::Admit(held) => {
                        let is_kept_out = |seat: usize| (seat + usize::from(draw)).is_multiple_of(3);
                        let verdict = |seat| match is_kept_out(seat) {
                            true => Verdict::KeptOut(None),
                            false => Verdict::Asked,
                        };
                        let verdicts = held.into_iter().map(|seat| (seat, verdict(seat))).collect();
                        self.table.handle(Event::Admitted { at: 7, verdicts });
                    }
                    Effect::Write => {
                        let write = self.table.in_flight().expect("a write is in flight");
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
                "nobody hears of what is not written"
            );
            if draw.is_multiple_of(5) {
                return self.table.handle(Event::NoTime { seat, at: 7 });
            }
            self.table.handle(Event::Asked { seat, ask: Ask { after_ms: 0, budget_ms: 1 } });
            if self.kinds[seat] == Kind::Catalog {
                self.answer(seat);
            }
        }

        fn answer(&mut self, seat: usize) {
            let end = Outcome::NoOffers(NoOfferReason::Declined).into();
            self.table.handle(Event::Answered { seat, end, at: 7 });
        }

        fn written(&mut self) {
            let Some(write) = self.table.in_flight().cloned() else { return };
            self.writes += 1;
            self.on_disk.extend(write.record.answers);
            self.table.handle(Event::Written);
        }

        /// The disk holds what is shown, each seat once.
        fn holds(&self) {
            let mut folded = empty(&self.kinds);
            for answer in &self.on_disk {
                assert!(folded.apply(answer).is_ok(), "a seat has one outcome");
            }
            assert_eq!(folded.answers(), self.table.table().answers());
            let pending = |table: &Table| table.progress().pending().collect::<Vec<_>>();
            assert_eq!(pending(&folded), pending(self.table.table()));
            assert!(self.settled <= 1);
            assert_eq!(self.settled == 1, self.table.is_complete());
        }
    }

    #[test]
    fn a_table_of_catalogs_is_one_write() {
        let mut world = World::new(vec![Kind::Catalog; 20]);
        world.drive(1);
        let write = world.table.in_flight().expect("it is being written");
        assert!(write.first && write.settles);
        assert_eq!(write.record.answers.len(), 20);
        world.written();
        world.drive(1);
        assert_eq!((world.writes, world.settled), (1, 1));
    }

    #[test]
    fn who_lives_elsewhere_is_asked_when_the_lead_is_on_the_disk() {
        let mut world = World::new(vec![Kind::Catalog, Kind::Afar]);
        world.drive(1);
        assert_eq!(world.asked, HashSet::from([0]));
        world.written();
        world.drive(1);
        assert_eq!(world.asked, HashSet::from([0, 1]));
        assert!(world.table.has_prompt_answers() && !world.table.is_complete());
        world.answer(1);
        world.drive(1);
        world.written();
        world.drive(1);
        world.holds();
        assert!(world.table.is_complete());
    }

    #[test]
    fn what_the_store_has_no_room_for_is_written_later_in_the_same_order() {
        let mut world = World::new(vec![Kind::Afar, Kind::Afar]);
        world.drive(1);
        world.written();
        world.drive(1);
        world.answer(1);
        world.drive(1);
        world.table.handle(Event::PutOff);
        world.answer(0);
        world.drive(1);
        assert_eq!(world.table.in_flight(), None);
        world.table.handle(Event::Retry);
        world.drive(1);
        world.written();
        world.drive(1);
        world.holds();
        assert_eq!(world.on_disk.iter().map(|answer| answer.seat).collect::<Vec<_>>(), [1, 0]);
    }

    proptest! {
        #![proptest_config(crate::cases::cases(64))]

        /// Whatever happens, in whatever order: what is shown is on the disk, each seat has one outcome, and after the deadline
        /// and what was being written the table is complete.
        #[test]
        fn it_comes_to_its_end_by_the_deadline(
            kinds in prop::collection::vec(prop::sample::select(vec![Kind::Catalog, Kind::Afar, Kind::SecondLook]), 0..6),
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
                    4 if world.writes > 0 => world.table.handle(Event::PutOff),
                    _ => world.table.handle(Event::Retry),
                }
                world.drive(draw);
                world.holds();
            }
            world.table.handle(Event::Retry);
            for _ in 0..3 {
                world.drive(1);
                world.written();
                world.drive(1);
                world.table.handle(Event::DeadlinePassed { at: 15_000 });
            }
            world.drive(1);
            world.written();
            world.drive(1);
            world.holds();
            prop_assert!(world.table.is_complete());
        }
    }
}
