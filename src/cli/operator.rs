//! Who gives a command, for the audit: the one name that both a running daemon and a command on a stopped one's store write.

use std::os::unix::fs::MetadataExt;
use std::{env, fs};

use offerd_store::User;

/// The user of the operating system, by name and number: `alice (uid 1000)`. It goes as a header, so what is not printable
/// ASCII is left out.
pub fn operator() -> String {
    // The kernel shows the process to itself as its user's.
    let number = fs::metadata("/proc/self").map(|process| process.uid()).ok();
    let of = |variable: &str| env::var(variable).ok().filter(|name| !name.is_empty());
    // `sudo` names who uses it; what else the environment says anybody may have written there.
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
