//! Collecting what is wrong with a partner file, place by place, and the checks that everything in it shares.

mod conditions;
mod values;

pub use values::is_absolute_url;

use crate::declaration::{Fault, Source};

/// Collects the faults of one partner file; knows the place that is being checked.
pub(in crate::partners) struct Checker<'a> {
    source: &'a Source,
    path: Vec<String>,
    faults: Vec<Fault>,
}

impl<'a> Checker<'a> {
    /// Begins with a file that has no faults yet.
    pub fn new(source: &'a Source) -> Self {
        Self { source, path: Vec::new(), faults: Vec::new() }
    }

    /// How many faults there are so far.
    pub fn count(&self) -> usize {
        self.faults.len()
    }

    /// The faults that were found.
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults
    }
}
