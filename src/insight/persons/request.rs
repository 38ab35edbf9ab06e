//! What a person may ask for: which leads are about them, a copy of all that is held, and that all of it is erased.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use chrono::Utc;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::consents::{Agreed, agreed};
use super::dossier::{Dossier, dossier};
use super::erasure::Erasure;
use super::index::ContactIndex;
use offerd_engine::matching::engine::Engine;
use offerd_engine::records::reading::{self, Held};
use offerd_engine::records::{Unavailable, contacts};
use offerd_model::{Lead, ProductType, SuppressionDigest, SuppressionKind, Timestamp};
use offerd_store::entities::LeadRecord;
use offerd_store::tokens::Tokens;

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
    /// In how many rounds: so many leads as `limits.leads_erased_at_once` says go at once.
    #[serde(default)]
    pub rounds: usize,
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
    /// Places of the store that could not be read: leads of theirs may lie there.
    #[serde(default)]
    pub unread: usize,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    /// Leads are still coming into the index, so that some could be missed.
    #[error(
        "leads are still coming into the index of persons, so that some could be missed; ask again in a minute"
    )]
    Indexing,
    /// The store cannot be read or written.
    #[error("the store cannot be read or written; the log tells why")]
    Unavailable,
}

impl From<Unavailable> for NotDone {
    fn from(Unavailable: Unavailable) -> Self {
        Self::Unavailable
    }
}

/// What the leads that are about somebody say of them.
#[derive(Debug)]
pub struct About {
    /// The leads, each company's, in the order that they were made in.
    pub found: Vec<FoundLead>,
    /// Leads that are about them, and whose records cannot be read.
    pub damaged: Vec<Uuid>,
    /// At how many places of the store leads of theirs may lie that cannot be read.
    pub unread: usize,
    /// Every address, number, and name with a day of birth by which the leads name their applicant, and that by which they were found. Who
    /// applies with them did not ask for anything.
    pub named: Named,
    /// Whether one of them is what was looked for beside.
    pub is_told: bool,
}

/// Finds the leads that are about somebody, and reads them one after the other: somebody may have many. `is_told` looks at each.
///
/// # Errors
/// [`NotDone`]
pub async fn about(engine: &Engine, who: Who, is_told: &dyn Fn(&Lead) -> bool) -> Result<About, NotDone> {
    let store = &engine.records.store;
    let named = SuppressionKind::ALL.map(|kind| {
        let given = (kind == who.kind).then_some(who.digest);
        (kind, BTreeSet::from_iter(given))
    });
    let mut about = About { found: Vec::new(), damaged: Vec::new(), unread: 0, named, is_told: false };
    for lead in leads(engine, who).await? {
        let record = match reading::held(store, lead)? {
            Held::Whole(record) => record,
            // What is dropped or erased has no key any more.
            Held::Nothing => continue,
            Held::Damaged => {
                about.damaged.push(lead);
                continue;
            }
        };
        for (kind, digests) in &mut about.named {
            digests.extend(kind.normal_of_applicant(&record.lead));
        }
        about.is_told |= is_told(&record.lead);
        about.found.push(FoundLead::from(&*record));
    }
    about.unread = store.unreadable_places().max(about.damaged.len());
    about.found.sort_by_key(|lead| (lead.created_at, lead.lead_uuid));
    Ok(about)
}

/// A copy of all that is held in leads.
///
/// # Errors
/// [`NotDone`]
pub fn copy(engine: &Engine, leads: &[FoundLead]) -> Result<Copy, NotDone> {
    let dossiers = leads.iter().filter_map(|found| dossier(engine, found.lead_uuid).transpose());
    let leads = dossiers.collect::<Result<_, _>>()?;
    Ok(Copy { exported_at: Utc::now().into(), leads })
}

/// The names of the companies whose leads they are.
pub fn companies(engine: &Engine, leads: &[FoundLead]) -> BTreeMap<Uuid, String> {
    let tokens = Tokens::of(engine.records.store.clone());
    let companies: BTreeSet<Uuid> = leads.iter().map(|found| found.company_uuid).collect();
    companies.into_iter().map(|uuid| (uuid, tokens.name_of(uuid))).collect()
}

/// The uuids of the leads that are about somebody. They are brought into the index first, as far as they are in no index yet.
///
/// # Errors
/// [`NotDone`]
pub async fn leads(engine: &Engine, who: Who) -> Result<Vec<Uuid>, NotDone> {
    let mut index = ContactIndex(engine.records.store.clone());
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
            created_at: Timestamp::at(record.created_at),
            product_types: record.lead.product_types.clone().unwrap_or_default(),
            test: record.test,
            consents: agreed(record),
        }
    }
}
