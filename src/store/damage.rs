//! Damage: what of the store's files is not as it was written, where, and in which words it is shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::trees::Tree;

/// Something of the store's files that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("`{file}`{what}")]
pub struct Damage {
    /// The volume that it is in, 0 for the base; nothing where it is in none.
    pub volume: Option<u32>,
    /// The file, from the directory of the store on.
    pub file: String,
    /// What is wrong with it.
    pub what: DamageKind,
}

/// What is wrong with a file, in words that follow its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum DamageKind {
    /// It is not there.
    #[error(" is missing")]
    Missing,
    /// It is shorter than it was.
    #[error(" has {bytes} bytes, want at least {wanted}")]
    CutShort {
        /// How many bytes it has.
        bytes: u64,
        /// How many it had at least.
        wanted: u64,
    },
    /// It is not needed, or there is another one: nothing is lost.
    #[error(" is damaged; nothing is lost, since another file says the same")]
    Spare,
    /// It is the manifest, and its copy is lost too: what there is was listed from the files, and what is gone cannot be missed.
    #[error(" and its copy are lost; what the store has was told from its files, and made a list of anew")]
    Unlisted,
    /// It cannot be opened; in a sentence why.
    #[error(" cannot be used: {0}")]
    Unusable(String),
    /// The disk cannot read some of its bytes. They may be sound all the same.
    #[error(": the disk cannot read {bytes} bytes at {at}: {why}")]
    Unreadable {
        /// Where they begin.
        at: u64,
        /// How many there are.
        bytes: u64,
        /// The system's error.
        why: String,
    },
    /// It is a file of the journal that was damaged, and what lay at its damaged places may be lost: how much is not known.
    #[error(
        " is a damaged file of the journal, set aside: what was whole of it was taken in, what lay at its damaged places may be lost, \
         and is counted nowhere; remove it when you have seen it"
    )]
    SetAside,
    /// It has another format.
    #[error(" has format `{found}`, this offerd reads `{wanted}`: the offerd that wrote it can read it")]
    Format {
        /// Its format.
        found: String,
        /// That of this build.
        wanted: String,
    },
    /// It was opened while the disk could not read all of it.
    #[error(
        " was opened while the disk could not read all of it; what it could not read is looked for again at the next start"
    )]
    Partial,
    /// Some of its bytes are no records.
    #[error(": {bytes} bytes at {at} are no records{}", beside(.between))]
    Bytes {
        /// Where they begin.
        at: u64,
        /// How many there are.
        bytes: u64,
        /// The record before them, and the one behind them.
        between: [Option<Neighbour>; 2],
    },
}

/// A sound record beside damage: it shows about what the damaged ones were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Its tree; nothing when its key is of none.
    #[serde(with = "by_prefix")]
    pub tree: Option<Tree>,
    /// The key, in hexadecimal.
    pub key: String,
    /// The time in it, Unix milliseconds, where its tree has one.
    pub at_ms: Option<u64>,
}

impl Damage {
    /// Whether records may be lost, also such as nothing can show to be missing.
    pub fn costs_records(&self) -> bool {
        self.what != DamageKind::Spare
    }

    /// Whether it is the other, or has it in it.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let span = |damage: &Self| match damage.what {
            DamageKind::Bytes { at, bytes, .. } => Some((at, at.saturating_add(bytes))),
            _ => None,
        };
        let is_within = match (span(self), span(other)) {
            (Some((from, to)), Some((at, end))) => from <= at && end <= to,
            _ => false,
        };
        self == other || (self.file == other.file && is_within)
    }
}

/// What the sound records beside damage say of it.
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
        let Self { tree, key, at_ms } = self;
        write!(f, "{} `{key}`", tree.map_or("a record of no tree", Tree::name))?;
        match at_ms.and_then(|ms| chrono::DateTime::from_timestamp_millis(i64::try_from(ms).ok()?)) {
            Some(at) => write!(f, " of {}", at.format("%Y-%m-%dT%H:%M:%SZ")),
            None => Ok(()),
        }
    }
}

/// A tree as the byte before its keys, which is part of the format on disk.
mod by_prefix {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::trees::Tree;

    pub(super) fn serialize<S: Serializer>(tree: &Option<Tree>, to: S) -> Result<S::Ok, S::Error> {
        tree.map(|tree| tree.row().prefix).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Tree>, D::Error> {
        Ok(Option::<u8>::deserialize(from)?.and_then(Tree::of_prefix))
    }
}
