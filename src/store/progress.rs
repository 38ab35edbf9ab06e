//! How far something is that reads a whole store.

/// How far it is, in what it does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub what: &'static str,
    /// How many bytes were read for it.
    pub read: u64,
    /// How many there are, about; nothing where that is not known.
    pub of: Option<u64>,
}

impl Progress {
    /// Nothing was read yet.
    pub(super) fn begins(what: &'static str, of: Option<u64>) -> Self {
        Self { what, read: 0, of }
    }
}
