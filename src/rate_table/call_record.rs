//! What the store keeps of an ask that takes several calls: how far they had come, so that a call that may be made but once is not
//! made again after a restart, and what was learnt before it is not asked for again.

use serde::{Deserialize, Serialize};

/// By rate table and seat. An ask that needs none has none.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// When, Unix milliseconds.
    pub at: i64,
    /// The step whose call was to be made.
    pub step: u8,
    /// Whether that call was about to be sent; else it was only the next.
    pub sent: bool,
    /// What the partner has bid for the lead, dollars.
    pub bid: Option<f64>,
    /// What was kept of the partner's answers before, a JSON object.
    pub kept: String,
    /// What the partner has called us with.
    pub heard: Option<Heard>,
}

/// A call of a partner's, a person's data.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// Tells nothing of what the partner has answered.
impl std::fmt::Debug for CallRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { at, step, sent, bid, .. } = self;
        f.debug_struct("CallRecord")
            .field("at", at)
            .field("step", step)
            .field("sent", sent)
            .field("bid", bid)
            .finish_non_exhaustive()
    }
}
