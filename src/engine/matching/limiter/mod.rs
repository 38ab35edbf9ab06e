//! The limiter: decides which fitting seats are asked, and counts the asks.
//!
//! A seat counts once per table: when the table is written with the seat asked, or when second look starts
//! ([`LaterDecisions`](crate::rate_table::record::LaterDecisions)). A restart restores the counts from the
//! records (`recount`).
//!
//! Where several nodes share a store, each has a [`batch`] of every daily, weekly and monthly cap and an
//! equal part of every cap per minute ([`cap_sharing`](super::cap_sharing)).

pub mod batch;
mod meter;
mod recount;
mod seat_status;
mod shares;

use std::collections::HashMap;

use metrics::counter;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use uuid::Uuid;

use meter::{DAY_KEPT, Meter, kept};
pub use seat_status::{LimitUse, SeatStatus, State};

use crate::rate_table::reason::{Denied, Reason};
use crate::rate_table::seating::{Verdict, verdicts};
use crate::records::Records;
use crate::records::postings::Posting;
use offerd_base::telemetry::metrics::SEATS_DENIED;
use offerd_model::ProductType;
use offerd_partners::limits::declared::Period;
use offerd_partners::{Book, Seat};
use offerd_store::pauses::{Pause, Pauses};
use offerd_store::{Clock, ReadError};

/// Counts the asks of seats and what their leads earn. Shared by everything that asks.
#[derive(Debug)]
pub struct Limiter {
    counts: Mutex<LimiterCounts>,
    /// Serialises read-then-publish of pauses, so a stale read never overwrites a newer one.
    pausing: Mutex<()>,
    /// Notified when more of a cap is needed soon.
    pub(super) short: Notify,
    grants_lock: Semaphore,
    clock: Clock,
}

/// Seats that were judged together, and the time that their asks count for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimiterRound {
    /// When, Unix milliseconds.
    pub at: i64,
    /// Whether the lead is a test: not counted, limited only by pauses, exclusivity and suppression lists.
    pub test: bool,
}

#[derive(Debug)]
struct LimiterCounts {
    partners: HashMap<String, PartnerCounts>,
    kept: i64,
    nodes: Option<u32>,
    /// Postings since a running recount of budgets began, if there is one.
    new_postings: Option<Vec<Posting>>,
}

#[derive(Debug, Default)]
struct PartnerCounts {
    /// The pause of the whole partner, if an operator has paused it.
    pause: Option<Pause>,
    meters: [Meter; ProductType::ALL.len()],
}

impl Limiter {
    /// A limiter with the counts restored from the store, as far back as the book's caps reach.
    pub fn of(records: &Records, book: &Book, clock: Clock) -> Self {
        let limiter = Self {
            counts: Mutex::new(recount::recount(records, now(&clock), reach(book))),
            pausing: Mutex::default(),
            short: Notify::new(),
            grants_lock: Semaphore::new(1),
            clock,
        };
        limiter.set_pauses(&Pauses::of(records.store.clone()).list());
        limiter
    }

    /// Counts older asks where the caps of a new book reach further back; asks go on meanwhile.
    pub fn look_back(&self, records: &Records, book: &Book) {
        let reach = reach(book);
        let counted = {
            let mut counts = self.counts.lock();
            let longest = counts.kept.max(reach);
            std::mem::replace(&mut counts.kept, longest)
        };
        if reach > counted {
            let now = self.now();
            let first = recount::first_kept(now, counted);
            let (older, _) = recount::recount_asks(records, now - reach..first, reach);
            self.counts.lock().add_older(older, first);
        }
    }

    fn now(&self) -> i64 {
        now(&self.clock)
    }

    /// Decides which seats are asked, at most `most`, and counts them. `left_out` is independent of counts.
    pub fn judge_seats(
        &self,
        test: bool,
        lead: Uuid,
        most: usize,
        seats: &[&Seat],
        left_out: &[Option<Denied>],
    ) -> (LimiterRound, Vec<Verdict>) {
        let mut counts = self.counts.lock();
        // The time is read under the lock, so no ask counts for a minute that has already ended.
        let round = LimiterRound { at: self.now(), test };
        let denied = seats.iter().zip(left_out).map(|(seat, by)| counts.denial(seat, round).or(*by));
        let verdicts = verdicts(seats, most, lead, denied.collect());
        if !test {
            let asked = seats.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == Verdict::Seated);
            asked.for_each(|(seat, _)| counts.count(&seat.identity.key, seat.product_type, round.at, 1));
        }
        let is_short = counts.nodes.is_some() && seats.iter().any(|seat| counts.is_short(seat));
        drop(counts);
        if is_short {
            self.short.notify_one();
        }
        seats.iter().zip(&verdicts).for_each(|(seat, verdict)| count_denial(seat, *verdict));
        (round, verdicts)
    }

    /// Returns the counts of asks that were never made.
    pub fn give_back<'a>(&self, round: LimiterRound, all: impl IntoIterator<Item = (&'a str, ProductType)>) {
        if round.test {
            return;
        }
        let mut counts = self.counts.lock();
        for (partner, product_type) in all {
            counts.count(partner, product_type, round.at, -1);
        }
    }

    /// Adds a recorded payout, now if its time is in the future: that would displace today's count.
    pub fn add_payout(&self, posting: &Posting) {
        let at = posting.at.min(self.now());
        self.counts.lock().add_payout(Posting { at, ..posting.clone() });
    }

    /// Reverses a payout on the day that it was added to.
    pub fn reverse_payout(&self, posting: &Posting) {
        self.add_payout(&Posting { cents: -posting.cents, ..posting.clone() });
    }

    /// Whether a seat is paused by an operator.
    pub fn is_paused(&self, seat: &Seat) -> bool {
        let counts = self.counts.lock();
        let partner = counts.partners.get(&seat.identity.key);
        partner.is_some_and(|partner| partner.pause(seat.product_type).is_some())
    }

    /// Reads the pauses from the store and applies them. May block.
    ///
    /// # Errors
    /// [`ReadError`] when the store cannot be read; the pauses stay as they were.
    pub fn take_in_pauses(&self, pauses: &Pauses) -> Result<(), ReadError> {
        let _pausing = self.pausing.lock();
        self.set_pauses(&pauses.read()?);
        Ok(())
    }

    fn set_pauses(&self, pauses: &[Pause]) {
        let mut counts = self.counts.lock();
        for partner in counts.partners.values_mut() {
            partner.pause = None;
            partner.meters.iter_mut().for_each(|meter| meter.pause = None);
        }
        for pause in pauses {
            let of_what = match pause.product_type {
                Some(product_type) => &mut counts.meter(&pause.partner, product_type).pause,
                None => &mut counts.partner(&pause.partner).pause,
            };
            *of_what = Some(pause.clone());
        }
    }
}

pub(super) fn now(clock: &Clock) -> i64 {
    i64::try_from(clock.now_us() / 1000).unwrap_or(i64::MAX)
}

fn reach(book: &Book) -> i64 {
    let is_capped = |period: &Period| book.seats().iter().any(|seat| period.cap(&seat.limits).is_some());
    Period::ALL.into_iter().filter(is_capped).map(kept).max().unwrap_or(DAY_KEPT)
}

impl LimiterCounts {
    fn keeping(kept: i64) -> Self {
        Self { partners: HashMap::new(), kept, nodes: None, new_postings: None }
    }

    /// Adds asks from before a time that were not, or only partly, counted.
    fn add_older(&mut self, older: Self, before: i64) {
        for (partner, counted) in older.partners {
            for (meter, older) in self.partner(&partner).meters.iter_mut().zip(counted.meters) {
                meter.add_older(older, before);
            }
        }
    }

    fn add_payout(&mut self, posting: Posting) {
        self.meter(&posting.partner, posting.product_type).add_payout(posting.at, posting.cents);
        if let Some(new_postings) = &mut self.new_postings {
            new_postings.push(posting);
        }
    }

    fn is_short(&self, seat: &Seat) -> bool {
        let partner = self.partners.get(&seat.identity.key);
        partner.is_some_and(|partner| partner.meters[usize::from(seat.product_type.ordinal())].is_short())
    }

    /// Counts asks at a time; a negative number returns some.
    fn count(&mut self, partner: &str, product_type: ProductType, at: i64, asks: i64) {
        let kept = self.kept;
        self.meter(partner, product_type).count(at, asks, kept);
    }

    fn partner(&mut self, partner: &str) -> &mut PartnerCounts {
        // Most partners are known, and a look-up is cheaper than a new key.
        if !self.partners.contains_key(partner) {
            self.partners.insert(partner.to_owned(), PartnerCounts::default());
        }
        self.partners.get_mut(partner).expect("was inserted")
    }

    fn meter(&mut self, partner: &str, product_type: ProductType) -> &mut Meter {
        &mut self.partner(partner).meters[usize::from(product_type.ordinal())]
    }

    /// What keeps a seat from being asked, apart from other seats.
    fn denial(&mut self, seat: &Seat, round: LimiterRound) -> Option<Denied> {
        let nodes = self.nodes;
        let partner = self.partner(&seat.identity.key);
        if partner.pause(seat.product_type).is_some() {
            return Some(Denied::Paused);
        }
        let meter = &mut partner.meters[usize::from(seat.product_type.ordinal())];
        if round.test { None } else { meter.denial(&seat.limits, round.at, nodes) }
    }
}

impl PartnerCounts {
    fn pause(&self, product_type: ProductType) -> Option<&Pause> {
        self.pause.as_ref().or(self.meters[usize::from(product_type.ordinal())].pause.as_ref())
    }
}

fn count_denial(seat: &Seat, verdict: Verdict) {
    if let Verdict::NotSeated(Some(by)) = verdict {
        let labels = [
            ("partner", seat.identity.key.clone()),
            ("product_type", seat.product_type.as_str().to_owned()),
            ("reason", Reason::from(by).word().to_owned()),
        ];
        counter!(SEATS_DENIED, &labels).increment(1);
    }
}
