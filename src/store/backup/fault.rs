//! What is wrong with the file of a backup, and where.

use super::block::VERSION;
use crate::FORMAT;

/// Why the file of a backup cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackupFault {
    /// It is something else.
    #[error("it is no backup of offerd's, or its first line is damaged")]
    Foreign,
    /// It is of this version, and this build reads another.
    #[error("it is a backup of version `{0}`, this offerd reads `{VERSION}`", VERSION = VERSION)]
    Version(u32),
    /// The store in it is of this format, and this build reads another.
    #[error("the store in it has format `{0}`, this offerd reads `{FORMAT}`", FORMAT = FORMAT)]
    Format(u32),
    /// It is not as it was written.
    #[error(
        "it is damaged in block {block}{}, which begins at byte {at}: {damage}",
        .holds.map(|holds| format!(" ({holds})")).unwrap_or_default()
    )]
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
    /// It is sealed with another master key.
    #[error("it is sealed with master key {sealed_with}, but {place} has {given}")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The bytes are not those that were written.
    #[error("its checksum does not match")]
    Checksum,
    /// It was changed, or moved here, by somebody who knew to make a checksum.
    #[error("it is not what was sealed here")]
    Seal,
    /// It says to be longer than a block can be.
    #[error("it says to be longer than a block can be")]
    Length,
    /// It holds something that no block does, or not here.
    #[error("it holds what no block holds here")]
    Content,
    /// The file ends in it, or before it.
    #[error("the file ends before it does")]
    CutShort,
    /// The file goes on behind its end.
    #[error("it is behind the end")]
    Trailing,
}
