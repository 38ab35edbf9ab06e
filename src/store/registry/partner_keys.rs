//! The keys with which partners report conversions. A bearer token is stored as its SHA-256 only. A signing
//! key is stored whole, since it verifies signatures; the tree is sealed.

use chrono::Utc;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::digest;
use crate::{Commit, ReadResult, Store, Tree, codec};
use offerd_base::ids;
use offerd_model::InDoubt;

/// How a partner authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PartnerKeyKind {
    /// With a bearer token.
    Partner,
    /// By signing the query of a URL, for partners that can only fire one.
    Signing,
}

/// A key of a partner. JSON, keyed by the SHA-256 of the token, or of the id of a signing key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartnerKeyRecord {
    /// Identifies the key in lists, in signed queries and for revocation.
    pub id: Uuid,
    /// The key of the partner: the name of its file.
    pub partner: String,
    /// The kind of key.
    pub kind: PartnerKeyKind,
    /// The secret that signs, of a signing key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// When it was created, Unix milliseconds.
    pub created_at: i64,
}

/// Does not print the secret.
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

/// The parameters of a new key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewPartnerKey {
    /// The key of the partner.
    pub partner: String,
    /// The kind of key.
    pub kind: PartnerKeyKind,
}

impl PartnerKeys {
    /// The partner keys of `store`.
    pub fn of(store: Store) -> Self {
        Self { store }
    }

    /// A new key, durably accepted once its commit is taken. The returned secret is not shown again.
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

    /// The key record of a bearer token.
    ///
    /// # Errors
    /// If the store cannot be read or may have lost the record.
    pub fn find(&self, token: &str) -> Result<Option<PartnerKeyRecord>, InDoubt> {
        self.found_by(token, PartnerKeyKind::Partner)
    }

    /// A signing key by its id.
    ///
    /// # Errors
    /// If the store cannot be read or may have lost the record.
    pub fn signing_key(&self, id: Uuid) -> Result<Option<PartnerKeyRecord>, InDoubt> {
        self.found_by(&id.to_string(), PartnerKeyKind::Signing)
    }

    /// Every key, oldest first.
    pub fn list(&self) -> ReadResult<Vec<PartnerKeyRecord>> {
        let mut keys: Vec<PartnerKeyRecord> =
            self.store.all(Tree::PartnerKeys)?.into_iter().map(|(_, record)| record).collect();
        keys.sort_by_key(|key| (key.created_at, key.id));
        Ok(keys)
    }

    /// The commit that revokes a key by its id, if it exists. Once taken, the key is durably refused.
    pub fn ended(&self, id: Uuid) -> ReadResult<Option<Commit>> {
        self.store.ended(Tree::PartnerKeys, |key: &PartnerKeyRecord| key.id == id)
    }

    fn found_by(&self, text: &str, kind: PartnerKeyKind) -> Result<Option<PartnerKeyRecord>, InDoubt> {
        let found: Option<PartnerKeyRecord> = self.store.credential(Tree::PartnerKeys, &digest(text))?;
        Ok(found.filter(|record| record.kind == kind))
    }
}
