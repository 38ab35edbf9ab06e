//! Who gives a command, for the audit: the one name that both a running daemon and a command on a stopped one's store write.

use std::os::unix::fs::MetadataExt;
use std::{env, fs};

/// Where the system keeps its users, unless a directory of the network does.
const USERS: &str = "/etc/passwd";

/// The user of the operating system, by name and number: `alice (uid 1000)`. It goes as a header, so what is not printable
/// ASCII is left out.
pub fn operator() -> String {
    // The kernel shows the process to itself as its user's.
    let number = fs::metadata("/proc/self").map(|process| process.uid()).ok();
    let of = |variable: &str| env::var(variable).ok().filter(|name| !name.is_empty());
    let users = fs::read_to_string(USERS).unwrap_or_default();
    // Who uses sudo is told by it; what else the environment says anybody may have written there.
    let name = of("SUDO_USER").or_else(|| Some(named(&users, number?)?.to_owned()));
    let name = name.or_else(|| of("USER")).or_else(|| of("LOGNAME")).unwrap_or_default();
    let name: String = name.chars().filter(char::is_ascii_graphic).collect();
    match number {
        Some(number) if name.is_empty() => format!("uid {number}"),
        Some(number) => format!("{name} (uid {number})"),
        None => name,
    }
}

/// The name of a user by number: `name:password:number:…`, a line each.
fn named(users: &str, number: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, listed) = (fields.next()?, fields.nth(1)?);
        (listed.parse() == Ok(number)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\n# a remark\nalice:x:1000:1000::/home/alice:/bin/sh\n";
        assert_eq!((named(users, 0), named(users, 1000)), (Some("root"), Some("alice")));
        assert_eq!(named(users, 1), None);
        assert!(operator().contains("uid "), "{}", operator());
    }
}
