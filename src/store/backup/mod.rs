//! Backups: the whole store at one instant, in one sealed file, taken while writes go on.
//!
//! # How it is of one instant
//! The store has no snapshots. But all that is written goes through `Records::apply`, one
//! batch after the other, and that is where a backup listens (`tap`):
//!
//! 1. Between two batches it begins to listen. From here on each batch is noted too, after it is applied.
//! 2. All records are read, volume by volume, in the order of their keys and written as they lie there, sealed ones sealed. A block of
//!    records is followed by the changes that were noted until then.
//! 3. When there are no more, it stops listening between two batches, and writes the last changes, and the file of the
//!    store's keys as it is at that moment.
//!
//! Whoever takes in the blocks in their order has the store as it was at the instant of step 3. What was changed before
//! step 1 was read. What was changed after a record was read is noted later in the file. What was changed before it was
//! read, and is noted behind it again, ends the same: with the last change of each record. A commit is one batch, so it is
//! there whole or not at all; and what was acknowledged before the backup began is there.
//!
//! The memory it takes is bounded: a block, and the changes noted while a block was on its way. When the reader is slower
//! than the writers for so long that these pass `CHANGES_BYTES_MAX`, the backup fails and the store goes on.
//!
//! # The file
//! ```text
//! "offerd backup 1\n"  block…
//! block    kind u8  records u32 BE  length u32 BE  crc32 of these and of the body u32 BE  body
//! heading  kind 'H'  body = id of the master key (8)  format u32 BE  when, ms i64 BE  bytes of the store u64 BE  sealed key (60)
//! records  kind = byte of the tree, or '+' for changes  body = sealed changes (`changes`)
//! broken   kind = byte of the tree + 128  records = how many of it cannot be read  body = sealed, empty
//! damages  kind '!'  records = how many  body = sealed JSON: what of the store's files is damaged, in sentences
//! volumes  kind 'V'  body = sealed JSON: by number, when each begins
//! keys     kind 'K'  body = sealed file `keys`
//! end      kind '.'  body = sealed count of the blocks before it u64 BE
//! ```
//!
//! Each backup has a key of its own, sealed by the master key; a block is sealed for its place, so that none can be changed,
//! moved, left out or put in by who does not have the master key.
//! A store that is damaged is backed up too: what cannot be read is carried as it lies there, and counted in the clear.
//! The checksums find accidents, and where they are, without any key.
//!
//! A [`Restore`] builds the store beside its place and moves it there when all of it was read, found sound and synced.

mod block;
mod fault;
mod restore;
mod scanner;
mod writing;

pub use self::fault::{BackupFault, Damage};
pub use self::restore::{Restore, RestoreError};
pub use self::scanner::{Scanner, Summary};
pub use self::writing::Backup;
pub use super::disk::for_each_piece;
pub use super::tap::BackupError;
