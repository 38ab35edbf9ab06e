//! The numbers of volumes: which there are, when each begins, and where it lies.

use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk;

/// The number of a volume, from 1; that of the base is 0.
pub(super) type Number = u32;

/// The number of the base.
pub(super) const BASE: Number = 0;

/// When a volume begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begins {
    /// Its span, in the times of records, in ms. It ends where that of the next one begins.
    pub(super) span_ms: u64,
    /// The volume itself: when records were first written to it, in ms.
    pub(super) use_ms: u64,
}

/// Where a volume lies in a store.
pub(super) fn directory_of(store: &Path, number: Number) -> PathBuf {
    store.join(directory_name(number))
}

/// Where a volume lies, from the directory of the store on.
pub(super) fn directory_name(number: Number) -> String {
    if number == BASE { "base".to_owned() } else { format!("volumes/{number}") }
}

/// The numbers of the dated volumes that have a directory in a store, in their order.
pub(super) fn volumes_in(store: &Path) -> io::Result<Vec<Number>> {
    let entries = disk::entries(&store.join("volumes"))?;
    let number = |entry: &DirEntry| entry.file_name().to_str()?.parse::<Number>().ok();
    let mut numbers: Vec<Number> =
        entries.iter().filter(|entry| entry.path().is_dir()).filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
