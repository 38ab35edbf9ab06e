//! This node's grants of caps and budgets, where other nodes use the same store.

use std::collections::BTreeMap;

use tokio::sync::SemaphorePermit;
use uuid::Uuid;

use super::batch::{CapBatch, CapGrants, CapRead, GrantRequest, SeatCap};
use super::recount::{recount_postings, recount_since};
use super::{Limiter, LimiterCounts};
use crate::records::Records;
use crate::records::postings::Posting;
use offerd_model::ProductType;
use offerd_partners::Book;
use offerd_partners::limits::declared::Period;
use offerd_store::ReadError;

const AHEAD: i64 = 5_000;

/// How long after a period its batch is kept for returned asks, milliseconds.
const BEHIND: i64 = 60_000;

/// Asks counted from the records.
#[derive(Debug)]
pub struct CountedAsks(LimiterCounts);

impl CountedAsks {
    /// The asks of a cap.
    pub fn of(&mut self, SeatCap { partner, product_type, span, .. }: &SeatCap) -> u32 {
        self.0.meter(partner, *product_type).asked_in(span)
    }
}

impl Limiter {
    /// Shares caps among this many nodes from now on.
    pub fn share_among(&self, nodes: u32) {
        self.counts.lock().nodes = Some(nodes.max(1));
    }

    /// The caps whose records are due to be read, with the wish for each. Drops the batches of past periods.
    pub fn due(&self, book: &Book, nodes: u32) -> Vec<(SeatCap, GrantRequest)> {
        let at = self.now();
        // Look up days in time zones before taking the lock that leads wait for.
        let caps = caps_at(book, [at, at + AHEAD]);
        let mut counts = self.counts.lock();
        let meters = counts.partners.values_mut().flat_map(|partner| &mut partner.meters);
        meters.for_each(|meter| meter.batches.retain(|batch| batch.span.end + BEHIND > at));
        let wish = |(capped, cap): (SeatCap, u32)| {
            let wish = counts.batch(&capped, at).wish(at, cap, nodes)?;
            Some((capped, wish))
        };
        caps.into_values().filter_map(wish).collect()
    }

    /// Records how many asks were made here.
    pub fn note(&self, capped: &SeatCap, node: Uuid, record: &mut CapGrants) {
        record.note(node, self.counts.lock().batch(capped, self.now()).asked);
    }

    /// Sets this node's grant in a record. Asks to be returned stop counting as granted at once.
    pub fn wish(&self, capped: &SeatCap, wish: GrantRequest, node: Uuid, record: &mut CapGrants) {
        let mut counts = self.counts.lock();
        let batch = counts.batch(capped, self.now());
        // The record is authoritative if the response to an earlier change was lost.
        batch.granted = record.granted(node);
        record.hold(node, batch.asked, wish);
        batch.granted = batch.granted.min(record.granted(node));
    }

    /// Applies a record that is in the store.
    pub fn hold(&self, capped: &SeatCap, wish: GrantRequest, node: Uuid, record: &CapGrants) {
        let now = self.now();
        let mut counts = self.counts.lock();
        let batch = counts.batch(capped, now);
        batch.granted = record.granted(node);
        batch.by_others = record.asked_by_others(node);
        let asked = record.grants.iter().find(|grant| grant.node == node).map_or(0, |grant| grant.asked);
        let left = batch.left();
        batch.read = Some(CapRead { at: now, cap: wish.cap, nodes: wish.nodes, asked, left });
        // The next exhausted ask sets it again.
        batch.is_wanted = false;
    }

    /// Drops all batches; returns each with its asks.
    pub fn let_go(&self) -> Vec<(SeatCap, u32)> {
        let mut counts = self.counts.lock();
        let mut held = Vec::new();
        for (partner, of_partner) in &mut counts.partners {
            for (product_type, meter) in ProductType::ALL.iter().copied().zip(&mut of_partner.meters) {
                held.extend(meter.batches.drain(..).map(|batch| {
                    let CapBatch { period, span, asked, .. } = batch;
                    (SeatCap { partner: partner.clone(), product_type, period, span }, asked)
                }));
            }
        }
        held
    }

    /// The exclusive right to change grants of caps.
    pub async fn lock_grants(&self) -> SemaphorePermit<'_> {
        self.grants_lock.acquire().await.expect("it is never closed")
    }

    /// Counts the asks since a time from the records. Takes as long as reading the tables of that time.
    pub fn counted(&self, records: &Records, since: i64) -> Result<CountedAsks, ReadError> {
        let now = self.now();
        let (counts, whole) = recount_since(records, since.min(now), now);
        whole.map(|()| CountedAsks(counts))
    }

    /// Recomputes budgets from the records, including those of other nodes.
    ///
    /// # Errors
    /// [`ReadError`] when the store cannot be read; budgets stay as they were.
    pub fn sum_up(&self, records: &Records) -> Result<(), ReadError> {
        self.counts.lock().new_postings = Some(Vec::new());
        let mut summed = LimiterCounts::keeping(0);
        let whole = recount_postings(records, self.now(), &mut summed);
        let mut counts = self.counts.lock();
        let new_postings = counts.new_postings.take().unwrap_or_default();
        whole?;
        // A partner without earnings in the sum has none any more.
        for partner in counts.partners.keys() {
            summed.partner(partner);
        }
        for (partner, other) in summed.partners {
            let own = counts.partner(&partner).meters.iter_mut();
            own.zip(other.meters).for_each(|(own, other)| own.take_posted(other));
        }
        // Some may be in the sum already and count twice until the next recount.
        new_postings.into_iter().for_each(|posting: Posting| counts.add_payout(posting));
        Ok(())
    }
}

fn caps_at(book: &Book, times: [i64; 2]) -> BTreeMap<Vec<u8>, (SeatCap, u32)> {
    let mut caps = BTreeMap::new();
    for seat in book.seats() {
        let of_seat = Period::ALL.into_iter().filter_map(|period| Some((period, period.cap(&seat.limits)?)));
        for ((period, cap), at) in of_seat.flat_map(|capped| times.map(|at| (capped, at))) {
            let (partner, product_type) = (seat.identity.key.clone(), seat.product_type);
            let capped = SeatCap { partner, product_type, period, span: period.span(&seat.limits, at) };
            caps.insert(capped.key(), (capped, cap));
        }
    }
    caps
}

impl LimiterCounts {
    fn batch(&mut self, capped: &SeatCap, now: i64) -> &mut CapBatch {
        let batches = &mut self.meter(&capped.partner, capped.product_type).batches;
        let is_it = |batch: &CapBatch| batch.period == capped.period && batch.span == capped.span;
        let place = batches.iter().position(is_it).unwrap_or_else(|| {
            batches.push(CapBatch::empty(capped, now));
            batches.len() - 1
        });
        &mut batches[place]
    }
}
