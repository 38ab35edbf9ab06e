//! Backups: the whole store at one instant, in one sealed file, taken while writes go on.
//!
//! # How it captures one instant
//! The store has no snapshots. But every write goes through `StoredRecords::apply`, one group after another,
//! and there a backup observes the writes (`write_observer`):
//!
//! 1. Between two groups, the backup starts to observe. From now on, each group is also recorded after it is
//!    applied.
//! 2. All records are read, volume by volume, in key order, and written as stored, so sealed records stay
//!    sealed. Each block of records is followed by the changes recorded so far.
//! 3. After the last record, the backup stops observing between two groups. It writes the last changes, and
//!    the file of the store's keys as of that moment.
//!
//! A reader that applies the blocks in order has the store as of step 3. A change that was both read and
//! recorded is applied twice, with the same result. A group holds whole commits, so each commit is whole or
//! absent.
//!
//! Memory is bounded: if the recorded changes exceed `CHANGES_BYTES_MAX`, the backup fails, not the store.
//!
//! # The file
//! ```text
//! "offerd backup 1\n"  block…
//! block    kind u8  records u32 BE  length u32 BE  crc32 of these and of the body u32 BE  body
//! heading  kind 'H'  body = id of the master key (8)  format u32 BE  when, ms i64 BE
//!          bytes of the store u64 BE  sealed key (60)
//! records  kind = byte of the tree, or '+' for changes  body = sealed changes (`changes`)
//! broken   kind = byte of the tree + 128  records = how many of it cannot be read  body = sealed, empty
//! damages  kind '!'  records = how many  body = sealed JSON: the damage to the store's files, in sentences
//! volumes  kind 'V'  body = sealed JSON: by number, when each begins
//! keys     kind 'K'  body = sealed file `keys`
//! end      kind '.'  body = sealed count of the blocks before it u64 BE
//! ```
//!
//! Each backup has a key of its own, sealed by the master key. A block is sealed for its position: none can
//! be moved, left out or inserted. Unreadable records are copied as stored, and counted.
//!
//! A [`Restore`] builds the store beside its place and moves it there once everything is verified and synced.

mod block;
mod fault;
mod restore;
mod scanner;
mod writing;

pub use self::fault::{BackupFault, BlockDamage};
pub use self::restore::{Restore, RestoreError};
pub use self::scanner::{BackupSummary, Scanner};
pub use self::writing::Backup;
pub use super::disk::for_each_piece;
pub use super::write_observer::BackupError;
