//! Faults in a backup file, with their position.

use super::block::VERSION;
use crate::FORMAT;
use crate::sealing::OtherMasterKey;

/// Why a backup file cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackupFault {
    /// It is not a backup.
    #[error("it is not a backup of offerd, or its first line is damaged")]
    Foreign,
    /// It has this version, which this build does not read.
    #[error("it is a backup of version `{0}`, this offerd reads `{VERSION}`", VERSION = VERSION)]
    Version(u32),
    /// Its store has this format, which this build does not read.
    #[error("the store in it has format `{0}`, this offerd reads `{FORMAT}`", FORMAT = FORMAT)]
    Format(u32),
    /// A block is damaged.
    #[error(
        "it is damaged in block {block}{}, which begins at byte {at}: {damage}",
        .holds.map(|holds| format!(" ({holds})")).unwrap_or_default()
    )]
    Damaged {
        /// The number of the block, counted from 0.
        block: u64,
        /// The offset of the block, bytes.
        at: u64,
        /// The content of the block, if known.
        holds: Option<&'static str>,
        /// The kind of damage.
        damage: BlockDamage,
    },
    /// It is sealed with another master key.
    #[error("it needs master key {0}")]
    WrongMasterKey(OtherMasterKey),
}

/// The damage to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BlockDamage {
    /// The checksum does not match.
    #[error("its checksum does not match")]
    Checksum,
    /// The seal does not match: someone changed or moved the block and adjusted its checksum.
    #[error("it does not decrypt: it was changed or moved")]
    Seal,
    /// Its length exceeds that of any block.
    #[error("its length exceeds that of a block")]
    Length,
    /// Its content is invalid, or invalid at this position.
    #[error("it has data that no block has here")]
    Content,
    /// The file ends before or inside it.
    #[error("the file ends inside it")]
    CutShort,
    /// The file continues after its end.
    #[error("it comes after the end")]
    Trailing,
}
