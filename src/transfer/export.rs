//! Telling a store line by line.

use serde::Serialize;

use super::VERSION;
use super::line::{End, Heading, Line};
use crate::records::public_ids::{KEPT_AS, PublicIds};
use crate::store::{ReadError, Scan, Seal, Store, TREES, Tree, TreeRow};

/// How often in a row what is to be read next may be unreadable, before nothing is any more.
const UNREAD_MAX: u64 = 1000;

/// The lines of a store that nobody writes to meanwhile.
pub struct Export {
    store: Store,
    personal_data: bool,
    trees: std::slice::Iter<'static, TreeRow>,
    scan: Option<(Tree, Scan)>,
    records: u64,
    unread: u64,
    unread_in_a_row: u64,
    begun: bool,
    ended: bool,
    /// The key of the offers' uuids, until it is told.
    offer_ids: Option<PublicIds>,
}

impl Export {
    /// The lines of a store; without what is sealed in it unless `personal_data` are wished for.
    pub fn of(store: Store, personal_data: bool) -> Self {
        let trees = TREES.iter();
        let offer_ids = personal_data.then(|| PublicIds::of(&store));
        let (records, unread, unread_in_a_row) = (0, 0, 0);
        Self {
            store,
            personal_data,
            trees,
            scan: None,
            records,
            unread,
            unread_in_a_row,
            begun: false,
            ended: false,
            offer_ids,
        }
    }

    /// How often the disk or an index could not be read: what lies there is left out.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// How many records were told so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What is told, of which trees.
    fn is_told(&self, row: &TreeRow) -> bool {
        let apart = matches!(row.tree, Tree::LeadKeys | Tree::Identities | Tree::Repeats | Tree::Followers);
        !apart && row.seal != Seal::Passing && (row.seal == Seal::Open || self.personal_data)
    }

    /// The next record, and the tree it is of.
    fn record(&mut self) -> Option<Result<Line, ReadError>> {
        // The importing store has other keys, but these uuids are out in the world.
        if let Some(ids) = self.offer_ids.take() {
            return Some(Ok(Line::of(Tree::Meta, KEPT_AS, ids.key())));
        }
        loop {
            if let Some((tree, scan)) = &mut self.scan {
                match scan.next() {
                    // The importing store has a format, and volumes, of its own.
                    Some(Ok((key, _))) if *tree == Tree::Meta && key != b"last_arrival" => continue,
                    Some(Ok((key, payload))) => {
                        self.unread_in_a_row = 0;
                        // The importing store has other keys for these.
                        let payload = match tree {
                            Tree::Transcripts => self.store.open_in_time(&payload),
                            _ => Some(payload),
                        };
                        let Some(payload) = payload else { continue };
                        return Some(Ok(Line::of(*tree, &key, &payload)));
                    }
                    Some(Err(error)) => {
                        self.unread += 1;
                        self.unread_in_a_row += 1;
                        if self.unread_in_a_row > UNREAD_MAX {
                            return Some(Err(error));
                        }
                        continue;
                    }
                    None => {}
                }
            }
            let row = self.trees.next()?;
            self.scan = self.is_told(row).then(|| (row.tree, self.store.scan(row.tree, [])));
        }
    }
}

impl Iterator for Export {
    type Item = Result<String, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(Ok(json(&Heading { offerd_export: VERSION, personal_data: self.personal_data })));
        }
        match self.record() {
            Some(line) => {
                self.records += 1;
                Some(line.map(|line| json(&line)))
            }
            None if std::mem::replace(&mut self.ended, true) => None,
            None => Some(Ok(json(&End { records: self.records }))),
        }
    }
}

fn json(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("a line has string keys")
}
