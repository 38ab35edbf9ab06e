//! The limiter: which of the seats that a lead fits are asked, and how often they were.
//!
//! A seat at a table counts once: when its table is written with the seat among those who are asked, or when second look
//! begins ([`asks`](crate::rate_table::asks)); not when it was held and never needed, and not when there was no time to ask it. What is
//! counted is derived from the records (`recount`), so a restart counts the same. All seats of a lead are looked at
//! under one lock, which is held for no more than that.
//!
//! Where several processes share a store, each has a [`batch`] of every cap by day, week and month, an equal part of one by the minute, and
//! sums budgets up again each second ([`cap_sharing`](super::cap_sharing)). Where one has the store for itself, nothing of that is there.

pub mod batch;
mod meter;
mod recount;
mod shares;
mod standing;

use std::collections::HashMap;

use metrics::counter;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use uuid::Uuid;

use meter::{DAY_KEPT, MONTH_KEPT, Meter, WEEK_KEPT};
pub use standing::{SeatStanding, State};

use crate::rate_table::denied::Denied;
use crate::rate_table::reason::Reason;
use crate::rate_table::seating::{Verdict, verdicts};
use crate::records::Records;
use crate::records::postings::Posting;
use offerd_base::telemetry::metrics::SEATS_HELD_BACK;
use offerd_model::ProductType;
use offerd_partners::{Book, Limits, Seat};
use offerd_store::pauses::{Pause, Pauses};
use offerd_store::{Clock, ReadError};

/// Counts what seats are asked and what their leads earn. Shared by everything that asks.
#[derive(Debug)]
pub struct Limiter {
    counts: Mutex<Counts>,
    /// Held to read the pauses and to put them in force, so that who has read later does so later.
    pausing: Mutex<()>,
    /// Told when more of a cap is needed soon.
    short: Notify,
    /// Held by who changes what is held of caps: one at a time.
    settling: Semaphore,
    clock: Clock,
}

/// Seats that were looked at together, and when: what they count for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// When, Unix milliseconds.
    pub at: i64,
    /// Whether the lead is a test: it is not counted, and only pauses, exclusive partners and suppression lists keep it from a seat.
    pub test: bool,
}

/// What is counted.
#[derive(Debug)]
struct Counts {
    /// By partner.
    partners: HashMap<String, OfPartner>,
    /// How far back asks are kept, milliseconds.
    kept: i64,
    /// How many processes ask, where several may.
    nodes: Option<u32>,
    /// What was booked and taken back since budgets began to be summed up, where they are.
    booked: Option<Vec<Posting>>,
}

/// What is counted of a partner.
#[derive(Debug, Default)]
struct OfPartner {
    /// Since when all of it is paused from the command line, Unix milliseconds.
    paused_since: Option<i64>,
    meters: [Meter; ProductType::ALL.len()],
}

impl Limiter {
    /// A limiter that has counted what a store holds, as far back as the caps of a book reach.
    pub fn of(records: &Records, book: &Book, clock: Clock) -> Self {
        let limiter = Self {
            counts: Mutex::new(recount::recount(records, now(&clock), reach(book))),
            pausing: Mutex::default(),
            short: Notify::new(),
            settling: Semaphore::new(1),
            clock,
        };
        limiter.set_pauses(&Pauses::of(records.store.clone()).list());
        limiter
    }

    /// Counts what lies further back than was counted so far, where the caps of a book reach there. Takes as long as reading
    /// the tables of that time; asks go on meanwhile.
    pub fn look_back(&self, records: &Records, book: &Book) {
        let reach = reach(book);
        let counted = {
            let mut counts = self.counts.lock();
            let longest = counts.kept.max(reach);
            std::mem::replace(&mut counts.kept, longest)
        };
        if reach > counted {
            let now = self.now();
            let (older, _) =
                recount::recount_asks(records, now - reach..recount::first_kept(now, counted), reach);
            self.counts.lock().add_older(older, recount::first_kept(now, counted));
        }
    }

    /// What the clock shows, Unix milliseconds.
    pub fn now(&self) -> i64 {
        now(&self.clock)
    }

    /// Tells of each seat whether it is asked about a lead, and counts those that are, `most` at most. Of seats that are asked
    /// together an exclusive one is asked alone. `left_out` is what keeps each of them out whatever is counted.
    pub fn admit(
        &self,
        test: bool,
        lead: Uuid,
        most: usize,
        seats: &[&Seat],
        left_out: &[Option<Denied>],
    ) -> (Round, Vec<Verdict>) {
        let mut counts = self.counts.lock();
        // The time is read under the lock, so that no minute is counted from after the next has begun.
        let round = Round { at: self.now(), test };
        let denied = seats.iter().zip(left_out).map(|(seat, by)| counts.denial(seat, round).or(*by));
        let denied = denied.collect();
        let verdicts = verdicts(seats, most, lead, denied);
        if !test {
            let asked = seats.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == Verdict::Asked);
            asked.for_each(|(seat, _)| counts.count(&seat.identity.key, seat.product_type, round.at, 1));
        }
        let is_short = counts.nodes.is_some() && seats.iter().any(|seat| counts.is_short(seat));
        drop(counts);
        if is_short {
            self.short.notify_one();
        }
        seats.iter().zip(&verdicts).for_each(|(seat, verdict)| count_held_back(seat, *verdict));
        (round, verdicts)
    }

    /// Gives back what asks counted that came to nothing.
    pub fn give_back<'a>(&self, round: Round, seats: impl IntoIterator<Item = (&'a str, ProductType)>) {
        if round.test {
            return;
        }
        let mut counts = self.counts.lock();
        for (partner, product_type) in seats {
            counts.count(partner, product_type, round.at, -1);
        }
    }

    /// Books a payout that was recorded.
    pub fn book(&self, posting: &Posting) {
        self.counts.lock().book(Posting { at: self.known(posting.at), ..posting.clone() });
    }

    /// Takes a payout back, on the day on which it was booked.
    pub fn take_back(&self, posting: &Posting) {
        let (at, cents) = (self.known(posting.at), -posting.cents);
        self.counts.lock().book(Posting { at, cents, ..posting.clone() });
    }

    /// Whether a seat is paused from the command line.
    pub fn is_paused(&self, seat: &Seat) -> bool {
        let counts = self.counts.lock();
        let partner = counts.partners.get(&seat.identity.key);
        partner.is_some_and(|partner| partner.paused_since(seat.product_type).is_some())
    }

    /// A time that somebody else's clock told: what is counted at a time to come would push today's out.
    fn known(&self, at: i64) -> i64 {
        at.min(self.now())
    }

    /// Takes in who is paused from the command line, as the store says. May wait for it.
    ///
    /// # Errors
    /// That the store cannot be read; who was paused stays so.
    pub fn take_in_pauses(&self, pauses: &Pauses) -> Result<(), ReadError> {
        let _pausing = self.pausing.lock();
        self.set_pauses(&pauses.read()?);
        Ok(())
    }

    /// Who is paused from the command line from now on.
    fn set_pauses(&self, pauses: &[Pause]) {
        let mut counts = self.counts.lock();
        for partner in counts.partners.values_mut() {
            partner.paused_since = None;
            partner.meters.iter_mut().for_each(|meter| meter.paused_since = None);
        }
        for Pause { partner, product_type, since } in pauses {
            match product_type {
                Some(product_type) => counts.meter(partner, *product_type).paused_since = Some(*since),
                None => counts.partner(partner).paused_since = Some(*since),
            }
        }
    }
}

fn now(clock: &Clock) -> i64 {
    i64::try_from(clock.now_us() / 1000).unwrap_or(i64::MAX)
}

/// How far back the asks lie that the caps of a book count.
fn reach(book: &Book) -> i64 {
    let of_seat = |limits: &Limits| match (limits.per_month, limits.per_week) {
        (Some(_), _) => MONTH_KEPT,
        (None, Some(_)) => WEEK_KEPT,
        (None, None) => DAY_KEPT,
    };
    book.seats().iter().map(|seat| of_seat(&seat.limits)).max().unwrap_or(DAY_KEPT)
}

impl Counts {
    /// Nothing counted yet.
    fn keeping(kept: i64) -> Self {
        Self { partners: HashMap::new(), kept, nodes: None, booked: None }
    }

    /// Adds what was asked before a time, which is not counted yet or only in part.
    fn add_older(&mut self, older: Self, before: i64) {
        for (partner, counted) in older.partners {
            let own = self.partner(&partner);
            for (meter, older) in own.meters.iter_mut().zip(counted.meters) {
                meter.add_older(older, before);
            }
        }
    }

    /// Books a payout.
    fn book(&mut self, posting: Posting) {
        self.meter(&posting.partner, posting.product_type).book(posting.at, posting.cents);
        if let Some(booked) = &mut self.booked {
            booked.push(posting);
        }
    }

    /// Whether more of a seat's caps is needed soon.
    fn is_short(&self, seat: &Seat) -> bool {
        let partner = self.partners.get(&seat.identity.key);
        partner.is_some_and(|partner| partner.meters[usize::from(seat.product_type.ordinal())].is_short())
    }

    /// Counts asks of a time; less than none are given back.
    fn count(&mut self, partner: &str, product_type: ProductType, at: i64, asks: i64) {
        let kept = self.kept;
        self.meter(partner, product_type).count(at, asks, kept);
    }

    fn partner(&mut self, partner: &str) -> &mut OfPartner {
        // Most are known, and looking is cheaper than making a key.
        if !self.partners.contains_key(partner) {
            self.partners.insert(partner.to_owned(), OfPartner::default());
        }
        self.partners.get_mut(partner).expect("was inserted")
    }

    fn meter(&mut self, partner: &str, product_type: ProductType) -> &mut Meter {
        &mut self.partner(partner).meters[usize::from(product_type.ordinal())]
    }

    /// What keeps a seat from being asked, if anything but others.
    fn denial(&mut self, seat: &Seat, round: Round) -> Option<Denied> {
        let nodes = self.nodes;
        let partner = self.partner(&seat.identity.key);
        if partner.paused_since(seat.product_type).is_some() {
            return Some(Denied::Paused);
        }
        let meter = &mut partner.meters[usize::from(seat.product_type.ordinal())];
        if round.test { None } else { meter.denial(&seat.limits, round.at, nodes) }
    }
}

impl OfPartner {
    /// Since when it is not asked about a product type, because the command line said so.
    fn paused_since(&self, product_type: ProductType) -> Option<i64> {
        self.paused_since.or(self.meters[usize::from(product_type.ordinal())].paused_since)
    }
}

fn count_held_back(seat: &Seat, verdict: Verdict) {
    if let Verdict::KeptOut(Some(by)) = verdict {
        let labels = [
            ("partner", seat.identity.key.clone()),
            ("product_type", seat.product_type.as_str().to_owned()),
            ("reason", Reason::from(by).word().to_owned()),
        ];
        counter!(SEATS_HELD_BACK, &labels).increment(1);
    }
}
