//! How far a count has come. Written with the cells that were counted, so that each record is counted once, whatever crashes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::measure::Measure;

/// How far the feeds of a company are counted: the arrival of the first record that is not, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Of the feed of lead events.
    pub events_us: u64,
    /// Of the feed of payouts.
    pub payouts_us: u64,
}

/// How far a count has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// How often was written; the number of the next part.
    pub writes: u32,
    /// How far the feeds of each company are counted.
    pub cursors: BTreeMap<Uuid, Cursor>,
    /// Rate tables that were open when they were met, each under its company: they are counted when they are complete.
    pub open: BTreeSet<(Uuid, Uuid)>,
    /// The tags that are counted, in the order of their numbers.
    pub tags: Vec<String>,
    /// What each partner ever reported, a bit for each measure; the key is the partner's.
    pub reported: BTreeMap<String, u8>,
}

impl State {
    /// Notes that a partner has reported something.
    pub fn note_reported(&mut self, partner: &str, measure: Measure) {
        let bit = 1 << measure as u8;
        match self.reported.get_mut(partner) {
            Some(bits) => *bits |= bit,
            None => drop(self.reported.insert(partner.to_owned(), bit)),
        }
    }

    /// Whether a partner, or any where none is named, ever reported something.
    pub fn has_reported(&self, partner: Option<&str>, measure: Measure) -> bool {
        let bit = 1 << measure as u8;
        match partner {
            Some(partner) => self.reported.get(partner).is_some_and(|bits| bits & bit != 0),
            None => self.reported.values().any(|bits| bits & bit != 0),
        }
    }
}
