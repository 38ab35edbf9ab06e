//! The fold: follows the feeds of each company and counts their records.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use uuid::Uuid;

use super::blocks::Result;
use super::count::{CompanyTime, ReportCount};
use super::measure::{Measure, Measures};
use super::subject::{CountedLead, PartnerSeat, offer_of, partner_of};
use offerd_engine::rate_table::reason::Denied;
use offerd_engine::rate_table::summary::{CountedTable, TableSummary};
use offerd_engine::records::projection::{FEEDS, companies, first, next};
use offerd_engine::records::{Records, reading};
use offerd_model::{EventType, ProductType};
use offerd_store::entities::{Happening, HappeningDetails, LeadSummary, PayoutRecord};
use offerd_store::{FeedKey, Store, Tree};

/// How long before a payout its event may have arrived, in microseconds: both are of one commit.
const EARNED_WITHIN_US: u64 = 100_000;

/// Counts the records of the feeds.
pub struct FeedFold<'a> {
    records: &'a Records,
    count: &'a mut ReportCount,
    people: HashMap<Uuid, Arc<CountedLead>>,
    most: usize,
}

impl<'a> FeedFold<'a> {
    /// Counts into `count`, at most `most` records of each feed in a step.
    pub fn new(records: &'a Records, count: &'a mut ReportCount, most: usize) -> Self {
        Self { records, count, people: HashMap::new(), most }
    }

    /// Counts the next records of each company; returns whether there may be more. A failure undoes nothing.
    pub fn round(&mut self) -> Result<bool> {
        let mut more = false;
        for company in companies(&self.records.store) {
            more |= self.step(company)?;
        }
        Ok(more)
    }

    fn step(&mut self, company: Uuid) -> Result<bool> {
        let before = self.count.state.cursors.get(&company).copied().unwrap_or_default();
        let store = &self.records.store;
        let [events, payouts] = FEEDS;
        let events = next::<Happening>(store, (events, company, before[0]), self.most)?;
        let payouts = next::<PayoutRecord>(store, (payouts, company, before[1]), self.most)?;
        for (_, happening) in events.listed {
            self.happened(company, &happening)?;
        }
        for (arrival_us, payout) in payouts.listed {
            self.paid(company, arrival_us, &payout);
        }
        let completed = self.completed(company);
        for table in &completed {
            self.table(company, *table)?;
            self.count.state.open.remove(&(company, *table));
        }
        let after = [events.next_us, payouts.next_us];
        if after != before {
            self.count.state.cursors.insert(company, after);
        }
        Ok([events.records, payouts.records, completed.len()].contains(&self.most))
    }

    fn happened(&mut self, company: Uuid, happening: &Happening) -> Result<()> {
        // A report may be dated before its lead; it then counts on the lead's day.
        let at = happening.at.max(happening.lead_created_at);
        let when = CompanyTime { company, test: happening.test, at };
        let measure = match happening.event_type {
            EventType::LeadCreated => {
                let person = self.person(happening.lead);
                self.count.add(when, &person, None, Measures::of(Measure::Leads, 1));
                return Ok(());
            }
            EventType::AppSubmitted => return self.submitted(when, happening),
            EventType::OfferClicked => Measure::Clicks,
            EventType::Applied => Measure::Applied,
            EventType::Funded => Measure::Funded,
            _ => return Ok(()),
        };
        let place = (happening.product_type, happening.institution.as_ref());
        let measures = Measures::of_report(measure, happening.taken_back_at.is_some());
        self.reported(when, happening.lead, place, happening.details, (measure, measures));
        Ok(())
    }

    /// Counts a payout, or its reversal, on the day on which it was earned. Test leads earn nothing.
    fn paid(&mut self, company: Uuid, arrival_us: u64, payout: &PayoutRecord) {
        if payout.test {
            return;
        }
        let when = CompanyTime { company, test: false, at: payout.counts_at() };
        let place = (payout.product_type, payout.institution.as_ref());
        let details = self.earned_by(company, arrival_us, payout.uuid).unwrap_or_default();
        let measures = (Measure::Payouts, Measures::of_payout(payout.cents));
        self.reported(when, payout.lead, place, details, measures);
    }

    fn reported(
        &mut self,
        when: CompanyTime,
        lead: Uuid,
        (product_type, institution): (Option<ProductType>, Option<&(Uuid, String)>),
        HappeningDetails { offer, product_sub_type, .. }: HappeningDetails,
        (measure, measures): (Measure, Measures),
    ) {
        let person = self.person(lead);
        let institution = institution.map(|(uuid, _)| *uuid);
        let partner = partner_of(self.records, (lead, &person), offer, institution, product_type);
        if let Some(partner) = partner.as_deref().filter(|_| Measure::REPORTED.contains(&measure)) {
            self.count.state.note_reported(partner, measure);
        }
        let sub_types = product_sub_type.into_iter().collect();
        let offer = Some(offer_of(self.records, offer));
        let place = PartnerSeat { product_type, sub_types, partner, offer };
        self.count.add(when, &person, Some(&place), measures);
    }

    /// The details of the event that earned a payout, which arrived just before, in the same commit.
    fn earned_by(&self, company: Uuid, arrival_us: u64, cause: Uuid) -> Option<HappeningDetails> {
        let from_us = arrival_us.saturating_sub(EARNED_WITHIN_US);
        let near = self.records.store.feed_from::<Happening>(Tree::LeadEvents, company, from_us);
        let near = near.filter_map(Result::ok).take_while(|(key, _)| key.arrival_us < arrival_us);
        let earned = near.flat_map(|(_, listed)| listed).find(|one| one.cause == Some(cause));
        earned.map(|happening| happening.details)
    }

    /// Counts a new table. What its partners did with it counts once it is complete.
    fn submitted(&mut self, when: CompanyTime, happening: &Happening) -> Result<()> {
        let table = happening.cause;
        let head = table.and_then(|table| reading::head(&self.records.store, table).ok().flatten());
        let templates = &self.records.templates;
        let seats = head.as_ref().map_or_else(Vec::new, |head| templates.seats(head));
        let products = seats.iter().map(|seat| seat.product_type).collect();
        self.count.add_table(when, &products, Measures::of(Measure::RateTables, 1));
        let Some(head) = head else { return Ok(()) };
        for not_seated in head.not_seated.iter().filter(|one| one.by == Some(Denied::Suppressed)) {
            let product = templates.seat(not_seated.seat).iter().map(|seat| seat.product_type).collect();
            self.count.add_table(when, &product, Measures::of(Measure::Suppressed, 1));
        }
        if self.is_open(head.uuid) {
            self.count.state.open.insert((when.company, head.uuid));
            return Ok(());
        }
        self.table(when.company, head.uuid)
    }

    /// Counts the asks and offers of a complete table on its day. If it is the lead's first table, its lead
    /// counts for its partners and, if it shows no offer, as one without offers.
    fn table(&mut self, company: Uuid, table: Uuid) -> Result<()> {
        let Ok(Some(table)) = reading::counted_table(self.records, table) else { return Ok(()) };
        let CountedTable { head, summary: TableSummary { asked, offers, shown }, .. } = &table;
        self.of_first(company, &table);
        let when = CompanyTime { company, test: head.test, at: head.created_at };
        let person = self.person(head.lead);
        let seat = |seat: u16| &*table.seats[usize::from(seat)];
        let mut count = |place: PartnerSeat, measure| {
            self.count.add(when, &person, Some(&place), Measures::of(measure, 1))
        };
        asked.iter().for_each(|asked| count(PartnerSeat::of(seat(*asked)), Measure::Asks));
        for one in offers {
            let place = PartnerSeat::of_offer(seat(one.seat), one.key.as_deref(), one.product_sub_type);
            count(place, Measure::Offers);
        }
        for one in shown {
            let place = PartnerSeat::of_offer(seat(one.seat), one.key.as_deref(), one.product_sub_type);
            self.count.add_shown(when, &person, &place, one.position);
        }
        let products: BTreeSet<_> = shown.iter().map(|one| table.seat(one).product_type).collect();
        if !products.is_empty() {
            self.count.add_table(when, &products, Measures::of(Measure::WithOffers, 1));
        }
        Ok(())
    }

    fn of_first(&mut self, company: Uuid, table: &CountedTable) {
        let head = &table.head;
        let person = self.person(head.lead);
        let first = person.summary.as_ref().filter(|_| person.is_first(self.records, head));
        let Some(LeadSummary { created_at, .. }) = first else { return };
        let when = CompanyTime { company, test: head.test, at: *created_at };
        let places: Vec<PartnerSeat> = table.concerned().map(|seat| PartnerSeat::of(seat)).collect();
        self.count.add_by_partner(when, &person, &places, Measures::of(Measure::Leads, 1));
        if table.summary.shown.is_empty() {
            let one = Measures::of(Measure::WithoutOffers, 1);
            self.count.add(when, &person, None, one);
            self.count.add_by_partner(when, &person, &places, one);
        }
    }

    /// A company's tables that were open when their event was counted, and are complete now.
    fn completed(&self, company: Uuid) -> Vec<Uuid> {
        let noted = self.count.state.open.range((company, Uuid::nil())..=(company, Uuid::max()));
        noted.map(|(_, table)| *table).filter(|table| !self.is_open(*table)).take(self.most).collect()
    }

    fn is_open(&self, table: Uuid) -> bool {
        // An unreadable table may still be open.
        !matches!(self.records.store.get(Tree::OpenTables, table.as_bytes()), Ok(None))
    }

    fn person(&mut self, lead: Uuid) -> Arc<CountedLead> {
        // Bounded: a step touches few leads.
        let read = || Arc::new(CountedLead::of(self.records, lead, &self.count.rules.tags));
        Arc::clone(self.people.entry(lead).or_insert_with(read))
    }
}

/// The arrival of the first uncounted record of any company, in microseconds.
pub fn behind(store: &Store, count: &ReportCount) -> Option<u64> {
    let next = |company: Uuid, feed, from_us| {
        let start = FeedKey::first_at(company, from_us).to_bytes();
        first(store, feed, start, company.as_bytes()).map(|key| key.arrival_us)
    };
    let ahead = companies(store).into_iter().flat_map(|company| {
        let cursor = count.state.cursors.get(&company).copied().unwrap_or_default();
        FEEDS.into_iter().zip(cursor).map(move |(feed, from_us)| next(company, feed, from_us))
    });
    ahead.flatten().min()
}
