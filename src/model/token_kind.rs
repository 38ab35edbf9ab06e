//! The two kinds of access token (facts, Tokens).

use serde::{Deserialize, Serialize};

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TokenKind {
    /// Shipped in application code: submits leads, reads their rate tables, previews offers, records UI events.
    Publishable,
    /// Kept like a password: all of that, and reads leads and the analytics feeds.
    Confidential,
}
