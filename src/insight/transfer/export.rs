//! Telling a store line by line.

use serde::Serialize;

use super::VERSION;
use super::line::{End, Heading, Line};
use offerd_engine::records::public_ids::{KEPT_AS, PublicIds};
use offerd_store::{Seal, Store, TREES, Tree, TreeRow};

/// How often in a row what is to be read next may be unreadable, before nothing is any more.
const UNREAD_MAX: u64 = 1000;

/// What was told of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exported {
    /// How many records.
    pub records: u64,
    /// How often the disk or an index could not be read: what lies there is left out.
    pub unread: u64,
}

/// Hands over the lines of a store that nobody writes to meanwhile, each with how many records were told until then; without what
/// is sealed in it unless `personal_data` are wished for.
///
/// # Errors
/// That nothing can be read any more, or what `take` says; a sentence.
pub fn export(
    store: &Store,
    personal_data: bool,
    mut take: impl FnMut(String, u64) -> Result<(), String>,
) -> Result<Exported, String> {
    let (mut told, mut unread_in_a_row) = (Exported::default(), 0);
    take(json(&Heading { offerd_export: VERSION, personal_data }), 0)?;
    if personal_data {
        // The importing store has other keys, but these uuids are out in the world.
        told.records += 1;
        take(json(&Line::of(Tree::Meta, KEPT_AS, PublicIds::of(store).key())), told.records)?;
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
            // The importing store has a format, and volumes, of its own.
            if tree == Tree::Meta && key != b"last_arrival" {
                continue;
            }
            // It has other keys for these.
            let opened = if tree == Tree::Transcripts { store.open_in_time(&payload) } else { Some(payload) };
            let Some(payload) = opened else { continue };
            told.records += 1;
            take(json(&Line::of(tree, &key, &payload)), told.records)?;
        }
    }
    take(json(&End { records: told.records }), told.records)?;
    Ok(told)
}

/// What is told, of which trees.
fn is_told(row: &TreeRow, personal_data: bool) -> bool {
    let apart = matches!(row.tree, Tree::LeadKeys | Tree::Identities | Tree::Repeats | Tree::Followers);
    !apart && row.seal != Seal::Passing && (row.seal == Seal::Open || personal_data)
}

fn json(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("a line has string keys")
}
