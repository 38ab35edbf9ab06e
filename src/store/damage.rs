//! Damage: parts of the store's files that differ from what was written, and the messages that report it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::trees::Tree;

/// Damage to a file of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("`{file}`{what}")]
pub struct FileDamage {
    /// The volume of the file, 0 for the base; `None` if it belongs to none.
    pub volume: Option<u32>,
    /// The file, relative to the store's directory.
    pub file: String,
    /// The fault.
    pub what: DamageKind,
}

/// The fault of a file, as a phrase that follows its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum DamageKind {
    /// It does not exist.
    #[error(" is missing")]
    Missing,
    /// It is shorter than it was.
    #[error(" is cut off at byte {bytes} of at least {wanted}{}", lost(*.records))]
    CutShort {
        /// Its length in bytes.
        bytes: u64,
        /// The least length it had, in bytes.
        wanted: u64,
        /// The records behind its end that a check has found in the index; 0 if none, or unknown.
        #[serde(default)]
        records: u64,
    },
    /// It is redundant: nothing is lost.
    #[error(" is damaged; nothing is lost, since another file has the same data")]
    Spare,
    /// It was missing or damaged, and the open store wrote it again: nothing is lost.
    #[error(" was missing or damaged; nothing is lost, it was written again")]
    Rewritten,
    /// It is missing or damaged, and could not be written again, for this reason. The open store does not
    /// need it, but the next start does.
    #[error(" is missing or damaged and cannot be written again: {0}; the next start needs it")]
    Unwritable(String),
    /// The manifest and its copy are lost. The rebuilt list cannot reveal missing files.
    #[error(" and its copy are lost; the store rebuilt the list from its files")]
    Unlisted,
    /// It cannot be opened, for this reason.
    #[error(" cannot be used: {0}")]
    Unusable(String),
    /// The disk cannot read some of its bytes. They may still be sound.
    #[error(": the disk cannot read {bytes} bytes at {at}: {why}")]
    Unreadable {
        /// Offset of the first.
        at: u64,
        /// Their number.
        bytes: u64,
        /// The system's error.
        why: String,
    },
    /// A damaged file of the journal. Groups at its damaged places may be lost; how many is unknown.
    #[error(
        " is a damaged journal file, set aside: its intact records were recovered, those at its damaged \
            places may be lost and are counted nowhere; remove it once you have noted it"
    )]
    SetAside,
    /// It has another format.
    #[error(" has format `{found}`, this offerd reads `{wanted}`: use the offerd that wrote it")]
    Format {
        /// Its format.
        found: String,
        /// The format of this build.
        wanted: String,
    },
    /// It was opened while the disk could not read all of it.
    #[error(" was opened while parts of it were unreadable; the next start looks for them again")]
    Partial,
    /// Some of its bytes are no records.
    #[error(": {bytes} bytes at {at} are no records{}", beside(.between))]
    Bytes {
        /// Offset of the first.
        at: u64,
        /// Their number.
        bytes: u64,
        /// The record before them, and the one behind them.
        between: [Option<Neighbour>; 2],
    },
}

/// A sound record next to damage, as a hint to the damaged ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// The byte of its tree, which is part of the format on disk; `None` if its key belongs to none.
    #[serde(rename = "tree")]
    pub prefix: Option<u8>,
    /// The key, in hexadecimal.
    pub key: String,
    /// The time in it, Unix milliseconds, if keys of its tree have one.
    pub at_ms: Option<u64>,
}

impl FileDamage {
    /// Whether records may be lost, including undetectable losses.
    pub fn costs_records(&self) -> bool {
        !matches!(self.what, DamageKind::Spare | DamageKind::Rewritten | DamageKind::Unwritable(_))
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        let span = |damage: &Self| match damage.what {
            DamageKind::Bytes { at, bytes, .. } => Some((at, at.saturating_add(bytes))),
            _ => None,
        };
        let is_within = match (span(self), span(other)) {
            (Some((from, to)), Some((at, end))) => from <= at && end <= to,
            _ => false,
        };
        let is_past_the_end = match (&self.what, span(other)) {
            (DamageKind::CutShort { bytes, .. }, Some((_, end))) => *bytes < end,
            _ => false,
        };
        self == other || (self.file == other.file && (is_within || is_past_the_end))
    }
}

fn lost(records: u64) -> String {
    if records == 0 { String::new() } else { format!("; its index names {records} records behind that") }
}

/// Names the sound records next to damage.
fn beside([before, behind]: &[Option<Neighbour>; 2]) -> String {
    match (before, behind) {
        (Some(before), Some(behind)) => format!(", between {before} and {behind}"),
        (Some(before), None) => format!(", behind {before}"),
        (None, Some(behind)) => format!(", before {behind}"),
        (None, None) => String::new(),
    }
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prefix, key, at_ms } = self;
        let tree = prefix.and_then(Tree::of_prefix);
        write!(f, "{} `{key}`", tree.map_or("a record of no tree", Tree::name))?;
        match at_ms.and_then(|ms| chrono::DateTime::from_timestamp_millis(i64::try_from(ms).ok()?)) {
            Some(at) => write!(f, " of {}", at.format("%Y-%m-%dT%H:%M:%SZ")),
            None => Ok(()),
        }
    }
}
