//! Users of the system, by number.

use std::{env, fmt, fs};

/// The system's list of users; a directory service may have others.
const USERS: &str = "/etc/passwd";

/// The number of root, which may write to every user's directories.
pub(super) const ROOT: u32 = 0;

/// A user by number, shown with the system's name for it, if any.
pub struct User(pub u32);

impl User {
    /// The name; `None` if the system's own list has none.
    pub fn name(&self) -> Option<String> {
        named(&fs::read_to_string(USERS).ok()?, self.0).map(str::to_owned)
    }

    /// The command line with which `user` can run this command as this user.
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

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The name of a user by number, from lines of the form `name:password:number:…`.
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
}
