//! How far a count has come. Written with the cells that were counted, so that each record is counted once, whatever crashes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::measure::Measure;

/// How far a count has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// How often was written; the number of the next part.
    pub writes: u32,
    /// How far the [feeds](crate::records::projection::FEEDS) of each company are counted: the arrival of the first record that is not, in
    /// microseconds.
    pub cursors: BTreeMap<Uuid, [u64; 2]>,
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
        *self.reported.entry(partner.to_owned()).or_default() |= 1 << measure as u8;
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
