//! Collecting what is wrong with a partner file, place by place, and the checks that everything in it shares.

mod conditions;
mod values;

pub use values::{is_absolute_url, is_key};

use crate::declaration::{Fault, Source};

/// Collects the faults of one partner file; knows the place that is being checked.
pub(in crate::partners) struct Checker<'a> {
    source: &'a Source,
    path: Vec<String>,
    faults: Vec<Fault>,
    remarks: Vec<Fault>,
    /// Whether what it looks at names pages of the samples that were looked at before.
    knows_samples: bool,
}

impl<'a> Checker<'a> {
    /// Begins with a file that has no faults yet.
    pub fn new(source: &'a Source) -> Self {
        Self { source, path: Vec::new(), faults: Vec::new(), remarks: Vec::new(), knows_samples: false }
    }

    /// Begins with what a file said that has no faults, changed since.
    pub fn anew(source: &'a Source) -> Self {
        Self { knows_samples: true, ..Self::new(source) }
    }

    /// The table at the place that is being checked, as it is written.
    pub fn table(&self) -> Option<&toml::Table> {
        let mut steps = self.path.iter().flat_map(|key| key.split('.'));
        let found = steps.try_fold(None, |within: Option<&toml::Value>, step| {
            let (key, nth) =
                step.split_once('[').map_or((step, None), |(key, nth)| (key, nth.strip_suffix(']')));
            let table = within.map_or(Some(self.source.table()), toml::Value::as_table)?;
            let value = table.get(key)?;
            Some(Some(nth.map_or(Some(value), |nth| value.get(nth.parse::<usize>().ok()?))?))
        });
        found.flatten()?.as_table()
    }

    /// How many faults there are so far.
    pub fn count(&self) -> usize {
        self.faults.len()
    }

    /// What was found that is no fault, and may not be what was meant.
    pub fn remarks(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.remarks)
    }

    /// The faults that were found.
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults
    }
}
