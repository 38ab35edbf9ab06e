//! Requests of a person: find their leads, copy everything stored about them, erase all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use chrono::Utc;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::consents::{Agreed, agreed};
use super::dossier::{AccessExport, dossier};
use super::erasure::Erasure;
use super::index::ContactIndex;
use crate::sheet::lines::{TextLines, decoded};
use crate::sheet::rows::{CsvFault, CsvRows};
use offerd_engine::matching::engine::MatchingEngine;
use offerd_engine::records::reading::{self, LeadState};
use offerd_engine::records::{RecordUnavailable, contacts};
use offerd_model::{Lead, ProductType, SuppressionDigest, SuppressionKind, Timestamp};
use offerd_store::DISK_FULL;
use offerd_store::tokens::Tokens;

/// Longest wait for the contact index to catch up.
const PATIENCE: Duration = Duration::from_secs(20);

/// The subject of a request, as the SHA-256 digest of a normalised mail address or telephone number.
#[derive(Debug, Clone, Copy)]
pub struct ContactDigest {
    /// The kind of contact.
    pub kind: SuppressionKind,
    /// The digest of its normal form.
    pub digest: SuppressionDigest,
}

/// A lead about the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundLead {
    /// Its uuid.
    pub lead_uuid: Uuid,
    /// The lead's company.
    pub company_uuid: Uuid,
    /// When it was created.
    pub created_at: Timestamp,
    /// The product types it asks for; empty for all.
    pub product_types: Vec<ProductType>,
    /// Whether it was made with a test token.
    pub test: bool,
    /// The consents that the applicant gave, with times.
    #[serde(default)]
    pub consents: Vec<Agreed>,
}

/// Everything stored about a person.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonExport {
    /// When the copy was compiled.
    pub exported_at: Timestamp,
    /// The dossier of each lead.
    pub leads: Vec<AccessExport>,
}

/// The receipt for an erasure request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// An id for the receipt that reveals nothing of the person.
    pub receipt_uuid: Uuid,
    /// When the erasure was done.
    pub erased_at: Timestamp,
    /// The number of rounds: each erases up to `limits.leads_erased_at_once` leads.
    #[serde(default)]
    pub rounds: usize,
    /// The acting user, as named in the audit.
    pub by: String,
    /// The reason, if one was given.
    pub reason: Option<String>,
    /// The daemon that did it, with its version and address.
    pub daemon: String,
    /// The names of the companies that owned the leads.
    pub companies: Vec<String>,
    /// The contact details that were opted out; `None` where no opt-out was requested.
    #[serde(rename = "leftAlone")]
    pub opted_out: Option<OptOutCounts>,
    /// Unreadable places of the store, which may hold more leads of the person.
    #[serde(default)]
    pub unread: usize,
    /// The erasure of each lead.
    pub leads: Vec<Erasure>,
}

/// Entries added to the opt-out list, counted by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OptOutCounts {
    /// E-mail addresses.
    pub emails: usize,
    /// Telephone numbers.
    pub phones: usize,
    /// Names with a date of birth.
    pub names: usize,
}

/// The digests to opt out, by kind.
pub type OptOutDigests = [(SuppressionKind, BTreeSet<SuppressionDigest>); SuppressionKind::ALL.len()];

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PersonRequestError {
    /// The index is still catching up, so leads could be missed.
    #[error(
        "offerd is still adding leads to the index of persons, so some could be missed; try again in a minute"
    )]
    Indexing,
    /// The store cannot be read or written.
    #[error("the store cannot be read or written; see the log")]
    Unavailable,
    /// Not everything could be written.
    #[error("the disk of `store.path` is full; free space there, and try again")]
    DiskFull,
}

impl PersonRequestError {
    /// The failure of the store that stands in the way.
    pub(super) fn of(failure: &impl std::fmt::Display) -> Self {
        if failure.to_string().contains(DISK_FULL) { Self::DiskFull } else { Self::Unavailable }
    }
}

impl From<RecordUnavailable> for PersonRequestError {
    fn from(RecordUnavailable: RecordUnavailable) -> Self {
        Self::Unavailable
    }
}

/// The leads about a person, with what they reveal.
#[derive(Debug)]
pub struct PersonLeads {
    /// The leads, in order of creation.
    pub found: Vec<FoundLead>,
    /// Leads about the person with unreadable records.
    pub damaged: Vec<Uuid>,
    /// The number of unreadable places of the store that may hold leads of the person.
    pub unread: usize,
    /// Every address, number, and name with date of birth that the leads give for the applicant, and the
    /// contact the leads were found by. Co-applicants made no request and are left out.
    pub named: OptOutDigests,
    /// Whether any of the leads satisfies the caller's predicate.
    pub is_told: bool,
}

/// Finds the leads about a person and reads them one at a time, since there may be many. Applies `is_told` to
/// each.
///
/// # Errors
/// [`PersonRequestError`]
pub async fn about(
    engine: &MatchingEngine,
    who: ContactDigest,
    is_told: &dyn Fn(&Lead) -> bool,
) -> Result<PersonLeads, PersonRequestError> {
    let store = &engine.records.store;
    let named = SuppressionKind::ALL.map(|kind| {
        let given = (kind == who.kind).then_some(who.digest);
        (kind, BTreeSet::from_iter(given))
    });
    let mut about = PersonLeads { found: Vec::new(), damaged: Vec::new(), unread: 0, named, is_told: false };
    for lead in leads(engine, who).await? {
        let record = match reading::lead_state(store, lead)? {
            LeadState::Whole(record) => record,
            // The key of a dropped or erased lead is gone.
            LeadState::Nothing => continue,
            LeadState::Damaged => {
                about.damaged.push(lead);
                continue;
            }
        };
        for (kind, digests) in &mut about.named {
            digests.extend(kind.normal_of_applicant(&record.lead));
        }
        about.is_told |= is_told(&record.lead);
        about.found.push(FoundLead {
            lead_uuid: record.uuid,
            company_uuid: record.company,
            created_at: Timestamp::at(record.created_at),
            product_types: record.lead.product_types.clone().unwrap_or_default(),
            test: record.test,
            consents: agreed(&record),
        });
    }
    about.unread = store.unreadable_places().max(about.damaged.len());
    about.found.sort_by_key(|lead| (lead.created_at, lead.lead_uuid));
    Ok(about)
}

/// The digest of what is typed for a person, which is read as a line of a list is.
///
/// # Errors
/// What is wrong with it, or what it must be.
pub fn typed(kind: SuppressionKind, line: &str) -> Result<SuppressionDigest, String> {
    let text = TextLines::new(decoded(line.as_bytes(), None), "write it as UTF-8");
    let wanted = || format!("must be {}", kind.wanted());
    if kind != SuppressionKind::Person {
        let lines: Result<Vec<String>, String> = text.map(|(_, line)| line).collect();
        return kind.of_line(lines?.join("\n").trim()).ok_or_else(wanted);
    }
    let mut rows = CsvRows::new(text, Some(3));
    let (Some(row), None) = (rows.next(), rows.next()) else { return Err(wanted()) };
    let wrong = |fault: CsvFault| format!("{}; it {}", fault.told(), wanted());
    let digest = kind.of_cells(&row.cells.map_err(wrong)?, Utc::now().date_naive());
    digest.map_err(|wanted| format!("must be {wanted}"))
}

/// The same of a person who may have opted out before: leads are opted out under names as they came, whatever
/// a list takes.
///
/// # Errors
/// Those of [`typed`].
pub fn typed_before(kind: SuppressionKind, line: &str) -> Result<SuppressionDigest, String> {
    typed(kind, line).or_else(|message| kind.of_line(line).ok_or(message))
}

/// Copies everything stored about the person of these leads.
///
/// # Errors
/// [`PersonRequestError`]
pub fn copy(engine: &MatchingEngine, leads: &[FoundLead]) -> Result<PersonExport, PersonRequestError> {
    let dossiers = leads.iter().filter_map(|found| dossier(engine, found.lead_uuid).transpose());
    let leads = dossiers.collect::<Result<_, _>>()?;
    Ok(PersonExport { exported_at: Utc::now().into(), leads })
}

/// The names of the companies that own the leads.
pub fn companies(engine: &MatchingEngine, leads: &[FoundLead]) -> BTreeMap<Uuid, String> {
    let tokens = Tokens::of(engine.records.store.clone());
    let companies: BTreeSet<Uuid> = leads.iter().map(|found| found.company_uuid).collect();
    companies.into_iter().map(|uuid| (uuid, tokens.name_of(uuid))).collect()
}

/// The uuids of the leads about a person. Lets the contact index catch up first.
///
/// # Errors
/// [`PersonRequestError`]
pub async fn leads(engine: &MatchingEngine, who: ContactDigest) -> Result<Vec<Uuid>, PersonRequestError> {
    let mut index = ContactIndex(engine.records.store.clone());
    match index.catch_up(Instant::now() + PATIENCE).await {
        Ok(true) => {}
        Ok(false) => return Err(PersonRequestError::Indexing),
        Err(failure) => {
            tracing::error!(%failure, "could not add leads to the index of persons");
            return Err(PersonRequestError::of(&failure));
        }
    }
    let store = &engine.records.store;
    store.found_by(&contacts::contact(store, who.kind, &who.digest)).map_err(|failure| {
        tracing::error!(%failure, "could not read the index of persons");
        PersonRequestError::of(&failure)
    })
}

impl OptOutCounts {
    /// Counts the digests of each kind.
    pub fn of(named: &OptOutDigests) -> Self {
        let [emails, phones, names] = named.each_ref().map(|(_, digests)| digests.len());
        Self { emails, phones, names }
    }

    /// The counts in words, such as `1 e-mail address, 2 phone numbers`.
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
