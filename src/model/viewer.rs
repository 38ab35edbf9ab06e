//! The company that reads records.

use uuid::Uuid;

/// A company with one of its tokens. It sees only its own records and, with a test token, only test records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// The company.
    pub company: Uuid,
    /// Whether the token is a test token.
    pub test: bool,
}

impl Viewer {
    /// A company that sees all of its records.
    pub fn of_all(company: Uuid) -> Self {
        Self { company, test: false }
    }

    /// Whether it sees a record of `company`; `test` marks test records.
    pub fn sees(self, company: Uuid, test: bool) -> bool {
        self.company == company && self.sees_kind(test)
    }

    /// Whether it sees its own test records, or its own live ones.
    pub fn sees_kind(self, test: bool) -> bool {
        test || !self.test
    }
}
