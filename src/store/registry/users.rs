//! The people who use the console: their names, roles and passwords. All of this tree is sealed, and a password is kept as its
//! argon2id hash only.

use offerd_base::worded;
use std::fmt;

use chrono::Utc;
use serde::{Deserialize, Serialize};

use crate::{Commit, ReadError, Store, Tree, codec};

/// Longest name of a user, letters.
const NAME_CHARS: usize = 64;

/// Most users of a store.
pub const USERS: usize = 1000;

worded! {
    /// What a user may see and do: each role may all that those before it may.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Role;

    /// Its name, as the command line and JSON have it.
    fn word;

    /// Sees whether all is well, who is asked and what is on offer: no money, and nothing of a lead.
    Viewer "viewer";
    /// Sees figures and money too, and takes them away.
    Analyst "analyst";
    /// Pauses, resumes and reloads; sees leads masked, and what is masked with a reason.
    Operator "operator";
    /// Sees to users, and reads the audit.
    Administrator "administrator";
}

impl Role {
    /// Every role, in their order.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Analyst, Self::Operator, Self::Administrator];

    /// The role of a name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }
}

/// A user. JSON, by name.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserRecord {
    /// Their name, in small letters.
    pub name: String,
    /// What they may.
    pub role: Role,
    /// The argon2id hash of their password as a PHC string; nothing until they have set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Whether they are kept out for now.
    pub disabled: bool,
    /// Whether they were removed: the name stays, so that nobody lets them in by it who does not know that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// When they were added, Unix milliseconds.
    pub created_at: i64,
    /// When any of this was changed last, Unix milliseconds.
    pub changed_at: i64,
}

/// Never shows the password's hash.
impl fmt::Debug for UserRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, role, disabled, .. } = self;
        write!(f, "UserRecord({name}, {role:?}, disabled: {disabled})")
    }
}

impl UserRecord {
    /// A new user, by a name without [fault](Users::fault).
    pub fn new(name: &str, role: Role, password: Option<String>) -> Self {
        let now = Utc::now().timestamp_millis();
        let name = name.to_ascii_lowercase();
        Self { name, role, password, disabled: false, removed: false, created_at: now, changed_at: now }
    }

    /// The commit that adds the user; its first guard is that there is none of this name, but for one who was removed, as is known.
    pub fn added(&self, removed: Option<&Self>) -> Commit {
        let guarded = match removed.filter(|one| one.removed && one.name == self.name) {
            Some(removed) => removed.unchanged(),
            None => Commit::new().absent(Tree::Users, &self.name),
        };
        guarded.put(Tree::Users, &self.name, codec::encode_json(self))
    }

    /// The commit that puts this in place of what was known; its first guard is that it still is so.
    pub fn replaces(&self, known: &Self) -> Commit {
        known.unchanged().put(Tree::Users, &self.name, codec::encode_json(self))
    }

    /// The commit that removes the user; its first guard is that they still are as they are known. The name is left, and nothing else.
    pub fn removal(&self) -> Commit {
        let changed_at = Utc::now().timestamp_millis();
        let (role, password) = (Role::Viewer, None);
        // Builds that do not know of it take such a one for somebody who is kept out.
        let left = Self { role, password, disabled: true, removed: true, changed_at, ..self.clone() };
        left.replaces(self)
    }

    fn unchanged(&self) -> Commit {
        Commit::new().unchanged(Tree::Users, &self.name, codec::encode_json(self))
    }
}

/// The users of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Users {
    store: Store,
}

impl Users {
    /// The users of a store.
    pub fn of(store: Store) -> Self {
        Self { store }
    }

    /// Why this cannot be a user's name, if so.
    pub fn fault(name: &str) -> Option<String> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || ".-_@+".contains(letter);
        let good = (1..=NAME_CHARS).contains(&name.len()) && name.chars().all(fits);
        (!good).then(|| {
            format!("must be 1 to {NAME_CHARS} letters a to z, digits, `.`, `-`, `_`, `@` and `+`, such as `alice`")
        })
    }

    /// A user by name, whatever the size of its letters.
    ///
    /// # Errors
    /// That the record cannot be read.
    pub fn find(&self, name: &str) -> Result<Option<UserRecord>, ReadError> {
        Ok(self.find_also_removed(name)?.filter(|user| !user.removed))
    }

    /// The same, also of one who was removed.
    ///
    /// # Errors
    /// That the record cannot be read.
    pub fn find_also_removed(&self, name: &str) -> Result<Option<UserRecord>, ReadError> {
        self.store.read_json(Tree::Users, name.to_ascii_lowercase())
    }

    /// Whether there are any.
    ///
    /// # Errors
    /// That the store cannot be read.
    pub fn are_any(&self) -> Result<bool, ReadError> {
        Ok(!self.list()?.is_empty())
    }

    /// Every user, by name.
    ///
    /// # Errors
    /// That the store cannot be read.
    pub fn list(&self) -> Result<Vec<UserRecord>, ReadError> {
        let all = self.store.all(Tree::Users)?.into_iter().map(|(_, user)| user);
        Ok(all.filter(|user: &UserRecord| !user.removed).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommitError, StoreOptions};

    #[tokio::test]
    async fn a_user_is_found_by_name_and_changed_only_as_they_are_known() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(StoreOptions::new(directory.path())).unwrap();
        let users = Users::of(store.clone());
        let alice = UserRecord::new("Alice", Role::Analyst, Some("$argon2id$".to_owned()));
        store.commit(alice.added(None)).await.unwrap();
        assert_eq!(users.find("ALICE").unwrap(), Some(alice.clone()));
        assert!(!format!("{alice:?}").contains("argon2"));
        let twice = store.commit(alice.added(Some(&alice))).await;
        assert!(matches!(twice, Err(CommitError::Guard { index: 0, .. })));

        let promoted = UserRecord { role: Role::Operator, ..alice.clone() };
        store.commit(promoted.replaces(&alice)).await.unwrap();
        assert!(store.commit(alice.removal()).await.is_err(), "who changed it meanwhile is not overruled");
        store.commit(promoted.removal()).await.unwrap();
        assert!(
            users.list().unwrap().is_empty()
                && !users.are_any().unwrap()
                && users.find("alice").unwrap().is_none()
        );

        // Their name is known, until somebody adds them again.
        let removed = users.find_also_removed("Alice").unwrap().unwrap();
        assert!(removed.removed && removed.disabled && removed.password.is_none());
        store.commit(alice.added(Some(&removed))).await.unwrap();
        assert_eq!(users.find("alice").unwrap(), Some(alice));
    }

    #[test]
    fn a_name_is_of_plain_letters() {
        for good in ["alice", "a.b-c_d+e@example.com", "7"] {
            assert_eq!(Users::fault(good), None, "{good}");
        }
        for bad in ["", "al ice", "al\"ice", "älice", "a/b", &"x".repeat(65)] {
            assert!(Users::fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn roles_are_in_their_order() {
        assert!(Role::ALL.is_sorted());
        assert!(Role::ALL.iter().all(|role| Role::named(role.word()) == Some(*role)));
        assert_eq!(Role::named("root"), None);
    }
}
