//! Who gives a command, for the audit.

use std::os::unix::fs::MetadataExt;
use std::{env, fs};

/// The user of the operating system, by name as far as the environment tells it, and by number.
pub fn os_user() -> String {
    let name = ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(|variable| env::var(variable).ok());
    // The kernel shows the process to itself as its user's.
    let number = fs::metadata("/proc/self").map(|process| process.uid());
    match (name, number) {
        (Some(name), Ok(number)) => format!("{name} ({number})"),
        (None, Ok(number)) => number.to_string(),
        (Some(name), Err(_)) => name,
        (None, Err(_)) => "unknown".to_owned(),
    }
}
