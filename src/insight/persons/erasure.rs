//! Erasure of a person: which records become unreadable, and which remain.
//!
//! Erasure destroys the lead's data key and with it every record sealed by that key: the lead, the partners'
//! answers, lead actions, tags and the displays of its offers. From then on the lead and its rate tables are
//! answered as not found. The remaining records name nobody: which partners were asked when, which caps and
//! budgets count; the events of a lead with this uuid, and what it earned. What it is billed and counted by is
//! kept apart (summaries of lead and tables, the reports of partners), so that partners still report fundings
//! and reversals, and a count made anew has the same money.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::Utc;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::request::PersonRequestError;
use crate::prefills::prefills_of;
use offerd_engine::conversions::partner_events::{ReportPlace, ReportRecord};
use offerd_engine::matching::engine::MatchingEngine;
use offerd_engine::matching::messages::Leave;
use offerd_engine::records::Records;
use offerd_engine::records::contacts::contacts_of;
use offerd_engine::records::identity::identity_of;
use offerd_engine::records::reading::{self, LeadState};
use offerd_engine::records::writing::key_under;
use offerd_model::Timestamp;
use offerd_store::contacts::LeadContacts;
use offerd_store::entities::{Happening, LeadRecord, LeadSummary, PayoutRecord};
use offerd_store::identities::{LeadIdentity, RetiredIdentities};
use offerd_store::{Commit, ReadResult, Store, Tree, codec};

/// How many slots of data keys are resealed at once, each in a commit of its own.
const SLOTS_AT_ONCE: usize = 64;

type RecordKey = (Tree, Vec<u8>);

type KeptRecord = (Tree, Vec<u8>, Vec<u8>);

type Result<T> = std::result::Result<T, PersonRequestError>;

/// Receives the number of leads erased with each step.
pub type EraseProgress<'t> = &'t mut (dyn FnMut(usize) + Send);

/// The result of an erasure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Erasure {
    /// The lead.
    pub lead_uuid: Uuid,
    /// When its data key was destroyed.
    pub erased_at: Timestamp,
    /// Whether the lead's record was unreadable. Its key is destroyed; the counts cover only the records that
    /// were found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub damaged: bool,
    /// Records made unreadable.
    pub destroyed: Destroyed,
    /// Records that remain, without personal data.
    pub remaining: Remaining,
}

/// Records made unreadable, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Destroyed {
    /// The lead as it was sent.
    pub leads: u64,
    /// Answers of partners, and the progress of calls to them.
    pub answers: u64,
    /// Transcripts of requests to partners and their answers.
    pub transcripts: u64,
    /// Lead actions.
    pub lead_actions: u64,
    /// Client tags.
    pub client_tags: u64,
    /// Displays of its offers.
    pub offer_displays: u64,
    /// Hashes by which the lead was found and its duplicates and repeated submits were detected.
    pub hashes: u64,
}

/// Records that remain, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remaining {
    /// Which partners were asked when, and the amount of the loan.
    pub rate_tables: u64,
    /// Events of the lead, with their times.
    pub lead_events: u64,
    /// Payouts of the lead.
    pub lead_payouts: u64,
    /// Events that partners reported.
    pub partner_reports: u64,
}

#[derive(Default)]
struct ErasedLead {
    lead: Uuid,
    company: Uuid,
    /// Unix milliseconds.
    created_at: i64,
    /// Unix milliseconds.
    updated_at: i64,
    first_table: Option<Uuid>,
    tables: Vec<Uuid>,
    /// Whether the record is unreadable.
    damaged: bool,
}

type ByLead<T> = BTreeMap<Uuid, T>;

/// Erases a lead; `None` when it does not exist or is already erased. See [`erase_all`].
///
/// # Errors
/// [`PersonRequestError`] when the store cannot be read or written; the lead may or may not be erased then.
pub async fn erase(engine: &MatchingEngine, lead: Uuid, tags: &[String]) -> Result<Option<Erasure>> {
    Ok(erase_all(engine, &[lead], tags, &mut |_| ()).await?.pop())
}

/// Erases leads, including those with damaged records; skips leads that do not exist or are already erased.
/// Once this returns their erasures, no later copy of the disk reveals their data. Their pending tables end
/// and are not recovered. Their values of the counted `tags` stay, for the counts. `told` receives the number
/// of leads erased with each step.
///
/// The scans are shared by all of the leads: the hashes of the days on which they arrived, the feeds of their
/// companies since the first of them, and the data keys of their slots.
///
/// # Errors
/// [`PersonRequestError`] when the store cannot be read or written; each lead may or may not be erased then.
pub async fn erase_all(
    engine: &MatchingEngine,
    leads: &[Uuid],
    tags: &[String],
    told: EraseProgress<'_>,
) -> Result<Vec<Erasure>> {
    let store = &engine.records.store;
    let (mut gone, mut hashes) = (Vec::new(), Hashes::default());
    for lead in leads {
        // One at a time, to bound memory.
        match reading::lead_state(store, *lead)? {
            LeadState::Whole(record) => {
                hashes.add(store, &record);
                gone.push(ErasedLead::of(store, &record));
            }
            LeadState::Damaged => {
                hashes.add_damaged(store, *lead)?;
                gone.push(ErasedLead::damaged(store, *lead));
            }
            LeadState::Nothing => {}
        }
    }
    gone.sort_by_key(|one| (one.created_at, one.lead));
    let ending = gone.iter().map(|one| one.lead).collect();
    end(engine, &ending).await;
    // The index finds the leads until they are erased, however this ends. If it is cut short, the next start
    // hashes again what was hashed.
    let mut forgetting = hashes.begin_forgetting(store, false)?;
    let mut sealed = sealed(store, &gone);
    let mut remaining = remaining(store, &gone, &sealed);
    let erased_at = Utc::now();
    let erasures = |one: &ErasedLead| Erasure {
        lead_uuid: one.lead,
        erased_at: erased_at.into(),
        damaged: one.damaged,
        destroyed: Destroyed::of(&sealed[&one.lead], forgetting.hashes.get(&one.lead).copied().unwrap_or(0)),
        remaining: remaining.remove(&one.lead).unwrap_or_default(),
    };
    let erasures = gone.iter().map(erasures).collect();
    let mut hashed = (&mut hashes, &mut forgetting);
    let kept = |one: &ErasedLead, sealed: &[RecordKey]| kept(&engine.records, one, tags, sealed);
    let at_ms = erased_at.timestamp_millis();
    let destroyed = destroy((store, &kept), &gone, &mut sealed, &mut hashed, at_ms, told).await;
    let committed = match destroyed {
        Ok(()) => hashes.forget(store, forgetting).await,
        failed => failed,
    };
    // Also ends tables that were begun meanwhile, and does so after a failure too: the leads may be erased
    // already.
    end(engine, &ending).await;
    for one in &gone {
        match one.damaged {
            // Some of its tables are unknown.
            true => engine.complete.forget_all(),
            false => engine.complete.forget(&one.tables_now(store)),
        }
    }
    committed.map(|()| erasures)
}

impl ErasedLead {
    fn of(store: &Store, record: &LeadRecord) -> Self {
        let LeadRecord { uuid: lead, company, created_at, updated_at, first_table, .. } = *record;
        let tables = reading::tables_of(store, record);
        Self { lead, company, created_at, updated_at, first_table, tables, damaged: false }
    }

    /// A lead with an unreadable record: only the records sealed with its key or listed under its uuid are
    /// known.
    fn damaged(store: &Store, lead: Uuid) -> Self {
        let tables = reading::listed_tables(store, lead).collect();
        Self { lead, tables, damaged: true, ..Self::default() }
    }

    /// Its tables, including those begun since.
    fn tables_now(&self, store: &Store) -> Vec<Uuid> {
        self.first_table.into_iter().chain(reading::listed_tables(store, self.lead)).collect()
    }
}

/// Ends the live tables of leads. An actor that is gone has ended already.
async fn end(engine: &MatchingEngine, leads: &BTreeSet<Uuid>) {
    join_all(engine.actors.of_leads(leads).into_iter().map(|actor| actor.send(Leave))).await;
}

/// Applies erasures made by other processes on the store: once this returns, no erased lead is served from
/// memory and no partner is asked about it. Reads the store on a blocking thread.
///
/// # Errors
/// The store cannot be read; live tables may belong to an erased lead then.
pub async fn apply_erasures(engine: &Arc<MatchingEngine>) -> std::result::Result<(), String> {
    // Reads that began earlier can no longer be kept, and later reads find nothing.
    engine.complete.forget_all();
    let looking = Arc::clone(engine);
    let look = move || -> ReadResult<BTreeSet<Uuid>> {
        let erased = |lead| looking.records.store.is_erased(lead).map(|is| is.then_some(lead)).transpose();
        looking.actors.leads().into_iter().filter_map(erased).collect()
    };
    let erased = tokio::task::spawn_blocking(look).await.map_err(|panic| panic.to_string())?;
    let erased = erased.map_err(|failure| failure.to_string())?;
    end(engine, &erased).await;
    engine.complete.forget_all();
    Ok(())
}

/// The hashes by which leads are found and their duplicates detected.
#[derive(Default)]
struct Hashes {
    identities: Vec<LeadIdentity>,
    contacts: Vec<LeadContacts>,
}

impl Hashes {
    fn add(&mut self, store: &Store, record: &LeadRecord) {
        let (lead, company, identity) = (record.uuid, record.company, identity_of(store, record));
        self.identities.push(LeadIdentity { lead, company, identity });
        self.contacts.push(contacts_of(store, record));
    }

    /// Hashes of a lead whose record is unreadable: tries every company that owns an identity of this lead.
    fn add_damaged(&mut self, store: &Store, lead: Uuid) -> Result<()> {
        let mut companies = BTreeSet::new();
        for owned in store.owners(Tree::Identities, &[], &[]) {
            let (owner, key) = owned.map_err(failed)?;
            companies.extend(key.first_chunk().filter(|_| owner == lead).map(|uuid| Uuid::from_bytes(*uuid)));
        }
        let identities = companies.into_iter().map(|company| LeadIdentity { lead, company, identity: None });
        self.identities.extend(identities);
        self.contacts.push(LeadContacts { lead, contacts: Vec::new(), from_ms: 0, until_ms: 0 });
        Ok(())
    }

    fn join(&mut self, more: Self) {
        self.identities.extend(more.identities);
        self.contacts.extend(more.contacts);
    }

    /// Begins to forget the hashes. With `only_likely`, checks only their most likely places, without a scan.
    fn begin_forgetting(&self, store: &Store, only_likely: bool) -> Result<RetiredIdentities> {
        let begun = store.begin_forgetting_identities(&self.identities, only_likely);
        let mut forgetting = begun.map_err(failed)?;
        forgetting.add(store.begin_forgetting_contacts(&self.contacts).map_err(failed)?);
        Ok(forgetting)
    }

    /// Finishes forgetting, after the leads are erased. Also forgets hashes that other processes added
    /// meanwhile.
    async fn forget(&self, store: &Store, mut forgetting: RetiredIdentities) -> Result<()> {
        let leads = self.contacts.iter().map(|of| of.lead).collect();
        while !forgetting.is_nothing() {
            store.finish_forgetting(forgetting, &leads).await.map_err(failed)?;
            forgetting = self.begin_forgetting(store, true)?;
        }
        Ok(())
    }
}

fn failed(failure: impl std::fmt::Display) -> PersonRequestError {
    tracing::error!(%failure, "could not erase leads");
    PersonRequestError::of(&failure)
}

/// Destroys the data keys of leads, slot by slot, and removes the records they seal. Drains `sealed`.
async fn destroy(
    (store, kept): (&Store, &(impl Fn(&ErasedLead, &[RecordKey]) -> Result<Vec<KeptRecord>> + Sync)),
    gone: &[ErasedLead],
    sealed: &mut ByLead<Vec<RecordKey>>,
    (hashes, forgetting): &mut (&mut Hashes, &mut RetiredIdentities),
    at_ms: i64,
    told: EraseProgress<'_>,
) -> Result<()> {
    let of: ByLead<&ErasedLead> = gone.iter().map(|one| (one.lead, one)).collect();
    let mut prefills = prefills(store, gone);
    for slots in store.by_slot(of.keys().copied()).chunks(SLOTS_AT_ONCE) {
        let grown = grown(store, slots.iter().flatten().filter_map(|lead| of.get(lead).copied()))?;
        forgetting.add(grown.begin_forgetting(store, false)?);
        hashes.join(grown);
        let mut commits = Vec::with_capacity(slots.len());
        for leads in slots {
            let mut commit = Commit::new().erase_all(leads.iter().copied(), at_ms);
            for lead in leads {
                let records = sealed.remove(lead).unwrap_or_default();
                let kept = kept(of[lead], &records)?.into_iter();
                commit = kept.fold(commit, |commit, (tree, key, payload)| commit.put(tree, key, payload));
                // The sealed records are unreadable anyway; removing them frees the space.
                let records = records.into_iter();
                // A prefill has a key of its own, which the sweep destroys within minutes.
                let prefills = prefills.remove(lead).into_iter().flatten().map(|key| (Tree::Prefills, key));
                let tables =
                    of[lead].tables.iter().map(|table| (Tree::OpenTables, table.as_bytes().to_vec()));
                let records = records.chain(prefills).chain(tables);
                commit = records.fold(commit, |commit, (tree, key)| commit.remove(tree, key));
            }
            commits.push(commit);
        }
        store.commit_all(commits, |_| false).await.map_err(failed)?;
        told(slots.iter().map(Vec::len).sum());
    }
    Ok(())
}

/// What stays of a lead, without anything of the person: what it is billed and counted by, the same of its
/// tables, and the reports of partners.
fn kept(
    records: &Records,
    one: &ErasedLead,
    tags: &[String],
    sealed: &[RecordKey],
) -> Result<Vec<KeptRecord>> {
    let store = &records.store;
    let LeadState::Whole(record) = reading::lead_state(store, one.lead)? else { return Ok(Vec::new()) };
    let summary = codec::encode_json(&LeadSummary::of(&record, tags));
    let mut kept = vec![(Tree::ErasedLeads, one.lead.as_bytes().to_vec(), summary)];
    for uuid in one.tables_now(store) {
        // A table that cannot be read was reported.
        let Ok(Some(mut table)) = reading::counted_table(records, uuid) else { continue };
        for nth in 0..table.summary.shown.len() {
            let seat = table.seat(&table.summary.shown[nth]);
            if reading::is_sold(store, table.asked(), seat)? {
                table.summary.shown[nth].payout = None;
            }
        }
        kept.push((Tree::ErasedLeads, key_under(one.lead, uuid), codec::encode(&table.summary)));
    }
    for key in reports_of(sealed) {
        let report = store.read_json::<ReportRecord>(Tree::PartnerEvents, key).ok().flatten();
        let Some(report) = report else { continue };
        let place = ReportPlace::new(key, Some(record.created_at));
        let report = codec::encode_json(&ReportRecord { action: None, ..report });
        kept.push((place.tree(), place.key().to_vec(), report));
    }
    Ok(kept)
}

fn reports_of(sealed: &[RecordKey]) -> impl Iterator<Item = &[u8]> {
    sealed.iter().filter(|(tree, _)| *tree == Tree::PartnerEvents).map(|(_, key)| key.as_slice())
}

/// The hashes of leads that were merged into since they were read; these are not being forgotten yet.
fn grown<'g>(store: &Store, gone: impl Iterator<Item = &'g ErasedLead>) -> Result<Hashes> {
    let mut grown = Hashes::default();
    for one in gone {
        match reading::lead_state(store, one.lead)? {
            LeadState::Whole(record) if record.updated_at != one.updated_at => grown.add(store, &record),
            _ => {}
        }
    }
    Ok(grown)
}

fn prefills(store: &Store, gone: &[ErasedLead]) -> ByLead<Vec<Vec<u8>>> {
    let mut of = ByLead::<Vec<Vec<u8>>>::new();
    let companies: BTreeSet<Uuid> = gone.iter().map(|one| one.company).collect();
    for company in companies {
        let leads: BTreeSet<Uuid> =
            gone.iter().filter(|one| one.company == company).map(|one| one.lead).collect();
        for (key, prefill) in prefills_of(store, company, |lead| leads.contains(&lead)) {
            of.entry(prefill.uuid.unwrap_or_default()).or_default().push(key);
        }
    }
    of
}

/// Each company with the creation time of its earliest lead, in Unix milliseconds.
fn companies(gone: &[ErasedLead]) -> BTreeMap<Uuid, i64> {
    // The leads are in order of creation.
    gone.iter().rev().map(|one| (one.company, one.created_at)).collect()
}

/// The records sealed by the data keys of leads. Every lead has an entry, even if it is empty.
fn sealed(store: &Store, gone: &[ErasedLead]) -> ByLead<Vec<RecordKey>> {
    let mut sealed: ByLead<Vec<RecordKey>> = gone.iter().map(|one| (one.lead, Vec::new())).collect();
    let mut take = |tree: Tree, start: &[u8], prefix: &[u8]| {
        for (owner, key) in store.owners(tree, start, prefix).flatten() {
            if let Some(records) = sealed.get_mut(&owner) {
                records.push((tree, key));
            }
        }
    };
    for ErasedLead { lead, tables, .. } in gone {
        for tree in [Tree::Leads, Tree::LeadActions] {
            take(tree, lead.as_bytes(), lead.as_bytes());
        }
        for table in tables {
            for tree in [Tree::Answers, Tree::Calls, Tree::Transcripts] {
                take(tree, table.as_bytes(), table.as_bytes());
            }
        }
    }
    let companies = companies(gone);
    let Some(earliest) = companies.values().min() else { return sealed };
    take(Tree::PartnerEvents, &[], &[]);
    take(Tree::Repeats, &[], &[]);
    take(Tree::OfferDisplays, &reading::made_since_us(*earliest).to_be_bytes(), &[]);
    for (company, earliest) in companies {
        take(Tree::LeadClientTags, &reading::arrived_since(company, earliest), company.as_bytes());
    }
    sealed
}

impl Destroyed {
    fn of(sealed: &[RecordKey], hashes: u64) -> Self {
        let count = |tree| sealed.iter().filter(|(of, _)| *of == tree).count() as u64;
        Self {
            leads: count(Tree::Leads),
            answers: count(Tree::Answers) + count(Tree::Calls),
            transcripts: count(Tree::Transcripts),
            lead_actions: count(Tree::LeadActions),
            client_tags: count(Tree::LeadClientTags),
            offer_displays: count(Tree::OfferDisplays),
            hashes: hashes + count(Tree::Repeats),
        }
    }
}

fn remaining(store: &Store, gone: &[ErasedLead], sealed: &ByLead<Vec<RecordKey>>) -> ByLead<Remaining> {
    let begun = |one: &ErasedLead| {
        let rate_tables = one.tables.len() as u64;
        let partner_reports = reports_of(&sealed[&one.lead]).count() as u64;
        (one.lead, Remaining { rate_tables, partner_reports, ..Remaining::default() })
    };
    let mut remaining: ByLead<Remaining> = gone.iter().map(begun).collect();
    for (company, earliest) in companies(gone) {
        let events = reading::feed_since::<Happening>(store, Tree::LeadEvents, company, earliest);
        for event in events.filter(|event| event.taken_back_at.is_none()) {
            remaining.entry(event.lead).and_modify(|of| of.lead_events += 1);
        }
        for payout in reading::feed_since::<PayoutRecord>(store, Tree::LeadPayouts, company, earliest) {
            remaining.entry(payout.lead).and_modify(|of| of.lead_payouts += 1);
        }
    }
    remaining
}
