//! Imports the lines of an export into a new store.

use std::collections::HashMap;

use serde::Deserialize;
use uuid::Uuid;

use super::VERSION;
use super::line::{ExportHeader, ExportLine, ExportTrailer};
use offerd_engine::conversions::partner_events::{self, ReportRecord};
use offerd_engine::rate_table::record::{AnswerRecord, TableHead};
use offerd_engine::rate_table::transcript::Transcript;
use offerd_engine::records::identity::identity_of;
use offerd_store::entities::{CompanyRecord, LeadRecord, Tag};
use offerd_store::{Commit, Seal, Store, TREES, Tree, codec};

const AT_ONCE: usize = 256;

/// An import in progress, fed line by line.
pub struct RecordImport {
    store: Store,
    lead_of: HashMap<Uuid, Uuid>,
    look_back_minutes: HashMap<Uuid, u32>,
    waiting: Vec<Commit>,
    /// The tree of the previous record: a tree is complete before the next, which may depend on it.
    tree: Option<Tree>,
    begun: bool,
    ended: bool,
    records: u64,
}

/// Why an import failed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The first line is not that of an export.
    #[error("is not the first line of an export of offerd")]
    Foreign,
    /// The export is of another version.
    #[error(
        "begins an export of version `{0}`, this offerd reads `{VERSION}`: import it with the offerd that wrote it", VERSION = VERSION
    )]
    Version(u32),
    /// The export lacks personal data.
    #[error("begins an export without personal data, which cannot restore a store")]
    Incomplete,
    /// A line is malformed, or no record of its tree.
    #[error("is not a record of a store")]
    Line,
    /// The last line is missing or not last, or lines are missing.
    #[error("is not where the export ends: lines are missing, or too many")]
    NotWhole,
    /// The store could not be written.
    #[error("could not be written: {0}")]
    Store(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeadUuidField {
    lead_uuid: Uuid,
}

impl RecordImport {
    /// Starts an import into a new store.
    pub fn into(store: Store) -> Self {
        let (lead_of, look_back_minutes, waiting) = Default::default();
        let (begun, ended) = (false, false);
        Self { store, lead_of, look_back_minutes, waiting, tree: None, begun, ended, records: 0 }
    }

    /// Imports a line.
    ///
    /// # Errors
    /// The fault of the line.
    pub async fn add(&mut self, line: &[u8]) -> Result<(), ImportError> {
        if !std::mem::replace(&mut self.begun, true) {
            let heading: ExportHeader = serde_json::from_slice(line).map_err(|_| ImportError::Foreign)?;
            return match heading {
                ExportHeader { offerd_export: VERSION, personal_data: true } => Ok(()),
                ExportHeader { offerd_export: VERSION, personal_data: false } => Err(ImportError::Incomplete),
                ExportHeader { offerd_export, .. } => Err(ImportError::Version(offerd_export)),
            };
        }
        if self.ended {
            return Err(ImportError::NotWhole);
        }
        if let Ok(ExportTrailer { records }) = serde_json::from_slice(line) {
            self.ended = true;
            return if records == self.records { Ok(()) } else { Err(ImportError::NotWhole) };
        }
        let (tree, key, payload) = read(line).ok_or(ImportError::Line)?;
        if self.tree.replace(tree) != Some(tree) || self.waiting.len() >= AT_ONCE {
            self.write().await?;
        }
        // Older exports contain these. Projections read the imported feeds from the beginning.
        if tree != Tree::Followers {
            let commit = self.commit(tree, key, payload).ok_or(ImportError::Line)?;
            self.waiting.push(commit);
        }
        self.records += 1;
        Ok(())
    }

    /// Finishes the import; returns the number of records.
    ///
    /// # Errors
    /// Lines are missing.
    pub async fn finish(mut self) -> Result<u64, ImportError> {
        self.write().await?;
        if self.ended { Ok(self.records) } else { Err(ImportError::NotWhole) }
    }

    async fn write(&mut self) -> Result<(), ImportError> {
        let written = self.store.commit_all(std::mem::take(&mut self.waiting), |_| false).await;
        written.map_err(|error| ImportError::Store(error.to_string()))
    }

    /// The commit that writes a record; `None` if it is no record of its tree.
    fn commit(&mut self, tree: Tree, mut key: Vec<u8>, mut payload: Vec<u8>) -> Option<Commit> {
        match tree {
            Tree::PartnerEvents | Tree::ErasedReports => {
                let report: ReportRecord = codec::decode_json(&payload).ok()?;
                let transaction = &report.event.transaction_id;
                let hash = partner_events::key(&self.store, &report.partner, transaction);
                // The time behind the hash stays.
                key.get_mut(..hash.len())?.copy_from_slice(&hash);
            }
            Tree::Transcripts => {
                let transcript: Transcript = codec::decode(&payload).ok()?;
                payload = self.store.seal_for(transcript.keep_ms, &payload).ok()?;
            }
            Tree::RateTables => {
                let head: TableHead = codec::decode(&payload).ok()?;
                self.lead_of.insert(head.uuid, head.lead);
            }
            Tree::Answers => {
                let record: AnswerRecord = codec::decode(&payload).ok()?;
                if record.answers.len() != record.asked.len() {
                    return None;
                }
            }
            Tree::Companies => {
                let company: CompanyRecord = codec::decode_json(&payload).ok()?;
                let minutes = company.duplicate_look_back_minutes.unwrap_or(0);
                self.look_back_minutes.insert(Uuid::from_slice(&key).ok()?, minutes);
            }
            _ => {}
        }
        let lead = match tree.row().seal {
            Seal::Lead => Some(self.lead(tree, &key, &payload)?),
            Seal::Open | Seal::Own | Seal::Ephemeral => None,
        };
        let commit = lead.into_iter().fold(Commit::new(), Commit::about);
        let commit = if tree == Tree::Leads { self.identified(commit, &payload)? } else { commit };
        Some(commit.put(tree, key, payload))
    }

    fn lead(&self, tree: Tree, key: &[u8], payload: &[u8]) -> Option<Uuid> {
        match tree {
            Tree::Answers | Tree::Calls | Tree::Transcripts => {
                self.lead_of.get(&Uuid::from_slice(key.get(..16)?).ok()?).copied()
            }
            Tree::PartnerEvents => Some(codec::decode_json::<ReportRecord>(payload).ok()?.receipt.lead_uuid),
            Tree::LeadClientTags => Some(codec::decode::<Vec<Tag>>(payload).ok()?.first()?.lead),
            Tree::OfferDisplays => Some(codec::decode_json::<LeadUuidField>(payload).ok()?.lead_uuid),
            _ => Uuid::from_slice(key.get(..16)?).ok(),
        }
    }

    /// Adds the lead's identity for detecting duplicates, if its company looks back for them.
    fn identified(&self, commit: Commit, payload: &[u8]) -> Option<Commit> {
        let record: LeadRecord = codec::decode_json(payload).ok()?;
        let look_back_minutes = self.look_back_minutes.get(&record.company).copied().unwrap_or(0);
        let look_back_ms = i64::from(look_back_minutes) * 60_000;
        Some(match identity_of(&self.store, &record).filter(|_| look_back_ms > 0) {
            Some(identity) => commit.identify(record.company, identity, record.created_at, look_back_ms),
            None => commit,
        })
    }
}

fn read(line: &[u8]) -> Option<(Tree, Vec<u8>, Vec<u8>)> {
    let line: ExportLine = serde_json::from_slice(line).ok()?;
    let tree = TREES.iter().find(|row| row.name == line.tree)?.tree;
    Some((tree, const_hex::decode(&line.key).ok()?, line.payload(tree)?))
}
