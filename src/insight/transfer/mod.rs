//! Moves a whole store as readable NDJSON, to be imported into an empty store.
//!
//! ```text
//! {"offerdExport":1,"personalData":true}
//! {"tree":"leads","key":"01a1…","value":{…}}     JSON as it is stored, or what postcard holds, as JSON
//! {"tree":"texts","key":"9f2c…","text":"…"}      text
//! {"tree":"lead_tables","key":"01a1…","hex":""}  anything else
//! {"records":3}
//! ```
//!
//! A record whose JSON would not restore the same bytes is exported as hexadecimal. The key that derives
//! offer uuids is included, so that issued URLs stay valid. Left out are other keys, hashes of idempotency
//! keys, checkpoints of projections, which start over, and short-lived records.

mod export;
mod import;
mod line;

pub use self::export::{Exported, export};
pub use self::import::{ImportError, RecordImport};

/// The version of the format.
pub const VERSION: u32 = 1;
