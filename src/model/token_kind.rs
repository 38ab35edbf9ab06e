//! The kinds of access tokens, and the doubt about a token.

use serde::{Deserialize, Serialize};

/// The kind of a token, which decides what it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TokenKind {
    /// For application code: submits leads, reads their rate tables, previews offers, records UI events.
    Publishable,
    /// Secret: may do all of that, and read leads and the analytics feeds.
    Confidential,
}

/// A token or a key can be neither accepted nor refused: its record cannot be read, or may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InDoubt;
