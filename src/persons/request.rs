//! What a person may ask for: which leads are about them, a copy of all that is held, and that all of it is erased.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::Utc;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::consents::{Agreed, agreed};
use super::dossier::{Dossier, dossier};
use super::erasure::{Erasure, erase};
use super::index::ContactIndex;
use crate::matching::engine::Engine;
use crate::model::{ProductType, SuppressionDigest, SuppressionKind, Timestamp};
use crate::records::{Unavailable, contacts, reading};
use crate::store::entities::LeadRecord;
use crate::store::tokens::Tokens;

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
    /// What they agreed to, and when.
    #[serde(default)]
    pub consents: Vec<Agreed>,
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
    /// By whom, as the audit names them.
    pub by: String,
    /// Why; nothing where nobody said.
    pub reason: Option<String>,
    /// The daemon that did it: its version and its address.
    pub daemon: String,
    /// Whose leads they were, by name.
    pub companies: Vec<String>,
    /// By how much of what they gave they are left alone from now on; nothing where that was not wished.
    pub left_alone: Option<Listed>,
    /// Of each lead.
    pub leads: Vec<Erasure>,
}

/// What was put on the list of who asked to be left alone, counted by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// E-mail addresses.
    pub emails: usize,
    /// Telephone numbers.
    pub phones: usize,
    /// Names with a day of birth.
    pub names: usize,
}

/// What somebody is left alone by, by kind and each once.
pub type Named = [(SuppressionKind, BTreeSet<SuppressionDigest>); SuppressionKind::ALL.len()];

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

/// A copy of all that is held in leads.
///
/// # Errors
/// [`NotDone`]
pub fn copy(engine: &Engine, leads: &[LeadRecord]) -> Result<Copy, NotDone> {
    let mut dossiers = Vec::new();
    for record in leads {
        dossiers.extend(dossier(engine, record.uuid)?);
    }
    Ok(Copy { exported_at: Utc::now().into(), leads: dossiers })
}

/// Erases leads. Where it fails, some may be erased; asked again it goes on with the others.
///
/// # Errors
/// [`NotDone`]
pub async fn erase_all(engine: &Engine, leads: &[LeadRecord]) -> Result<Vec<Erasure>, NotDone> {
    let mut erased = Vec::new();
    for record in leads {
        erased.extend(erase(engine, record.uuid).await?);
    }
    Ok(erased)
}

/// Every address, number, and name with a day of birth by which leads name their applicant, and that by which they were found. Who applies
/// with them did not ask for anything.
pub fn named(who: Who, leads: &[LeadRecord]) -> Named {
    SuppressionKind::ALL.map(|kind| {
        let of_leads = leads.iter().flat_map(|record| kind.normal_of_applicant(&record.lead));
        let given = (kind == who.kind).then_some(who.digest);
        (kind, of_leads.chain(given).collect())
    })
}

/// The names of the companies whose leads they are, each once.
pub fn companies(engine: &Engine, leads: &[LeadRecord]) -> Vec<String> {
    let tokens = Tokens::of(engine.records.store.clone());
    let companies: BTreeSet<Uuid> = leads.iter().map(|record| record.company).collect();
    let name = |uuid: Uuid| tokens.company(uuid).map_or_else(|| uuid.to_string(), |company| company.name);
    companies.into_iter().map(name).collect()
}

/// The leads that are about somebody, each company's, in the order that they were made in.
///
/// # Errors
/// [`NotDone`]
pub async fn records(engine: &Engine, who: Who) -> Result<Vec<LeadRecord>, NotDone> {
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
    let found = store.found_by(&contacts::contact(store, who.kind, &who.digest)).map_err(|failure| {
        tracing::error!(%failure, "the index of persons could not be read");
        NotDone::Unavailable
    })?;
    let mut records = Vec::new();
    for lead in found {
        records.extend(reading::lead(store, lead)?);
    }
    records.sort_by_key(|record| (record.created_at, record.uuid));
    Ok(records)
}

impl Listed {
    /// How much of each kind it is.
    pub fn of(named: &Named) -> Self {
        let [emails, phones, names] = named.each_ref().map(|(_, digests)| digests.len());
        Self { emails, phones, names }
    }

    /// That in words, such as `1 e-mail address, 2 phone numbers`.
    pub fn told(self) -> String {
        let counted = |count: usize, one: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {one}{}", if one.ends_with('s') { "es" } else { "s" })),
        };
        let names = match self.names {
            0 => None,
            1 => Some("1 name with its day of birth".to_owned()),
            names => Some(format!("{names} names with their day of birth")),
        };
        let told = [counted(self.emails, "e-mail address"), counted(self.phones, "phone number"), names];
        told.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl From<&LeadRecord> for FoundLead {
    fn from(record: &LeadRecord) -> Self {
        Self {
            lead_uuid: record.uuid,
            company_uuid: record.company,
            created_at: Timestamp::from_millis(record.created_at).unwrap_or_default(),
            product_types: record.lead.product_types.clone().unwrap_or_default(),
            test: record.test,
            consents: agreed(record),
        }
    }
}
