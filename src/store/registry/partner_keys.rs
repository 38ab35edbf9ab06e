//! The keys with which partners report: a bearer token is kept as its SHA-256 only, a signing key sealed as all of this
//! tree is, since a signature is checked with it.

use chrono::Utc;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::digest;
use crate::{Commit, ReadError, Store, Tree, codec};
use offerd_base::ids;

/// How a partner shows who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PartnerKeyKind {
    /// By a bearer token.
    Partner,
    /// By signing the query of a URL, where it can only fire one.
    Signing,
}

/// A key of a partner. JSON, by the SHA-256 of the token, or of a signing key's id.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartnerKeyRecord {
    /// Names the key in lists, in signed queries, and when it is revoked.
    pub id: Uuid,
    /// Key of the partner, the name of its file.
    pub partner: String,
    /// What it is.
    pub kind: PartnerKeyKind,
    /// What signatures are made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Unix milliseconds.
    pub created_at: i64,
}

/// Never shows the secret.
impl std::fmt::Debug for PartnerKeyRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, partner, kind, .. } = self;
        write!(f, "PartnerKeyRecord({id}, {partner}, {kind:?})")
    }
}

/// The partner keys of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PartnerKeys {
    store: Store,
}

/// What a new key is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewPartnerKey {
    /// Key of the partner.
    pub partner: String,
    /// What it is to be.
    pub kind: PartnerKeyKind,
}

impl PartnerKeys {
    /// The keys of a store.
    pub fn of(store: Store) -> Self {
        Self { store }
    }

    /// A key that is accepted, now and after a crash, once its commit is taken. The returned secret is shown nowhere else.
    pub fn made(&self, new: NewPartnerKey) -> (String, PartnerKeyRecord, Commit) {
        let secret = format!("{}_{}", Uuid::new_v4(), Uuid::new_v4());
        let id = ids::timed();
        let (found_by, kept) = match new.kind {
            PartnerKeyKind::Partner => (secret.clone(), None),
            PartnerKeyKind::Signing => (id.to_string(), Some(secret.clone())),
        };
        let created_at = Utc::now().timestamp_millis();
        let record = PartnerKeyRecord { id, partner: new.partner, kind: new.kind, secret: kept, created_at };
        let commit = Commit::new().put(Tree::PartnerKeys, digest(&found_by), codec::encode_json(&record));
        (secret, record, commit)
    }

    /// The partner that a bearer token was made for.
    pub fn find(&self, token: &str) -> Option<PartnerKeyRecord> {
        self.read(token).filter(|record| record.kind == PartnerKeyKind::Partner)
    }

    /// Whether nobody can tell if a bearer token is known: its record cannot be read, or may be one that damage has cost.
    pub fn is_in_doubt(&self, token: &str) -> bool {
        let found = self.store.get(Tree::PartnerKeys, digest(token));
        found.map_or(true, |found| found.is_none() && self.store.may_have_lost(Tree::PartnerKeys))
    }

    /// A signing key by its id.
    pub fn signing_key(&self, id: Uuid) -> Option<PartnerKeyRecord> {
        self.read(&id.to_string()).filter(|record| record.kind == PartnerKeyKind::Signing)
    }

    /// Every key, oldest first.
    ///
    /// # Errors
    /// That the store cannot be read.
    pub fn list(&self) -> Result<Vec<PartnerKeyRecord>, ReadError> {
        let mut keys: Vec<PartnerKeyRecord> =
            self.store.all(Tree::PartnerKeys)?.into_iter().map(|(_, record)| record).collect();
        keys.sort_by_key(|key| (key.created_at, key.id));
        Ok(keys)
    }

    /// The commit that ends a key by its id, if there is one: once it is taken the key is refused, now and after a crash.
    ///
    /// # Errors
    /// That the store cannot be read.
    pub fn ended(&self, id: Uuid) -> Result<Option<Commit>, ReadError> {
        self.store.ended(Tree::PartnerKeys, |key: &PartnerKeyRecord| key.id == id)
    }

    fn read(&self, found_by: &str) -> Option<PartnerKeyRecord> {
        self.store.read_json(Tree::PartnerKeys, digest(found_by)).ok().flatten()
    }
}
