//! Where a tally is kept, and where the fold keeps how far it has come.

use chrono::{Datelike, NaiveDate};
use uuid::Uuid;

use super::{Grain, Scope};

/// The place of a tally. All of one scope and grain stand in a row, by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TallyKey {
    /// Whose it is.
    pub scope: Scope,
    /// Whether of a day or of a month.
    pub grain: Grain,
    /// Its first day.
    pub period: NaiveDate,
}

impl TallyKey {
    /// The place of a day, or of the month that it is in.
    pub fn of(scope: Scope, grain: Grain, day: NaiveDate) -> Self {
        let period = match grain {
            Grain::Day => day,
            Grain::Month => day.with_day(1).unwrap_or(day),
        };
        Self { scope, grain, period }
    }

    /// Its key without the time.
    pub fn prefix(&self) -> Vec<u8> {
        let Scope { test, company, product_type } = self.scope;
        let mut key = vec![if self.grain == Grain::Day { b'd' } else { b'm' }, u8::from(test)];
        key.extend_from_slice(company.unwrap_or_default().as_bytes());
        key.extend_from_slice(product_type.map_or("", |product_type| product_type.as_str()).as_bytes());
        key.push(0);
        key
    }

    /// Its key.
    pub fn key(&self) -> Vec<u8> {
        let mut key = self.prefix();
        // Days before the first year are no days of ours.
        key.extend_from_slice(&u32::try_from(self.period.num_days_from_ce()).unwrap_or(0).to_be_bytes());
        key
    }
}

/// The key of how many steps the fold has taken.
pub const STEPS: &[u8] = b"s";

/// The key of how far the feeds of a company are counted.
pub fn cursor(company: Uuid) -> Vec<u8> {
    [b"c", &company.as_bytes()[..]].concat()
}

/// The keys of tables of a company whose offers are to be counted once they are complete.
pub fn open_tables(company: Uuid) -> Vec<u8> {
    [b"o", &company.as_bytes()[..]].concat()
}

/// The key of one of them.
pub fn open_table(company: Uuid, table: Uuid) -> Vec<u8> {
    [&open_tables(company)[..], table.as_bytes()].concat()
}

/// The table of such a key.
pub fn table_of(open_table: &[u8]) -> Option<Uuid> {
    Uuid::from_slice(open_table.get(17..)?).ok()
}
