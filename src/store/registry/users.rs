//! The users of the console: names, roles and passwords. The tree is sealed; passwords are argon2id hashes.

use offerd_base::worded;
use std::fmt;

use chrono::Utc;
use serde::{Deserialize, Serialize};

use crate::{Commit, ReadResult, Store, Tree, codec};

const NAME_CHARS: usize = 64;

/// Most users of a store.
pub const USERS: usize = 1000;

worded! {
    /// What a user may see and do. Each role includes the ones before it.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Role;

    /// The name of the role, on the command line and in JSON.
    fn word;

    /// Sees health, partners and offers: no money, and nothing of a lead.
    Viewer "viewer";
    /// Also sees figures and money, and may export them.
    Analyst "analyst";
    /// Pauses, resumes and reloads; sees leads masked, and unmasks them by giving a reason.
    Operator "operator";
    /// Manages users and reads the audit log.
    Administrator "administrator";
}

impl Role {
    /// Every role, in ascending order.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Analyst, Self::Operator, Self::Administrator];

    /// The role with this name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }
}

/// A user. JSON, by name.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserRecord {
    /// The name, in lowercase.
    pub name: String,
    /// The role.
    pub role: Role,
    /// The argon2id hash of the password as a PHC string; absent until the user has set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Whether sign-in is disabled.
    pub disabled: bool,
    /// Whether the user was removed. The name stays reserved, against unknowing reuse.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// When the user was added, Unix milliseconds.
    pub created_at: i64,
    /// When the record was last changed, Unix milliseconds.
    pub changed_at: i64,
}

/// Does not print the hash of the password.
impl fmt::Debug for UserRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, role, disabled, .. } = self;
        write!(f, "UserRecord({name}, {role:?}, disabled: {disabled})")
    }
}

impl UserRecord {
    /// A new user. The name must pass [`fault`](Users::fault).
    pub fn new(name: &str, role: Role, password: Option<String>) -> Self {
        let now = Utc::now().timestamp_millis();
        let name = name.to_ascii_lowercase();
        Self { name, role, password, disabled: false, removed: false, created_at: now, changed_at: now }
    }

    /// The commit that adds the user. Its first guard: the name is free, or belongs to the `removed` user.
    pub fn added(&self, removed: Option<&Self>) -> Commit {
        let guarded = match removed.filter(|one| one.removed && one.name == self.name) {
            Some(removed) => removed.unchanged(),
            None => Commit::new().absent(Tree::Users, &self.name),
        };
        guarded.put(Tree::Users, &self.name, codec::encode_json(self))
    }

    /// The commit that replaces `known` with this record. Its first guard: the record is still `known`.
    pub fn replaces(&self, known: &Self) -> Commit {
        known.unchanged().put(Tree::Users, &self.name, codec::encode_json(self))
    }

    /// The commit that removes the user and keeps only the name. Its first guard: the record is unchanged.
    pub fn removal(&self) -> Commit {
        let changed_at = Utc::now().timestamp_millis();
        let (role, password) = (Role::Viewer, None);
        // Older builds do not know `removed` and take such a user for a disabled one.
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
    /// The users of `store`.
    pub fn of(store: Store) -> Self {
        Self { store }
    }

    /// Why `name` is not a valid user name, if so.
    pub fn fault(name: &str) -> Option<String> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || ".-_@+".contains(letter);
        let good = (1..=NAME_CHARS).contains(&name.len()) && name.chars().all(fits);
        (!good).then(|| {
            format!("must be 1 to {NAME_CHARS} letters a to z, digits, `.`, `-`, `_`, `@` and `+`, such as `alice`")
        })
    }

    /// A user by name, ignoring case.
    pub fn find(&self, name: &str) -> ReadResult<Option<UserRecord>> {
        Ok(self.find_also_removed(name)?.filter(|user| !user.removed))
    }

    /// Like [`find`](Self::find), including removed users.
    pub fn find_also_removed(&self, name: &str) -> ReadResult<Option<UserRecord>> {
        self.store.read_json(Tree::Users, name.to_ascii_lowercase())
    }

    /// Whether there are any users.
    pub fn are_any(&self) -> ReadResult<bool> {
        Ok(!self.list()?.is_empty())
    }

    /// Every user, by name.
    pub fn list(&self) -> ReadResult<Vec<UserRecord>> {
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

        // The name stays known until the user is added again.
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
