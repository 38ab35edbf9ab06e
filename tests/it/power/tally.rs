//! The figures of a campaign.

use std::collections::BTreeMap;
use std::fmt;

use super::verdict::Verdict;

/// What a campaign found, by what was done to the store.
#[derive(Debug, Default)]
pub struct Tally {
    rows: BTreeMap<String, Row>,
    /// Why the first ones failed.
    pub broken: Vec<String>,
}

#[derive(Debug, Default)]
struct Row {
    cuts: usize,
    whole: usize,
    opened: usize,
    acknowledged: usize,
    missing_leads: usize,
    missing_tables: usize,
}

impl Tally {
    /// Adds what was found of one cut.
    pub fn add(&mut self, kind: &str, cut: &str, verdict: &Verdict) {
        let row = self.rows.entry(kind.to_owned()).or_default();
        row.cuts += 1;
        row.whole += usize::from(verdict.checked.is_ok());
        row.opened += usize::from(verdict.opened.is_ok());
        row.acknowledged += verdict.acknowledged;
        row.missing_leads += verdict.missing.leads;
        row.missing_tables += verdict.missing.tables.len();
        if !verdict.is_kept() {
            self.broken.push(format!("{kind}, {cut}: {verdict:?}"));
        }
    }

    /// Ends a campaign: prints its figures, and fails if a promise was broken.
    pub fn hold(&self, what: &str) {
        println!("{what}\n{self}");
        let first: Vec<&str> = self.broken.iter().take(12).map(String::as_str).collect();
        assert!(
            self.broken.is_empty(),
            "{}: {} cuts broke a promise:\n{}",
            what,
            self.broken.len(),
            first.join("\n")
        );
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<34} {:>6} {:>6} {:>6} {:>13} {:>14} {:>15}",
            "cut", "cuts", "whole", "opened", "acknowledged", "leads missing", "tables missing"
        )?;
        for (kind, row) in &self.rows {
            writeln!(
                f,
                "{kind:<34} {:>6} {:>6} {:>6} {:>13} {:>14} {:>15}",
                row.cuts, row.whole, row.opened, row.acknowledged, row.missing_leads, row.missing_tables
            )?;
        }
        Ok(())
    }
}
