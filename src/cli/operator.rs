//! Who gives a command, for the audit: the one name that both a running daemon and a command on a stopped one's store write.

use std::os::unix::fs::MetadataExt;
use std::{env, fs};

/// The user of the operating system, by name as far as the environment tells it, and by number: `alice(1000)`. It goes as a
/// header, so what is not printable ASCII is left out.
pub fn operator() -> String {
    let name = ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(|variable| env::var(variable).ok());
    let name: String = name.unwrap_or_default().chars().filter(char::is_ascii_graphic).collect();
    // The kernel shows the process to itself as its user's.
    match fs::metadata("/proc/self").map(|process| process.uid()) {
        Ok(number) if name.is_empty() => number.to_string(),
        Ok(number) => format!("{name}({number})"),
        Err(_) => name,
    }
}
