//! Names the operator who runs a command, for the audit log; a running daemon and a command on a stopped
//! one's store record the same name.

use std::os::unix::fs::MetadataExt;
use std::{env, fs};

use offerd_store::User;

/// The operating system's user by name and number: `alice (uid 1000)`. It is sent as a header, so only
/// printable ASCII is kept.
pub fn operator() -> String {
    // The owner of `/proc/self` is the user of this process.
    let number = fs::metadata("/proc/self").map(|process| process.uid()).ok();
    let of = |variable: &str| env::var(variable).ok().filter(|name| !name.is_empty());
    // `sudo` sets the name of its caller; other environment variables can be set by anybody.
    let name = of("SUDO_USER").or_else(|| User(number?).name());
    let name = name.or_else(|| of("USER")).or_else(|| of("LOGNAME")).unwrap_or_default();
    let name: String = name.chars().filter(char::is_ascii_graphic).collect();
    match number {
        Some(number) if name.is_empty() => format!("uid {number}"),
        Some(number) => format!("{name} (uid {number})"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_told_by_number() {
        assert!(operator().contains("uid "), "{}", operator());
    }
}
