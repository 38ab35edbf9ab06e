//! A store as plain lines of JSON, for moving on: each record with its tree and key, readable, and back into an empty store.
//!
//! ```text
//! {"offerdExport":1,"personalData":true}
//! {"tree":"leads","key":"01a1…","value":{…}}     JSON as it is stored, or what postcard holds, as JSON
//! {"tree":"texts","key":"9f2c…","text":"…"}      text
//! {"tree":"lead_tables","key":"01a1…","hex":""}  anything else
//! {"records":3}
//! ```
//!
//! A record whose JSON would not give the same bytes again goes as hexadecimal, so an import gives each record byte for
//! byte. The key that offers' uuids are made with goes along, so that addresses given out still lead somewhere; other keys do
//! not. What a store looks up by keyed hashes is keyed anew in the importing store. Left out are the hashes of the clients'
//! keys for their submits, which nobody can make anew, the data keys, since imported leads get new ones, the places of projections,
//! which read the imported feeds from the beginning (what they do twice changes nothing), and what passes within minutes.

mod export;
mod import;
mod line;

pub use self::export::{Exported, export};
pub use self::import::{Import, ImportError};

/// The version of the lines.
pub const VERSION: u32 = 1;
