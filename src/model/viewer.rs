//! Who asks for records, and by which of the two kinds of access token (facts, Tokens).

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TokenKind {
    /// Shipped in application code: submits leads, reads their rate tables, previews offers, records UI events.
    Publishable,
    /// Kept like a password: all of that, and reads leads and the analytics feeds.
    Confidential,
}

/// A company by one of its tokens: it sees its own records only and, by a test token, only those of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// The company.
    pub company: Uuid,
    /// Whether it asks by a test token.
    pub test: bool,
}

impl Viewer {
    /// A company that sees all of its records.
    pub fn of_all(company: Uuid) -> Self {
        Self { company, test: false }
    }

    /// Whether it sees a record of a company, which is of a test or not.
    pub fn sees(self, company: Uuid, test: bool) -> bool {
        self.company == company && self.sees_kind(test)
    }

    /// Whether it sees those of its records that are of tests, or those that are not.
    pub fn sees_kind(self, test: bool) -> bool {
        test || !self.test
    }
}
