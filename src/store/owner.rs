//! Whose a store is: only its owner opens it. What another user makes in it, root above all, the daemon could not read.

use std::{env, fmt, fs, os::unix::fs::MetadataExt, path::Path};

use super::error::StoreError;

/// Where the system keeps its users, unless a directory of the network does.
const USERS: &str = "/etc/passwd";

/// The number of root, who may write to everybody's directories.
const ROOT: u32 = 0;

/// What of a store is made by who opens it first, in the order of its formats.
const MADE_FIRST: [&str; 2] = ["lock", "db"];

/// Whether this user may open the store of a directory, or make one there.
///
/// # Errors
/// That it is another one's.
pub(super) fn check(store: &Path) -> Result<(), StoreError> {
    let user = rustix::process::geteuid().as_raw();
    match owner(store, user) {
        Some(owner) if owner != user => Err(StoreError::Owner { path: store.to_owned(), owner, user }),
        _ => Ok(()),
    }
}

/// Whose it is, as far as that matters to a user: into a directory without a store others may write as its owner lets them, and of
/// one that cannot be looked into nothing is known.
fn owner(store: &Path, user: u32) -> Option<u32> {
    let made = MADE_FIRST.iter().find_map(|name| fs::metadata(store.join(name)).ok());
    let made = made.or_else(|| fs::metadata(store).ok().filter(|_| user == ROOT));
    made.map(|made| made.uid())
}

/// A user by number, with the name that the system has for it, if any.
pub struct User(pub u32);

impl User {
    /// The name; nothing where the system's own list has none.
    pub fn name(&self) -> Option<String> {
        named(&fs::read_to_string(USERS).ok()?, self.0).map(str::to_owned)
    }

    /// How `user` runs this very command as this one.
    pub(super) fn command(&self, user: u32) -> String {
        let words: Vec<String> = env::args_os().map(|word| quoted(&word.to_string_lossy())).collect();
        let words = words.join(" ");
        match self.name() {
            Some(name) if user == ROOT => format!("runuser -u {name} -- {words}"),
            Some(name) => format!("sudo -u {name} -- {words}"),
            None => format!("sudo -u '#{}' -- {words}", self.0),
        }
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "user {name}"),
            None => write!(f, "user {}", self.0),
        }
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
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
    }

    #[test]
    fn the_command_can_be_given_to_a_shell() {
        assert_eq!(quoted("--config=/etc/offerd.toml"), "--config=/etc/offerd.toml");
        assert_eq!(quoted("o'clock $x"), r"'o'\''clock $x'");
        assert!(User(u32::MAX - 7).command(ROOT).starts_with("sudo -u '#4294967288' -- "));
    }

    /// A store's own file tells whose it is; a directory without one concerns root alone, since who may write there was let.
    #[test]
    fn who_made_the_store_owns_it() {
        let directory = tempfile::tempdir().unwrap();
        let own = fs::metadata(directory.path()).unwrap().uid();
        assert_eq!(owner(directory.path(), ROOT), Some(own));
        assert_eq!(owner(directory.path(), 1234), None);
        fs::write(directory.path().join("lock"), "").unwrap();
        assert_eq!(owner(directory.path(), 1234), Some(own));
        assert_eq!(owner(&directory.path().join("none"), ROOT), None);
    }
}
