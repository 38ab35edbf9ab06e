//! The fold: follows the feeds and adds their records to the tallies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, NaiveDate};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tracing::error;
use uuid::Uuid;

use super::key::{self, TallyKey};
use super::tally::Tally;
use super::{Grain, Scope};
use crate::matching::engine::Engine;
use crate::model::{EventType, ProductType};
use crate::rate_table::denied::Denied;
use crate::rate_table::record::TableHead;
use crate::records::following::{LOOK_AGAIN, Step, companies, next, rest};
use crate::records::{Records, reading};
use crate::store::codec;
use crate::store::entities::{Happening, Payout};
use crate::store::{Commit, CommitError, FeedKey, Store, Tree};

/// Records of a feed, and tables, that a step counts at most: a few milliseconds, in which leads do without a core.
const STEP: usize = 64;

/// How far the feeds of a company are counted: the arrival of the first record that is not, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    events_us: u64,
    payouts_us: u64,
}

/// Counts the feeds of a store. There may be several; of steps that are taken at once, one counts.
#[derive(Debug, Clone)]
pub struct Fold {
    records: Records,
    /// Records that a step counts at most.
    most: usize,
}

/// A step that is not written yet.
struct Draft {
    commit: Commit,
    more: bool,
}

/// Follows the feeds for as long as the store takes commits, once this process leads. While it catches up it rests for as long as a step took, so
/// that it has half a core at most; while new work queues it has a twentieth, since the leads of the moment come first.
pub async fn keep(engine: Arc<Engine>, queueing: impl Fn() -> Duration) {
    engine.records.store.until_it_leads().await;
    let fold = Fold::of(engine.records.clone());
    loop {
        let begun = Instant::now();
        let pause = match fold.round().await {
            Ok(step) => rest(step, begun.elapsed(), queueing()),
            Err(CommitError::Busy | CommitError::Guard { .. }) => LOOK_AGAIN,
            Err(CommitError::Closed) => return,
            Err(failure) => {
                error!(%failure, "the funnel is not counted further yet; it is tried again");
                LOOK_AGAIN
            }
        };
        tokio::time::sleep(pause).await;
    }
}

impl Fold {
    /// A fold of a store.
    pub fn of(records: Records) -> Self {
        Self { records, most: STEP }
    }

    /// Like [`of`](Self::of), in steps of a size of one's own, for tests.
    pub fn in_steps_of(records: Records, most: usize) -> Self {
        Self { records, most }
    }

    /// Takes a step for each company.
    ///
    /// # Errors
    /// Why the store failed; what was counted before that stays counted.
    pub async fn round(&self) -> Result<Step, CommitError> {
        let store = self.records.store.clone();
        let companies = blocking(move || companies(&store)).await?;
        let mut did = Step::Nothing;
        for company in companies {
            did = match (did, self.step(company).await?) {
                (Step::More, _) | (_, Step::More) => Step::More,
                (Step::Nothing, Step::Nothing) => Step::Nothing,
                _ => Step::CaughtUp,
            };
        }
        Ok(did)
    }

    /// Counts the next records of a company's feeds, and the offers of its tables that have completed.
    ///
    /// # Errors
    /// Why the store failed; nothing is counted then.
    pub async fn step(&self, company: Uuid) -> Result<Step, CommitError> {
        let fold = self.clone();
        let Some(Draft { commit, more }) = blocking(move || fold.draft(company)).await?? else {
            return Ok(Step::Nothing);
        };
        self.records.store.commit(commit).await?;
        Ok(if more { Step::More } else { Step::CaughtUp })
    }

    /// What is to be written next, if anything.
    fn draft(&self, company: Uuid) -> Result<Option<Draft>, CommitError> {
        // First of all, so that nothing is read that another step may change unnoticed.
        let commit = self.one_step()?;
        let before = cursor(&self.records.store, company)?;
        let mut sums = Sums::default();
        let mut marks = Marks::default();

        let store = &self.records.store;
        let events = next::<Happening>(store, (Tree::LeadEvents, company, before.events_us), self.most);
        for happening in &events.listed {
            match happening.taken_back_at {
                Some(_) => take_back(company, happening, &mut sums),
                None => self.count(company, happening, &mut sums, &mut marks),
            }
        }
        let payouts = next::<Payout>(store, (Tree::LeadPayouts, company, before.payouts_us), self.most);
        for payout in &payouts.listed {
            let whose = Whose { company, test: false, day: day_of(payout.counts_at()) };
            sums.add(whose, payout.product_type, Tally::of_payout(payout.cents));
        }
        let completed = self.completed(company);
        for table in &completed {
            self.count_offers(company, *table, &mut sums);
            marks.completed.push(*table);
        }

        let after = Cursor { events_us: events.next_us, payouts_us: payouts.next_us };
        if after == before && completed.is_empty() {
            return Ok(None);
        }
        let more = [events.records, payouts.records, completed.len()].contains(&self.most);
        let commit = marks.write(commit, company);
        let commit = commit.put(Tree::Funnel, key::cursor(company), codec::encode(&after));
        Ok(Some(Draft { commit: sums.write(commit, &self.records.store)?, more }))
    }

    /// Counts what happened to a lead.
    fn count(&self, company: Uuid, happening: &Happening, sums: &mut Sums, marks: &mut Marks) {
        let whose = Whose::of(company, happening);
        let one = |stage: fn(&mut Tally) -> &mut u64| {
            let mut tally = Tally::default();
            *stage(&mut tally) = 1;
            tally
        };
        match happening.event_type {
            EventType::LeadCreated => {
                let asked_for = self.asked_for(happening.lead);
                sums.add_each(whose, asked_for, one(|tally| &mut tally.leads));
            }
            EventType::AppSubmitted => {
                let head = |table| reading::head(&self.records.store, table).ok().flatten();
                let head = happening.cause.and_then(head);
                let products = head.as_ref().map(|head| self.products(head)).unwrap_or_default();
                sums.add_each(whose, products, one(|tally| &mut tally.rate_tables));
                if let Some(head) = head {
                    self.count_suppressed(whose, &head, sums);
                    if self.is_open(head.uuid) {
                        marks.opened.push(head.uuid);
                    } else {
                        self.count_offers(company, head.uuid, sums);
                    }
                }
            }
            EventType::OfferClicked => {
                sums.add(whose, happening.product_type, one(|tally| &mut tally.clicks));
            }
            EventType::Applied | EventType::Funded => {
                sums.add(whose, happening.product_type, reported(happening.event_type, 1));
            }
            _ => {}
        }
    }

    /// Counts the seats that suppression lists kept from a table.
    fn count_suppressed(&self, whose: Whose, head: &TableHead, sums: &mut Sums) {
        for kept_out in head.kept_out.iter().filter(|kept_out| kept_out.by == Some(Denied::Suppressed)) {
            let seat = self.records.templates.seat(kept_out.seat).ok();
            let one = Tally { suppressed: 1, ..Tally::default() };
            sums.add(whose, seat.map(|seat| seat.product_type), one);
        }
    }

    /// Counts the offers of a table that has completed; one whose lead is erased has none any more.
    fn count_offers(&self, company: Uuid, table: Uuid, sums: &mut Sums) {
        let Ok(Some(table)) = reading::table(&self.records, table) else { return };
        let head = table.head();
        let whose = Whose { company, test: head.test, day: day_of(head.created_at) };
        let mut offers: BTreeMap<ProductType, u64> = BTreeMap::new();
        for (seat, _) in table.shown() {
            *offers.entry(seat.product_type).or_default() += 1;
        }
        let shown = |offers: u64| Tally { with_offers: 1, offers, ..Tally::default() };
        if !offers.is_empty() {
            sums.add_in(whose, None, shown(offers.values().sum()));
        }
        for (product_type, offers) in offers {
            sums.add_in(whose, Some(product_type), shown(offers));
        }
    }

    /// What a lead asks for; nothing of one that is erased.
    fn asked_for(&self, lead: Uuid) -> BTreeSet<ProductType> {
        let Ok(Some(record)) = reading::lead(&self.records.store, lead) else { return BTreeSet::new() };
        let all = ProductType::ALL.iter().copied();
        all.filter(|product_type| record.lead.asks_for(*product_type)).collect()
    }

    /// What the partners of a table were asked about.
    fn products(&self, head: &TableHead) -> BTreeSet<ProductType> {
        let seats = head.seats.iter().filter_map(|seat| self.records.templates.seat(*seat).ok());
        seats.map(|seat| seat.product_type).collect()
    }

    /// The tables of a company that were open when they were met, and are not any more.
    fn completed(&self, company: Uuid) -> Vec<Uuid> {
        let noted = self.records.store.scan(Tree::Funnel, key::open_tables(company)).filter_map(Result::ok);
        let noted = noted.filter_map(|(key, _)| key::table_of(&key));
        noted.filter(|table| !self.is_open(*table)).take(self.most).collect()
    }

    fn is_open(&self, table: Uuid) -> bool {
        // What cannot be read may still be open.
        !matches!(self.records.store.get(Tree::OpenTables, table.as_bytes()), Ok(None))
    }

    /// A commit that is written only if no other step was since.
    fn one_step(&self) -> Result<Commit, CommitError> {
        let commit = match self.records.store.get(Tree::Funnel, key::STEPS).map_err(unreadable)? {
            Some(taken) => Commit::new().unchanged(Tree::Funnel, key::STEPS, taken),
            None => Commit::new().absent(Tree::Funnel, key::STEPS),
        };
        let taken: u64 = read(&self.records.store, key::STEPS)?;
        Ok(commit.put(Tree::Funnel, key::STEPS, codec::encode(&(taken + 1))))
    }
}

/// Applications or fundings; of what no partner reports nothing.
fn reported(event_type: EventType, count: i64) -> Tally {
    match event_type {
        EventType::Applied => Tally { applied: count, ..Tally::default() },
        EventType::Funded => Tally { funded: count, ..Tally::default() },
        _ => Tally::default(),
    }
}

/// Takes back what was reported, on the day that it was counted on.
fn take_back(company: Uuid, happening: &Happening, sums: &mut Sums) {
    let whose = Whose::of(company, happening);
    sums.add(whose, happening.product_type, reported(happening.event_type, -1));
}

/// Whose, and of which day.
#[derive(Debug, Clone, Copy)]
struct Whose {
    company: Uuid,
    test: bool,
    day: NaiveDate,
}

impl Whose {
    /// Of what happened to a lead: nothing does before there is one, whatever was reported.
    fn of(company: Uuid, happening: &Happening) -> Self {
        let at = happening.at.max(happening.lead_created_at);
        Self { company, test: happening.test, day: day_of(at) }
    }
}

/// What is to be added, by place.
#[derive(Debug, Default)]
struct Sums(BTreeMap<TallyKey, Tally>);

impl Sums {
    /// Adds to the whole, and to a product type where there is one.
    fn add(&mut self, whose: Whose, product_type: Option<ProductType>, tally: Tally) {
        self.add_each(whose, product_type, tally);
    }

    /// Adds to the whole once, and to each product type.
    fn add_each(&mut self, whose: Whose, products: impl IntoIterator<Item = ProductType>, tally: Tally) {
        self.add_in(whose, None, tally);
        for product_type in products {
            self.add_in(whose, Some(product_type), tally);
        }
    }

    /// Adds to one product type, or to the whole: of the company and of all companies, to the day and to the month.
    fn add_in(&mut self, whose: Whose, product_type: Option<ProductType>, tally: Tally) {
        let Whose { company, test, day } = whose;
        for company in [Some(company), None] {
            for grain in [Grain::Day, Grain::Month] {
                let place = TallyKey::of(Scope { test, company, product_type }, grain, day);
                let sum = self.0.entry(place).or_default();
                *sum = sum.plus(tally);
            }
        }
    }

    fn write(self, commit: Commit, store: &Store) -> Result<Commit, CommitError> {
        self.0.into_iter().try_fold(commit, |commit, (place, tally)| {
            let key = place.key();
            let found = store.read::<Tally>(Tree::Funnel, &key).map_err(unreadable)?.unwrap_or_default();
            Ok(commit.put(Tree::Funnel, key, codec::encode(&found.plus(tally))))
        })
    }
}

/// Tables whose offers are to be counted later, and tables whose offers have been.
#[derive(Debug, Default)]
struct Marks {
    opened: Vec<Uuid>,
    completed: Vec<Uuid>,
}

impl Marks {
    fn write(self, commit: Commit, company: Uuid) -> Commit {
        let commit = self.opened.iter().fold(commit, |commit, table| {
            commit.put(Tree::Funnel, key::open_table(company, *table), Vec::new())
        });
        self.completed
            .iter()
            .fold(commit, |commit, table| commit.remove(Tree::Funnel, key::open_table(company, *table)))
    }
}

/// The arrival of the first record of a company that is not counted yet, in microseconds.
pub fn behind(store: &Store, company: Uuid) -> Option<u64> {
    let Cursor { events_us, payouts_us } = cursor(store, company).unwrap_or_default();
    let next = |feed: Tree, from_us: u64| {
        let start = FeedKey::first_at(company, from_us).to_bytes();
        let (key, _) = store.scan_from(feed, start, company).next()?.ok()?;
        FeedKey::parse(&key).map(|key| key.arrival_us)
    };
    let ahead = [next(Tree::LeadEvents, events_us), next(Tree::LeadPayouts, payouts_us)];
    ahead.into_iter().flatten().min()
}

fn cursor(store: &Store, company: Uuid) -> Result<Cursor, CommitError> {
    read(store, &key::cursor(company))
}

/// A record of the funnel. One that cannot be read is never taken for none, or what is counted would be counted again.
fn read<T: DeserializeOwned + Default>(store: &Store, key: &[u8]) -> Result<T, CommitError> {
    Ok(store.read(Tree::Funnel, key).map_err(unreadable)?.unwrap_or_default())
}

fn unreadable(reason: impl Display) -> CommitError {
    CommitError::Failed(format!("a record of the funnel cannot be read: {reason}"))
}

fn day_of(millis: i64) -> NaiveDate {
    DateTime::from_timestamp_millis(millis).unwrap_or_default().date_naive()
}

/// Reads on a thread that may block.
async fn blocking<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Result<T, CommitError> {
    tokio::task::spawn_blocking(read).await.map_err(|error| CommitError::Failed(error.to_string()))
}
