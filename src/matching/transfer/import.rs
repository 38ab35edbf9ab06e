//! Making a store of lines.

use std::collections::HashMap;
use std::{error, fmt};

use futures_util::future::join_all;
use serde::Deserialize;
use uuid::Uuid;

use super::VERSION;
use super::line::{End, Heading, Line, unhex};
use crate::matching::identity::identity_key;
use crate::matching::partner_events::{self, ReportRecord};
use crate::matching::record::TableHead;
use crate::store::entities::{LeadRecord, Tag};
use crate::store::{Commit, Seal, Store, TREES, Tree, codec};

/// How many records are written at once.
const AT_ONCE: usize = 256;

/// An import that goes on with each line.
pub struct Import {
    store: Store,
    /// The lead of each rate table.
    lead_of: HashMap<Uuid, Uuid>,
    waiting: Vec<Commit>,
    /// The tree of the record before: what is of the next may need what is of it.
    tree: Option<Tree>,
    begun: bool,
    ended: bool,
    records: u64,
}

/// Why lines cannot be imported.
#[derive(Debug, PartialEq, Eq)]
pub enum ImportError {
    /// The first line is not that of an export.
    Foreign,
    /// The export was made by a newer offerd.
    Newer(u32),
    /// The export is one without personal data.
    Incomplete,
    /// A line is none, or no record of its tree.
    Line,
    /// The lines end before the last one, or go on behind it, or some are missing.
    NotWhole,
    /// The store could not be written.
    Store(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfLead {
    lead_uuid: Uuid,
}

impl Import {
    /// Imports into a store that is new.
    pub fn into(store: Store) -> Self {
        Self {
            store,
            lead_of: HashMap::new(),
            waiting: Vec::new(),
            tree: None,
            begun: false,
            ended: false,
            records: 0,
        }
    }

    /// Takes in a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub async fn add(&mut self, line: &[u8]) -> Result<(), ImportError> {
        if !std::mem::replace(&mut self.begun, true) {
            let heading: Heading = serde_json::from_slice(line).map_err(|_| ImportError::Foreign)?;
            return match heading {
                Heading { offerd_export: VERSION, personal_data: true } => Ok(()),
                Heading { offerd_export: VERSION, personal_data: false } => Err(ImportError::Incomplete),
                Heading { offerd_export, .. } => Err(ImportError::Newer(offerd_export)),
            };
        }
        if self.ended {
            return Err(ImportError::NotWhole);
        }
        if let Ok(End { records }) = serde_json::from_slice(line) {
            self.ended = true;
            return if records == self.records { Ok(()) } else { Err(ImportError::NotWhole) };
        }
        let (tree, key, payload) = read(line).ok_or(ImportError::Line)?;
        if self.tree.replace(tree) != Some(tree) || self.waiting.len() >= AT_ONCE {
            self.write().await?;
        }
        let commit = self.commit(tree, key, payload).ok_or(ImportError::Line)?;
        self.waiting.extend(commit);
        self.records += 1;
        Ok(())
    }

    /// Ends the import, and tells how many records there were.
    ///
    /// # Errors
    /// That lines are missing.
    pub async fn finish(mut self) -> Result<u64, ImportError> {
        self.write().await?;
        if self.ended { Ok(self.records) } else { Err(ImportError::NotWhole) }
    }

    async fn write(&mut self) -> Result<(), ImportError> {
        let commits = std::mem::take(&mut self.waiting);
        let written = join_all(commits.into_iter().map(|commit| self.store.commit(commit))).await;
        let failed = written.into_iter().find_map(Result::err);
        failed.map_or(Ok(()), |error| Err(ImportError::Store(error.to_string())))
    }

    /// What is to be written of a record, if anything; the outer `None` when it is no record of its tree.
    fn commit(&mut self, tree: Tree, key: Vec<u8>, payload: Vec<u8>) -> Option<Option<Commit>> {
        let key = match tree {
            Tree::Identities => match self.identity(&payload) {
                Some(key) => key,
                // Its lead was erased.
                None => return Some(None),
            },
            Tree::PartnerEvents => {
                let report: ReportRecord = codec::decode_json(&payload).ok()?;
                partner_events::key(&self.store, &report.partner, &report.event.transaction_id).to_vec()
            }
            _ => key,
        };
        if tree == Tree::RateTables {
            let head: TableHead = codec::decode(&payload).ok()?;
            self.lead_of.insert(head.uuid, head.lead);
        }
        let lead = match tree.row().seal {
            Seal::Lead => Some(self.lead(tree, &key, &payload)?),
            Seal::Open | Seal::Own => None,
        };
        let commit = Commit::new().put(tree, key, payload);
        Some(Some(match lead {
            Some(lead) => commit.about(lead),
            None => commit,
        }))
    }

    /// The lead that a record is about.
    fn lead(&self, tree: Tree, key: &[u8], payload: &[u8]) -> Option<Uuid> {
        match tree {
            Tree::Answers => self.lead_of.get(&Uuid::from_slice(key.get(..16)?).ok()?).copied(),
            Tree::PartnerEvents => Some(codec::decode_json::<ReportRecord>(payload).ok()?.receipt.lead_uuid),
            Tree::LeadClientTags => Some(codec::decode::<Vec<Tag>>(payload).ok()?.first()?.lead),
            Tree::OfferDisplays => Some(codec::decode_json::<OfLead>(payload).ok()?.lead_uuid),
            _ => Uuid::from_slice(key.get(..16)?).ok(),
        }
    }

    /// Under which the duplicates of a lead are known here.
    fn identity(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let lead = Uuid::from_slice(payload.get(8..)?).ok()?;
        let lead = self.store.get(Tree::Leads, lead.as_bytes()).ok()??;
        let record: LeadRecord = codec::decode_json(&lead).ok()?;
        identity_key(&self.store, &record)
    }
}

fn read(line: &[u8]) -> Option<(Tree, Vec<u8>, Vec<u8>)> {
    let line: Line = serde_json::from_slice(line).ok()?;
    let tree = TREES.iter().find(|row| row.name == line.tree)?.tree;
    Some((tree, unhex(&line.key)?, line.payload(tree)?))
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => write!(f, "is not the first line of an export of offerd's"),
            Self::Newer(found) => {
                write!(f, "begins an export of version `{found}`, this offerd reads `{VERSION}`")
            }
            Self::Incomplete => write!(f, "begins an export without personal data, which is no whole store"),
            Self::Line => write!(f, "is no record of a store"),
            Self::NotWhole => write!(f, "is not where the export ends: lines are missing, or too many"),
            Self::Store(reason) => write!(f, "could not be written: {reason}"),
        }
    }
}

impl error::Error for ImportError {}
