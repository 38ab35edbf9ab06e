//! The disk space that files take, from the operating system.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The disk space of a directory's files, in bytes.
pub fn used(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of_entry = |entry: fs::DirEntry| {
        let Ok(metadata) = entry.metadata() else { return 0 };
        if metadata.is_dir() { used(&entry.path()) } else { metadata.blocks() * 512 }
    };
    entries.filter_map(Result::ok).map(of_entry).sum()
}
