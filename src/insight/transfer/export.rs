//! Exports a store line by line.

use serde::Serialize;

use super::VERSION;
use super::line::{ExportHeader, ExportLine, ExportTrailer};
use offerd_engine::records::public_ids::{KEPT_AS, PublicIds};
use offerd_store::{Seal, Store, TREES, Tree, TreeRow};

/// The most consecutive unreadable records before the export gives up.
const UNREAD_MAX: u64 = 1000;

/// The result of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exported {
    /// The number of records.
    pub records: u64,
    /// Reads of the disk or an index that failed; the records there are missing.
    pub unread: u64,
}

/// Passes the lines of a store that is not being written to `take`, each with the number of records so far.
/// Sealed records are left out unless `personal_data` is set.
///
/// # Errors
/// Nothing can be read any more, or the error of `take`; a sentence.
pub fn export(
    store: &Store,
    personal_data: bool,
    mut take: impl FnMut(String, u64) -> Result<(), String>,
) -> Result<Exported, String> {
    let (mut told, mut unread_in_a_row) = (Exported::default(), 0);
    take(json(&ExportHeader { offerd_export: VERSION, personal_data }), 0)?;
    if personal_data {
        // The importing store has other keys, but clients already hold these uuids.
        told.records += 1;
        take(json(&ExportLine::of(Tree::Meta, KEPT_AS, PublicIds::of(store).key())), told.records)?;
    }
    for tree in TREES.iter().filter(|row| is_told(row, personal_data)).map(|row| row.tree) {
        for found in store.scan(tree, []) {
            let (key, payload) = match found {
                Ok(found) => found,
                Err(error) if unread_in_a_row == UNREAD_MAX => return Err(error.to_string()),
                Err(_) => {
                    told.unread += 1;
                    unread_in_a_row += 1;
                    continue;
                }
            };
            unread_in_a_row = 0;
            // The importing store has its own format and volumes.
            if tree == Tree::Meta && key != b"last_arrival" {
                continue;
            }
            // The importing store has other keys for these.
            let opened = if tree == Tree::Transcripts { store.open_in_time(&payload) } else { Some(payload) };
            let Some(payload) = opened else { continue };
            told.records += 1;
            take(json(&ExportLine::of(tree, &key, &payload)), told.records)?;
        }
    }
    take(json(&ExportTrailer { records: told.records }), told.records)?;
    Ok(told)
}

fn is_told(row: &TreeRow, personal_data: bool) -> bool {
    let apart = matches!(row.tree, Tree::LeadKeys | Tree::Identities | Tree::Repeats | Tree::Followers);
    !apart && row.seal != Seal::Ephemeral && (row.seal == Seal::Open || personal_data)
}

fn json(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("a line has string keys")
}
