//! Figures of a process, a directory and the system, from the operating system.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Resident memory, in bytes.
pub fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// The disk space of a directory's files, in bytes.
pub fn on_disk(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of_entry = |entry: fs::DirEntry| {
        let Ok(metadata) = entry.metadata() else { return 0 };
        if metadata.is_dir() { on_disk(&entry.path()) } else { metadata.blocks() * 512 }
    };
    entries.filter_map(Result::ok).map(of_entry).sum()
}

/// The load average of the last minute.
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
