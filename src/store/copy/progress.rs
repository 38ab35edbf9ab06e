//! How far a copy is.

/// How far a copy is, in what it does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    /// What it does.
    pub what: &'static str,
    /// How many bytes were read for it.
    pub read: u64,
    /// How many there are, about.
    pub of: u64,
}

impl CopyProgress {
    /// Nothing was read yet.
    pub(super) fn of(what: &'static str, of: u64) -> Self {
        Self { what, read: 0, of }
    }
}
