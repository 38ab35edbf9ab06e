//! The values of a dimension, each with an id, so that cells hold numbers.

use std::collections::HashMap;

/// The id of an unknown value: the lead was erased before it was counted.
pub const UNKNOWN: u32 = 0;
/// The id of a missing value.
pub const NONE: u32 = 1;
/// The id shared by values beyond the limit.
pub const OTHER: u32 = 2;

const RESERVED: [&str; 3] = ["(unknown)", "(none)", "(other)"];

const LOST: &str = "(lost)";

/// The most bytes of a value with its own id.
const LONGEST: usize = 200;

/// The values of one dimension at one company.
#[derive(Debug, Clone)]
pub struct Names {
    ids: HashMap<String, u32>,
    /// Every value, by id.
    pub names: Vec<String>,
    /// How many of them are stored.
    written: usize,
}

/// The name of an offer: the keys of its partner and its own.
pub fn offer(partner: &str, key: &str) -> String {
    format!("{partner}/{key}")
}

/// The name of a reserved id.
pub fn named(id: u32) -> String {
    RESERVED[id as usize].to_owned()
}

impl Default for Names {
    fn default() -> Self {
        let names: Vec<String> = RESERVED.map(str::to_owned).to_vec();
        let ids = (0..).zip(&names).map(|(id, name)| (name.clone(), id)).collect();
        Self { ids, written: names.len(), names }
    }
}

impl Names {
    /// Adds stored values, the first with the id `first`; fills any gap with lost values.
    pub fn load(&mut self, first: u32, stored: Vec<String>) {
        let missing = (first as usize).saturating_sub(self.names.len());
        for name in std::iter::repeat_n(LOST.to_owned(), missing).chain(stored) {
            self.ids.insert(name.clone(), self.names.len() as u32);
            self.names.push(name);
        }
        self.written = self.names.len();
    }

    /// The id of a value; assigns one while fewer than `most` have one.
    pub fn id(&mut self, name: &str, most: usize) -> u32 {
        if let Some(known) = self.ids.get(name) {
            return *known;
        }
        if name.len() > LONGEST || self.names.len() - RESERVED.len() >= most {
            return OTHER;
        }
        let id = self.names.len() as u32;
        self.ids.insert(name.to_owned(), id);
        self.names.push(name.to_owned());
        id
    }

    /// The id of a value, if it has one.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// The values that are not stored yet, with the first one's id.
    pub fn unwritten(&self) -> Option<(u32, &[String])> {
        let rest = &self.names[self.written..];
        (!rest.is_empty()).then_some((self.written as u32, rest))
    }

    /// Notes that all values are stored.
    pub fn note_written(&mut self) {
        self.written = self.names.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_lost_takes_its_own_values_along_and_no_others() {
        let mut names = Names::default();
        names.load(3, vec!["a".to_owned()]);
        names.load(6, vec!["d".to_owned()]);
        assert_eq!(names.names[3..], ["a", LOST, LOST, "d"]);
        assert_eq!((names.find("d"), names.id("e", 9)), (Some(6), 7));
    }

    #[test]
    fn values_beyond_the_limit_and_overlong_ones_count_together() {
        let mut names = Names::default();
        let ids = ["a", "b", "a", "c"].map(|name| names.id(name, 2));
        assert_eq!(ids, [3, 4, 3, OTHER]);
        assert_eq!(names.id(&"x".repeat(LONGEST + 1), 9), OTHER);
        assert_eq!((names.id("(none)", 2), names.find("c")), (NONE, None));
        assert_eq!(names.unwritten().unwrap(), (3, &["a".to_owned(), "b".to_owned()][..]));
    }
}
