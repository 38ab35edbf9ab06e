//! Damage: what of the store's files is not as it was written, where, and how it is told and counted.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::trees::Tree;
use crate::telemetry::metrics::STORE_DAMAGE;

/// How many are remembered; the others are counted.
const REMEMBERED: usize = 1000;

/// Something of the store's files that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The volume that it is in, 0 for the base; nothing where it is in none.
    pub volume: Option<u32>,
    /// The file, from the directory of the store on.
    pub file: String,
    /// What is wrong with it.
    pub what: DamageKind,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DamageKind {
    /// It is not there.
    Missing,
    /// It is shorter than it was.
    CutShort {
        /// How many bytes it has.
        bytes: u64,
        /// How many it had at least.
        wanted: u64,
    },
    /// It is not needed, or there is another one: nothing is lost.
    Spare,
    /// It is the manifest, and its copy is lost too: what there is is told from the files, and what is gone cannot be missed.
    Unlisted,
    /// It cannot be opened; in a sentence why.
    Unusable(String),
    /// The disk cannot read some of its bytes. They may be sound all the same.
    Unreadable {
        /// Where they begin.
        at: u64,
        /// How many there are.
        bytes: u64,
        /// What the system said.
        why: String,
    },
    /// It is a file of the journal that was damaged, and what lay at its damaged places may be lost: how much, nothing tells.
    SetAside,
    /// It was opened while the disk could not read all of it.
    Partial,
    /// Some of its bytes are no records.
    Bytes {
        /// Where they begin.
        at: u64,
        /// How many there are.
        bytes: u64,
        /// The record before them, and the one behind them.
        between: [Option<Neighbour>; 2],
    },
}

/// A sound record beside damage: it tells about what the damaged ones were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Its tree; nothing when its key is of none.
    pub tree: Option<Tree>,
    /// The key, in hexadecimal.
    pub key: String,
    /// The time in it, Unix milliseconds, where its tree tells one.
    pub at_ms: Option<u64>,
}

impl Damage {
    /// Whether records may be lost.
    pub fn costs_records(&self) -> bool {
        !matches!(self.what, DamageKind::Spare | DamageKind::Unlisted)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, what, .. } = self;
        match what {
            DamageKind::Missing => write!(f, "`{file}` is missing"),
            DamageKind::CutShort { bytes, wanted } => {
                write!(f, "`{file}` has {bytes} bytes, want at least {wanted}")
            }
            DamageKind::Spare => {
                write!(f, "`{file}` is damaged; nothing is lost, since another file says the same")
            }
            DamageKind::Unlisted => write!(
                f,
                "`{file}` and its copy are lost; what the store has was told from its files, and made a list of anew"
            ),
            DamageKind::Unreadable { at, bytes, why } => {
                write!(f, "`{file}`: the disk cannot read {bytes} bytes at {at}: {why}")
            }
            DamageKind::SetAside => write!(
                f,
                "`{file}` is a damaged file of the journal, set aside: what was whole of it was taken in, what lay at its damaged \
                 places may be lost, and is counted nowhere; remove it when you have seen it"
            ),
            DamageKind::Partial => write!(
                f,
                "`{file}` was opened while the disk could not read all of it; what it could not read is looked for again at the next start"
            ),
            DamageKind::Unusable(why) => write!(f, "`{file}` cannot be used: {why}"),
            DamageKind::Bytes { at, bytes, between: [before, behind] } => {
                write!(f, "`{file}`: {bytes} bytes at {at} are no records")?;
                match (before, behind) {
                    (Some(before), Some(behind)) => write!(f, ", between {before} and {behind}"),
                    (Some(before), None) => write!(f, ", behind {before}"),
                    (None, Some(behind)) => write!(f, ", before {behind}"),
                    (None, None) => Ok(()),
                }
            }
        }
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

/// The damage that was met so far: each is logged and counted once. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Damages(Arc<Mutex<Vec<Damage>>>);

impl Damages {
    /// Logs and counts damage, unless that was done before.
    pub(super) fn note(&self, damage: Damage) {
        let mut noted = self.noted();
        if noted.len() >= REMEMBERED || noted.contains(&damage) {
            return;
        }
        match damage.costs_records() {
            true => tracing::error!(damage = %damage, "the store is damaged"),
            false => tracing::warn!(damage = %damage, "a file of the store is damaged, and nothing is lost"),
        }
        noted.push(damage);
        metrics::gauge!(STORE_DAMAGE).set(noted.len() as f64);
    }

    /// Takes note that the disk can read a file again, or a place in it.
    pub(super) fn can_be_read(&self, file: &str, place: Option<u64>) {
        let is_of_place = |at| place.is_none_or(|place| place == at);
        let mut noted = self.noted();
        let before = noted.len();
        noted.retain(|damage| match damage.what {
            DamageKind::Unreadable { at, .. } => damage.file != file || !is_of_place(at),
            _ => true,
        });
        if noted.len() < before {
            tracing::info!(file, "the disk can read a file of the store again");
            metrics::gauge!(STORE_DAMAGE).set(noted.len() as f64);
        }
    }

    /// Whether the disk could not read something of a volume.
    pub(super) fn are_unreadable(&self, volume: u32) -> bool {
        let is_unreadable = |damage: &Damage| matches!(damage.what, DamageKind::Unreadable { .. });
        self.noted().iter().any(|damage| damage.volume == Some(volume) && is_unreadable(damage))
    }

    /// All of it, in the order it was met.
    pub(super) fn all(&self) -> Vec<Damage> {
        self.noted().clone()
    }

    fn noted(&self) -> MutexGuard<'_, Vec<Damage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
