//! The numbers of volumes, with their beginnings and directories.

use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk;

/// The number of a volume, from 1; that of the base is 0.
pub(super) type VolumeNumber = u32;

pub(super) const BASE: VolumeNumber = 0;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct VolumeStart {
    /// Start of its span, in the times of records, in ms. It ends where the next one begins.
    pub(super) span_ms: u64,
    /// Time of the first write to it, in ms.
    pub(super) use_ms: u64,
}

pub(super) fn directory_of(store: &Path, number: VolumeNumber) -> PathBuf {
    store.join(directory_name(number))
}

/// The directory of a volume, relative to the store's directory.
pub(super) fn directory_name(number: VolumeNumber) -> String {
    if number == BASE { "base".to_owned() } else { format!("volumes/{number}") }
}

/// The numbers of the dated volumes that have a directory in a store, in order.
pub(super) fn volumes_in(store: &Path) -> io::Result<Vec<VolumeNumber>> {
    let entries = disk::entries(&store.join("volumes"))?;
    let number = |entry: &DirEntry| entry.file_name().to_str()?.parse::<VolumeNumber>().ok();
    let mut numbers: Vec<VolumeNumber> =
        entries.iter().filter(|entry| entry.path().is_dir()).filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
