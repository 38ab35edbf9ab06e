//! The count of one time zone: its stored state, and the cells since the last write.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use chrono::NaiveDate;
use chrono_tz::Tz;
use metrics::{counter, gauge};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tracing::warn;
use uuid::Uuid;

use super::SLOTS_MAX;
use super::blocks::{self, unreadable};
use super::cells::{CompanyDay, ItemValues, ReportCells};
use super::dimension::{CellDimensions, DimensionSlot, TAGS_MAX};
use super::key::{self, CompanyPeriod, CountSpace};
use super::measure::{Measure, Measures};
use super::names::{NONE, Names, OTHER, UNKNOWN};
use super::subject::{CountedLead, PartnerSeat};
use crate::sheet::figures;
use offerd_base::config::ReportSettings;
use offerd_base::telemetry::metrics::{REPORT_CELLS, REPORT_TAGS_BEYOND};
use offerd_model::ProductType;
use offerd_store::{Commit, CommitError, ReadError, Store, Tree, codec};

/// The most values of a dimension other than a tag; more than any can have.
const VALUES_MAX: usize = 100_000;

/// How often the count is written for nodes that report from the store; less often where writing would take
/// more than one part in [`WRITES_A_PART`] of the time.
const FOR_OTHERS_EVERY: Duration = Duration::from_secs(3);
const WRITES_A_PART: u32 = 20;

/// A count with its progress.
#[derive(Debug)]
pub struct ReportCount {
    /// Its key space.
    pub space: CountSpace,
    /// The generation in force when this count was loaded; its own, unless that one was damaged.
    in_force: u32,
    /// Its progress.
    pub state: CountState,
    /// What is counted.
    pub rules: Arc<ReportSettings>,
    stored: Option<Vec<u8>>,
    names: HashMap<(Uuid, DimensionSlot), Names>,
    /// Cells not known to be written.
    pub pending: ReportCells,
    written_at: Instant,
    /// The duration of the last write.
    pub wrote_for: Duration,
}

/// The company and time under which something counts.
#[derive(Debug, Clone, Copy)]
pub struct CompanyTime {
    /// The company.
    pub company: Uuid,
    /// Whether the lead is a test.
    pub test: bool,
    /// The time, in Unix milliseconds.
    pub at: i64,
}

/// The progress of a count, committed together with the cells: a crash neither loses nor repeats a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountState {
    /// The number of writes, which numbers the next part.
    pub writes: u32,
    /// The cursors of each company in its [feeds](offerd_engine::records::projection::FEEDS): the arrival of
    /// the first uncounted record, in microseconds.
    pub cursors: BTreeMap<Uuid, [u64; 2]>,
    /// Rate tables, by company, that were open at their event. They count once they are complete.
    pub open: BTreeSet<(Uuid, Uuid)>,
    /// The counted tags, in the order of their slots.
    pub tags: Vec<String>,
    /// The measures that each partner ever reported, a bit for each; by the partner's key.
    pub reported: BTreeMap<String, u8>,
}

/// A commit of a count, with the encoded state that it writes.
pub type CountCommit = (Commit, Vec<u8>);

impl ReportCount {
    /// Loads the count in force of a zone; an empty one if the store has none.
    ///
    /// # Errors
    /// The count cannot be read.
    pub fn load(store: &Store, zone: Tz, rules: Arc<ReportSettings>) -> Result<Self, CommitError> {
        let in_force = Self::generation_in_force(store, zone)?;
        let space = CountSpace { zone, generation: in_force };
        let count = Self::of(store, space, Arc::clone(&rules));
        let is_lost = match &count {
            Ok(count) => count.stored.is_none() && store.scan(Tree::Reports, space.blocks()).next().is_some(),
            Err(error) => matches!(error, ReadError::Broken(_)),
        };
        if !is_lost {
            return count.map_err(unreadable);
        }
        // Its cursors are lost, so going on with it would count records twice.
        warn!(zone = zone.name(), "the report counts are damaged; rebuilding them from the records");
        let anew = CountSpace { generation: in_force.wrapping_add(1), ..space };
        let anew = Self::of(store, anew, rules).map_err(unreadable)?;
        Ok(Self { in_force, ..anew })
    }

    fn generation_in_force(store: &Store, zone: Tz) -> Result<u32, CommitError> {
        Ok(store.read(Tree::Reports, key::in_force(zone)).map_err(unreadable)?.unwrap_or(0))
    }

    /// Whether the zone's generation in force has not changed since this count was loaded.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn is_in_force(&self, store: &Store) -> Result<bool, CommitError> {
        Ok(Self::generation_in_force(store, self.space.zone)? == self.in_force)
    }

    /// Loads a given generation of a zone's count.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn of(store: &Store, space: CountSpace, rules: Arc<ReportSettings>) -> Result<Self, ReadError> {
        let stored = store.get(Tree::Reports, space.state())?;
        let mut state = match &stored {
            Some(bytes) => store.decode(Tree::Reports, &space.state(), bytes)?,
            None => CountState::default(),
        };
        for tag in &rules.tags {
            if !state.tags.contains(tag) && state.tags.len() < TAGS_MAX {
                state.tags.push(tag.clone());
            }
        }
        let mut names: HashMap<(Uuid, DimensionSlot), Names> = HashMap::new();
        for record in store.scan(Tree::Reports, space.names()) {
            let (key, bytes) = record?;
            let Some((place, first)) = space.names_of(&key) else { continue };
            let some = store.decode(Tree::Reports, &key, &bytes)?;
            names.entry(place).or_default().load(first, some);
        }
        let (in_force, pending) = (space.generation, ReportCells::default());
        let (written_at, wrote_for) = (Instant::now(), Duration::ZERO);
        Ok(Self { space, in_force, state, rules, stored, names, pending, written_at, wrote_for })
    }

    /// The names of a dimension at a company.
    pub fn names(&self, company: Uuid, slot: DimensionSlot) -> &Names {
        static NO_OWN: LazyLock<Names> = LazyLock::new(Names::default);
        self.names.get(&(company, slot)).unwrap_or(&NO_OWN)
    }

    /// The values of a dimension that were counted at any company.
    pub fn known(&self, slot: DimensionSlot) -> BTreeSet<&str> {
        let of_slot = self.names.iter().filter(|((_, of), _)| *of == slot);
        of_slot.flat_map(|(_, names)| names.names.iter().map(|name| &**name)).collect()
    }

    /// The day of a time in this count's zone.
    pub fn day(&self, at: i64) -> NaiveDate {
        figures::day(at, self.space.zone)
    }

    fn at(&self, CompanyTime { company, test, at }: CompanyTime) -> CompanyDay {
        CompanyDay { company, test, day: self.day(at) }
    }

    /// Counts something about a lead and, if given, a partner's seat.
    pub fn add(&mut self, at: CompanyTime, of: &CountedLead, seat: Option<&PartnerSeat>, measures: Measures) {
        let values = self.values(at.company, of, seat);
        self.pending.add(self.at(at), &values, measures);
    }

    /// Counts an offer that is shown, with its position in the dimensions of offers.
    pub fn add_shown(&mut self, when: CompanyTime, of: &CountedLead, offer: &PartnerSeat, position: u16) {
        let values = self.values(when.company, of, Some(offer));
        let at = self.at(when);
        self.pending.add(at, &values, Measures::of(Measure::Shown, 1));
        let position = Measures::of(Measure::Positions, position.into());
        self.pending.add_once(at, &[values], CellDimensions::is_of_offers, position);
    }

    /// Counts something about a rate table: in the whole, and once for each product type of its seats.
    pub fn add_table(&mut self, when: CompanyTime, products: &BTreeSet<ProductType>, measures: Measures) {
        let ids = products.iter().map(|it| self.id(when.company, DimensionSlot::PRODUCT, it.as_str()));
        let values = ItemValues(vec![ids.collect()]);
        self.pending.add(self.at(when), &values, measures);
    }

    /// Counts a lead by the partners that have seats at its first table, once for each value.
    pub fn add_by_partner(
        &mut self,
        at: CompanyTime,
        of: &CountedLead,
        seats: &[PartnerSeat],
        measures: Measures,
    ) {
        let values: Vec<_> = seats.iter().map(|seat| self.values(at.company, of, Some(seat))).collect();
        let is_by_partner =
            |kind: CellDimensions| kind.has(DimensionSlot::PARTNER) || kind.has(DimensionSlot::SUB_TYPE);
        self.pending.add_once(self.at(at), &values, is_by_partner, measures);
    }

    /// The ids of an item's values. A lead without a seat has no partner, and the product types it asks for.
    fn values(&mut self, company: Uuid, person: &CountedLead, seat: Option<&PartnerSeat>) -> ItemValues {
        let lead = if person.summary.is_some() { NONE } else { UNKNOWN };
        let of_person = if person.is_erased { UNKNOWN } else { NONE };
        let mut slots = vec![Vec::new(); usize::from(DimensionSlot::tag(self.state.tags.len()).0)];
        let mut set = |slot: DimensionSlot, ids: Vec<u32>| slots[usize::from(slot.0)] = ids;
        match seat {
            Some(place) => {
                let product = place.product_type.iter().map(|product| product.as_str());
                set(DimensionSlot::PRODUCT, self.ids(company, DimensionSlot::PRODUCT, product, NONE));
                let sub_types = place.sub_types.iter().map(|sub_type| sub_type.as_str());
                set(DimensionSlot::SUB_TYPE, self.ids(company, DimensionSlot::SUB_TYPE, sub_types, NONE));
                let partner = place.partner.iter().map(String::as_str);
                set(DimensionSlot::PARTNER, self.ids(company, DimensionSlot::PARTNER, partner, UNKNOWN));
            }
            None => {
                let products = person.summary.iter().flat_map(|summary| &summary.products);
                let products = products.map(|product| product.as_str());
                set(DimensionSlot::PRODUCT, self.ids(company, DimensionSlot::PRODUCT, products, lead));
            }
        }
        let rating = person.rating.into_iter();
        set(DimensionSlot::RATING, self.ids(company, DimensionSlot::RATING, rating, of_person));
        set(
            DimensionSlot::STATE,
            self.ids(company, DimensionSlot::STATE, person.state.into_iter(), of_person),
        );
        // A tag that is no longer counted keeps its slot and its cells.
        let rules = Arc::clone(&self.rules);
        for tag in &rules.tags {
            let Some(nth) = self.state.tags.iter().position(|known| known == tag) else { continue };
            let slot = DimensionSlot::tag(nth);
            // A tag that is counted since the lead was erased is unknown.
            let values = person.summary.as_ref().and_then(|summary| summary.tags.get(tag));
            let instead = if values.is_some() { NONE } else { UNKNOWN };
            set(slot, self.ids(company, slot, values.into_iter().flatten().map(String::as_str), instead));
        }
        let experiments = person.experiments();
        let offer = seat.and_then(|seat| seat.offer.as_deref());
        for (slot, labels) in [
            (DimensionSlot::EXPERIMENT, experiments.iter().map(String::as_str).collect::<Vec<_>>()),
            (DimensionSlot::OFFER, offer.into_iter().collect()),
        ] {
            // What has none is in no row.
            if !labels.is_empty() {
                slots.resize(SLOTS_MAX, Vec::new());
                slots[usize::from(slot.0)] = self.ids(company, slot, labels.into_iter(), NONE);
            }
        }
        ItemValues(slots)
    }

    /// The id of a value of a dimension at a company.
    pub fn id(&mut self, company: Uuid, slot: DimensionSlot, value: &str) -> u32 {
        let most = if slot.is_tag() { self.rules.tag_values } else { VALUES_MAX };
        self.names.entry((company, slot)).or_default().id(value, most)
    }

    /// The ids of values, without repeats; `instead` if there are none.
    fn ids<'v>(
        &mut self,
        company: Uuid,
        slot: DimensionSlot,
        values: impl Iterator<Item = &'v str>,
        instead: u32,
    ) -> Vec<u32> {
        let mut ids: Vec<u32> = values.map(|value| self.id(company, slot, value)).collect();
        if slot.is_tag() && ids.contains(&OTHER) {
            let tag = self.state.tags[usize::from(slot.0 - DimensionSlot::TAG.0)].clone();
            counter!(REPORT_TAGS_BEYOND, "tag" => tag).increment(1);
        }
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() { vec![instead] } else { ids }
    }

    /// Whether the cells are due to be written; sooner `for_others`, which report from the store.
    pub fn is_due(&self, for_others: bool) -> bool {
        gauge!(REPORT_CELLS, "zone" => self.space.zone.name()).set(self.pending.count as f64);
        let mut every = self.rules.write_every;
        if for_others {
            every = every.min(FOR_OTHERS_EVERY.max(self.wrote_for * WRITES_A_PART));
        }
        self.pending.count >= self.rules.cells_in_memory || self.written_at.elapsed() >= every
    }

    /// The commit that stores all cells in memory, guarded against counts of other processes, with the days
    /// and months that get a part; `None` if all is stored.
    pub fn draft(&mut self) -> Option<(CountCommit, Vec<CompanyPeriod>)> {
        self.written_at = Instant::now();
        if self.stored.as_ref() == Some(&codec::encode(&self.state)) && self.pending.count == 0 {
            return None;
        }
        let commit = Commit::new().as_found(Tree::Reports, self.space.state(), self.stored.as_deref());
        let (mut commit, state) = self.with_next_state(commit);
        for ((company, slot), names) in &self.names {
            if let Some((first, names)) = names.unwritten() {
                let key = self.space.some_names(*company, *slot, first);
                commit = commit.put(Tree::Reports, key, codec::encode(names));
            }
        }
        let parts = blocks::parts(&self.pending);
        for (place, blocks) in &parts {
            commit = blocks::put(commit, self.space, *place, self.state.writes, blocks);
        }
        Some(((commit, state), parts.into_keys().collect()))
    }

    /// The commit that merges the parts of a day or month, if there are enough and all cells are stored.
    ///
    /// # Errors
    /// The parts cannot be read.
    pub fn merge(&self, store: &Store, place: CompanyPeriod) -> Result<Option<CountCommit>, CommitError> {
        let merged = blocks::merged(store, self.space, place, self.state.writes)?;
        let stored = self.stored.as_deref().unwrap_or_default();
        let guarded = |commit: Commit| commit.unchanged(Tree::Reports, self.space.state(), stored);
        Ok(merged.map(|commit| self.with_next_state(guarded(commit))))
    }

    /// Adds the next state, with one more write, to a commit.
    fn with_next_state(&self, commit: Commit) -> CountCommit {
        let state = codec::encode(&CountState { writes: self.state.writes + 1, ..self.state.clone() });
        (commit.put(Tree::Reports, self.space.state(), state.clone()), state)
    }

    /// Notes that a draft with this state was written; nothing may have been counted since it was made.
    pub fn note_written(&mut self, state: Vec<u8>) {
        self.stored = Some(state);
        self.state.writes += 1;
        self.names.values_mut().for_each(Names::note_written);
        self.pending = ReportCells::default();
    }
}

impl CountState {
    /// Notes that a partner has reported a measure.
    pub fn note_reported(&mut self, partner: &str, measure: Measure) {
        *self.reported.entry(partner.to_owned()).or_default() |= 1 << measure as u8;
    }

    /// Whether a partner, or any partner for `None`, ever reported a measure.
    pub fn has_reported(&self, partner: Option<&str>, measure: Measure) -> bool {
        let bit = 1 << measure as u8;
        match partner {
            Some(partner) => self.reported.get(partner).is_some_and(|bits| bits & bit != 0),
            None => self.reported.values().any(|bits| bits & bit != 0),
        }
    }
}

const _: () = assert!(
    SLOTS_MAX == DimensionSlot::OFFER.0 as usize + 1
        && DimensionSlot::EXPERIMENT.0 as usize == DimensionSlot::TAG.0 as usize + TAGS_MAX
);
