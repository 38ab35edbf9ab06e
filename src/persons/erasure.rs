//! Erasing a person: what becomes unreadable, and what remains.
//!
//! The lead's data key is destroyed, and with it everything that is sealed by it: the lead, the answers to it, what was
//! done with it, what partners reported of it, its tags, the displays of its offers. For whoever asks, lead and rate
//! tables are not there any more, and nothing more is recorded of them. What remains names nobody: which partners were
//! asked when, which caps and budgets count; that something happened to a lead of this uuid, and what it earned.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::Utc;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::matching::engine::Engine;
use crate::matching::messages::Leave;
use crate::model::{Timestamp, Viewer};
use crate::prefills::prefills_of;
use crate::records::contacts::contacts_of;
use crate::records::identity::identity_of;
use crate::records::{Unavailable, reading};
use crate::store::entities::{Happening, LeadRecord, Payout};
use crate::store::{Commit, ReadError, Tree};

/// A record, by its tree and key.
type RecordKey = (Tree, Vec<u8>);

/// What an erasure did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Erasure {
    /// The lead.
    pub lead_uuid: Uuid,
    /// When its data key was destroyed.
    pub erased_at: Timestamp,
    /// Records that can be read no more.
    pub destroyed: Destroyed,
    /// Records that remain, and name nobody.
    pub remaining: Remaining,
}

/// Records that can be read no more, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Destroyed {
    /// The lead as it was sent.
    pub leads: u64,
    /// What partners answered, and how far calls to them had come.
    pub answers: u64,
    /// Transcripts of what partners were sent and answered.
    pub transcripts: u64,
    /// What was done with it since.
    pub lead_actions: u64,
    /// What partners reported.
    pub partner_reports: u64,
    /// How it was tagged.
    pub client_tags: u64,
    /// Offers of its that were seen.
    pub offer_displays: u64,
    /// Hashes by which it was found, and duplicates and repeated submits of it were known.
    pub hashes: u64,
}

/// Records that remain, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remaining {
    /// Which partners were asked when, and the amount of the loan.
    pub rate_tables: u64,
    /// What happened to the lead, and when.
    pub lead_events: u64,
    /// What it earned.
    pub lead_payouts: u64,
}

/// Erases a lead; `None` when there is none, or none any more. Once this returns an erasure, no copy of the disk made from
/// now on can tell what it held. A table of it that is pending ends, and is not recovered.
///
/// # Errors
/// [`Unavailable`] when the store cannot be read or written; the lead is then either erased or not.
pub async fn erase(engine: &Engine, lead: Uuid) -> Result<Option<Erasure>, Unavailable> {
    let store = &engine.records.store;
    let Some(record) = reading::lead(store, lead)? else { return Ok(None) };
    let tables = reading::tables_of(store, &record);
    end(engine, record.company, &tables).await;

    let failed = |failure: &dyn std::fmt::Display| {
        tracing::error!(%lead, %failure, "a lead could not be erased");
        Unavailable
    };
    // What a hash of the person can be told by goes first: the lead is still there to find it, should this be cut short.
    let identity = identity_of(store, &record);
    let identities = store.forget_identity(lead, record.company, identity).await;
    let contacts = store.forget_contacts(&contacts_of(store, &record)).await;
    let hashes =
        identities.map_err(|failure| failed(&failure))? + contacts.map_err(|failure| failed(&failure))?;
    let sealed = sealed(engine, &record, &tables);
    let destroyed = Destroyed::of(&sealed, hashes);
    let remaining = remaining(engine, &record, &tables);
    let erased_at = Utc::now();
    let commit = Commit::new().erase(lead, erased_at.timestamp_millis());
    // What is sealed could be left where it is; it would only take space.
    let commit = sealed.into_iter().fold(commit, |commit, (tree, key)| commit.remove(tree, key));
    let not_open = |commit: Commit, table: &Uuid| commit.remove(Tree::OpenTables, table.as_bytes());
    // Their key, which is none of the lead's, is destroyed in the minutes of any prefill.
    let prefills = prefills_of(store, record.company, lead);
    let commit = prefills.fold(commit, |commit, (key, _)| commit.remove(Tree::Prefills, key));
    let committed = store.commit(tables.iter().fold(commit, not_open)).await;
    // Those that were begun meanwhile, too; and also where it failed, since it may have come far enough.
    let tables = reading::tables_of(store, &record);
    end(engine, record.company, &tables).await;
    engine.kept.forget(&tables);
    committed.map_err(|failure| failed(&failure))?;
    Ok(Some(Erasure { lead_uuid: lead, erased_at: erased_at.into(), destroyed, remaining }))
}

/// Ends the tables that are live. An actor that is gone has ended already.
async fn end(engine: &Engine, company: Uuid, tables: &[Uuid]) {
    let live = tables.iter().filter_map(|table| engine.live.get(*table, Viewer::of_all(company))?);
    join_all(live.map(|actor| actor.send(Leave))).await;
}

/// Takes in what other processes on the store have erased: once this returns, nothing of it is shown here from memory, and nobody is
/// asked about it any more. Waits for the store, and has other threads wait for none.
///
/// # Errors
/// That the store cannot be read; what is live may be of an erased lead then.
pub async fn take_in(engine: &Arc<Engine>) -> Result<(), String> {
    // What was read before it keeps nothing after it, and what is read after it finds nothing.
    engine.kept.forget_all();
    let looking = Arc::clone(engine);
    let look = move || -> Result<BTreeSet<Uuid>, ReadError> {
        let mut erased = looking.live.leads();
        let mut failed = None;
        erased.retain(|lead| match looking.records.store.is_erased(*lead) {
            Ok(is_erased) => is_erased,
            Err(failure) => {
                failed.get_or_insert(failure);
                false
            }
        });
        failed.map_or(Ok(erased), Err)
    };
    let erased = tokio::task::spawn_blocking(look).await.map_err(|panic| panic.to_string())?;
    let erased = erased.map_err(|failure| failure.to_string())?;
    let live = engine.live.of_leads(&erased);
    join_all(live.into_iter().map(|actor| actor.send(Leave))).await;
    engine.kept.forget_all();
    Ok(())
}

/// The records that are sealed by the lead's data key.
fn sealed(engine: &Engine, record: &LeadRecord, tables: &[Uuid]) -> Vec<RecordKey> {
    let of_lead = |tree: Tree, start: &[u8], prefix: &[u8]| {
        let found = engine.records.store.scan_about(record.uuid, tree, start, prefix).filter_map(Result::ok);
        found.map(move |(key, _)| (tree, key))
    };
    let lead = record.uuid.as_bytes();
    let ids_since = reading::made_since_us(record).to_be_bytes();
    let feeds_since = reading::arrived_since(record);
    of_lead(Tree::Leads, lead, lead)
        .chain(of_lead(Tree::LeadActions, lead, lead))
        .chain(tables.iter().flat_map(|table| of_lead(Tree::Answers, table.as_bytes(), table.as_bytes())))
        .chain(tables.iter().flat_map(|table| of_lead(Tree::Calls, table.as_bytes(), table.as_bytes())))
        .chain(tables.iter().flat_map(|table| of_lead(Tree::Transcripts, table.as_bytes(), table.as_bytes())))
        .chain(of_lead(Tree::PartnerEvents, &[], &[]))
        .chain(of_lead(Tree::Repeats, &[], &[]))
        .chain(of_lead(Tree::LeadClientTags, &feeds_since, record.company.as_bytes()))
        .chain(of_lead(Tree::OfferDisplays, &ids_since, &[]))
        .collect()
}

impl Destroyed {
    fn of(sealed: &[RecordKey], hashes: u64) -> Self {
        let count = |tree| sealed.iter().filter(|(of, _)| *of == tree).count() as u64;
        Self {
            leads: count(Tree::Leads),
            answers: count(Tree::Answers) + count(Tree::Calls),
            transcripts: count(Tree::Transcripts),
            lead_actions: count(Tree::LeadActions),
            partner_reports: count(Tree::PartnerEvents),
            client_tags: count(Tree::LeadClientTags),
            offer_displays: count(Tree::OfferDisplays),
            hashes: hashes + count(Tree::Repeats),
        }
    }
}

fn remaining(engine: &Engine, record: &LeadRecord, tables: &[Uuid]) -> Remaining {
    let store = &engine.records.store;
    let events = reading::feed_of::<Happening>(store, Tree::LeadEvents, record);
    let payouts = reading::feed_of::<Payout>(store, Tree::LeadPayouts, record);
    Remaining {
        rate_tables: tables.len() as u64,
        lead_events: events.filter(|event| event.lead == record.uuid).count() as u64,
        lead_payouts: payouts.filter(|payout| payout.lead == record.uuid).count() as u64,
    }
}

#[cfg(test)]
mod tests;
