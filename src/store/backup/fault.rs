//! What is wrong with the file of a backup, and where.

use std::{error::Error, fmt};

use super::VERSION;
use crate::store::FORMAT;

/// Why the file of a backup cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum BackupFault {
    /// It is something else.
    Foreign,
    /// It is of another version than this build's.
    Version {
        /// Its version.
        found: u32,
    },
    /// The store in it is of another format than this build's.
    Format {
        /// The format of the store.
        found: u32,
    },
    /// It is not as it was written.
    Damaged {
        /// In which block, from 0.
        block: u64,
        /// Where that block begins, bytes.
        at: u64,
        /// What the block holds, as far as it says.
        holds: Option<&'static str>,
        /// What is wrong with it.
        damage: Damage,
    },
    /// It is sealed, and no master key is given.
    NoMasterKey {
        /// The id of the master key that is needed.
        sealed_with: String,
    },
    /// It is sealed with another master key.
    WrongMasterKey {
        /// The id of the master key that is needed.
        sealed_with: String,
        /// The id of the one that was given.
        given: String,
        /// Where it was found.
        place: String,
    },
}

/// What is wrong with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The bytes are not those that were written.
    Checksum,
    /// It was changed, or moved here, by somebody who knew to make a checksum.
    Seal,
    /// It says to be longer than a block can be.
    Length,
    /// It holds something that no block does, or not here.
    Content,
    /// The file ends in it, or before it.
    CutShort,
    /// The file goes on behind its end.
    Trailing,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checksum => "its checksum does not match",
            Self::Seal => "it is not what was sealed here",
            Self::Length => "it says to be longer than a block can be",
            Self::Content => "it holds what no block holds here",
            Self::CutShort => "the file ends before it does",
            Self::Trailing => "it is behind the end",
        })
    }
}

impl fmt::Display for BackupFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => write!(f, "it is no backup of offerd's, or its first line is damaged"),
            Self::Version { found } => {
                write!(f, "it is a backup of version `{found}`, this offerd reads `{VERSION}`")
            }
            Self::Format { found } => {
                write!(f, "the store in it has format `{found}`, this offerd reads `{FORMAT}`")
            }
            Self::Damaged { block, at, holds, damage } => {
                let holds = holds.map(|holds| format!(" ({holds})")).unwrap_or_default();
                write!(f, "it is damaged in block {block}{holds}, which begins at byte {at}: {damage}")
            }
            Self::NoMasterKey { sealed_with } => {
                write!(f, "it is sealed with master key {sealed_with}, and none is given")
            }
            Self::WrongMasterKey { sealed_with, given, place } => {
                write!(f, "it is sealed with master key {sealed_with}, but {place} has {given}")
            }
        }
    }
}

impl Error for BackupFault {}
