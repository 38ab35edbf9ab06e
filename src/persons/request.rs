//! What a person may ask for: which leads are about them, a copy of all that is held, and that all of it is erased.

use std::time::{Duration, Instant};

use chrono::Utc;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::dossier::{Dossier, dossier};
use super::erasure::Erasure;
use super::index::ContactIndex;
use crate::matching::engine::Engine;
use crate::model::{ProductType, SuppressionDigest, SuppressionKind, Timestamp};
use crate::records::{Unavailable, contacts, reading};
use crate::store::entities::LeadRecord;

/// Longest time that is waited for the index to catch up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whom a request is about, without saying it: the SHA-256 of the normal form of a mail address or telephone number.
#[derive(Debug, Clone, Copy)]
pub struct Who {
    /// What names the person.
    pub kind: SuppressionKind,
    /// Its digest.
    pub digest: SuppressionDigest,
}

/// A lead that is about somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundLead {
    /// Its uuid.
    pub lead_uuid: Uuid,
    /// Whose lead it is.
    pub company_uuid: Uuid,
    /// When it was made.
    pub created_at: Timestamp,
    /// What it asks for; nothing stands for all.
    pub product_types: Vec<ProductType>,
    /// Whether it was made with a test token.
    pub test: bool,
}

/// Everything that is held on somebody.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Copy {
    /// When it was put together.
    pub exported_at: Timestamp,
    /// Of each lead.
    pub leads: Vec<Dossier>,
}

/// What became of the wish to be erased.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// A number to name it by, which says nothing of the person.
    pub receipt_uuid: Uuid,
    /// When it was done.
    pub erased_at: Timestamp,
    /// In how many rounds: so many leads as `limits.leads_erased_at_once` says go at once.
    #[serde(default)]
    pub rounds: usize,
    /// Of each lead.
    pub leads: Vec<Erasure>,
}

/// Why a request was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotDone {
    /// Leads are still coming into the index, so that some could be missed.
    Indexing,
    /// The store cannot be read or written.
    Unavailable,
}

impl From<Unavailable> for NotDone {
    fn from(Unavailable: Unavailable) -> Self {
        Self::Unavailable
    }
}

/// The leads that are about somebody, each company's, in the order that they were made in.
///
/// # Errors
/// [`NotDone`]
pub async fn find(engine: &Engine, who: Who) -> Result<Vec<FoundLead>, NotDone> {
    let store = &engine.records.store;
    let mut found = Vec::new();
    for lead in leads(engine, who).await? {
        // One after the other: somebody may have many.
        found.extend(reading::lead(store, lead)?.map(FoundLead::from));
    }
    found.sort_by_key(|lead| (lead.created_at, lead.lead_uuid));
    Ok(found)
}

/// A copy of all that is held on somebody.
///
/// # Errors
/// [`NotDone`]
pub async fn copy(engine: &Engine, who: Who) -> Result<Copy, NotDone> {
    let mut leads = Vec::new();
    for found in find(engine, who).await? {
        leads.extend(dossier(engine, found.lead_uuid)?);
    }
    Ok(Copy { exported_at: Utc::now().into(), leads })
}

/// The uuids of the leads that are about somebody. They are brought into the index first, as far as they are in no index yet.
///
/// # Errors
/// [`NotDone`]
pub async fn leads(engine: &Engine, who: Who) -> Result<Vec<Uuid>, NotDone> {
    let index = ContactIndex::of(engine.records.clone());
    match index.catch_up(Instant::now() + PATIENCE).await {
        Ok(true) => {}
        Ok(false) => return Err(NotDone::Indexing),
        Err(failure) => {
            tracing::error!(%failure, "leads could not be brought into the index of persons");
            return Err(NotDone::Unavailable);
        }
    }
    let store = &engine.records.store;
    store.found_by(&contacts::contact(store, who.kind, &who.digest)).map_err(|failure| {
        tracing::error!(%failure, "the index of persons could not be read");
        NotDone::Unavailable
    })
}

impl From<LeadRecord> for FoundLead {
    fn from(record: LeadRecord) -> Self {
        Self {
            lead_uuid: record.uuid,
            company_uuid: record.company,
            created_at: Timestamp::from_millis(record.created_at).unwrap_or_default(),
            product_types: record.lead.product_types.unwrap_or_default(),
            test: record.test,
        }
    }
}
