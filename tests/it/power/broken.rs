//! Promises that a campaign saw broken, each kind of it once with how often and where first.

use std::collections::BTreeMap;
use std::fmt;

/// What is wrong, by its kind.
#[derive(Debug, Default)]
pub struct Broken(BTreeMap<String, (usize, String)>);

impl Broken {
    /// Notes something that is wrong: of what kind, and where it was seen.
    pub fn note(&mut self, kind: &str, place: impl FnOnce() -> String) {
        let (times, _) = self.0.entry(kind.to_owned()).or_insert_with(|| (0, place()));
        *times += 1;
    }

    /// Fails if there is anything.
    pub fn hold(&self, what: &str) {
        assert!(self.0.is_empty(), "{what}: promises were broken\n{self}");
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, (times, place)) in &self.0 {
            writeln!(f, "{times:>6} times: {kind}\n              first: {}", place.trim_end())?;
        }
        Ok(())
    }
}
