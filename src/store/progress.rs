//! Progress of an operation that reads a whole store.

/// Progress of the current phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseProgress {
    /// Name of the phase.
    pub what: &'static str,
    /// Bytes read so far.
    pub read: u64,
    /// Approximate total; `None` if unknown.
    pub of: Option<u64>,
}

impl PhaseProgress {
    pub(super) fn begins(what: &'static str, of: Option<u64>) -> Self {
        Self { what, read: 0, of }
    }
}

/// Receives the progress of an operation.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(PhaseProgress);
