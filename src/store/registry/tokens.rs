//! Companies and their access tokens. A token is kept as its SHA-256 only.

use chrono::Utc;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::entities::{CompanyRecord, TokenRecord};
use crate::ids;
use crate::model::TokenKind;
use crate::planted::{Planted, planted};
use crate::store::{Commit, CommitError, ReadError, Store, Tree, codec};

/// Longest name of a company.
const COMPANY_NAME_BYTES: usize = 200;

/// Companies and tokens of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tokens {
    store: Store,
}

/// What a new token is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewToken {
    /// Name of its company, which is made when there is none of this name.
    pub company: String,
    /// What it may do.
    pub kind: TokenKind,
    /// Whether its leads are tests.
    pub test: bool,
    /// Sets the company's duplicate look-back, minutes.
    pub duplicate_look_back_minutes: Option<u32>,
}

impl Tokens {
    /// The tokens of a store.
    pub fn of(store: Store) -> Self {
        Self { store }
    }

    /// What keeps a new token from being made, if anything.
    pub fn fault(new: &NewToken) -> Option<String> {
        let name = new.company.trim();
        let fits = !name.is_empty() && name.len() <= COMPANY_NAME_BYTES && !name.contains(char::is_control);
        (!fits).then(|| format!("the company's name must be a text of 1 to {COMPANY_NAME_BYTES} bytes"))
    }

    /// Makes a token; once this returns it is accepted, now and after a crash. The returned text is told nowhere else.
    ///
    /// # Errors
    /// What the store said.
    pub async fn create(&self, new: NewToken) -> Result<(String, TokenRecord), CommitError> {
        let token = format!("{}_{}", Uuid::new_v4(), Uuid::new_v4());
        let existing = self.companies().into_iter().find(|company| company.name == new.company);
        let mut company = existing.unwrap_or_else(|| CompanyRecord {
            uuid: company_uuid(&new.company),
            name: new.company,
            duplicate_look_back_minutes: None,
        });
        company.duplicate_look_back_minutes =
            new.duplicate_look_back_minutes.or(company.duplicate_look_back_minutes);
        let record = TokenRecord {
            id: ids::timed(),
            company: company.uuid,
            kind: new.kind,
            test: new.test,
            created_at: Utc::now().timestamp_millis(),
        };
        let commit = Commit::new()
            .put(Tree::Companies, company.uuid.as_bytes(), codec::encode_json(&company))
            .put(Tree::Tokens, digest(&token), codec::encode_json(&record));
        self.store.commit(commit).await?;
        Ok((token, record))
    }

    /// The record and the company of a token, looked up by its hash. What the look-up compares byte by byte is the hash, which
    /// nobody can choose, so the time that it takes tells nothing of how near a guess came.
    pub fn find(&self, token: &str) -> Option<(TokenRecord, CompanyRecord)> {
        let record: TokenRecord = self.read(Tree::Tokens, &digest(token))?;
        let company = self.company(record.company)?;
        Some((record, company))
    }

    /// Whether the store cannot be asked for a token just now.
    pub fn is_in_doubt(&self, token: &str) -> bool {
        let is_in_doubt = |tree, key: &[u8]| match self.store.get(tree, key) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(self.store.is_base_in_doubt()),
            Err(ReadError::Disk(_)) => Err(true),
            Err(ReadError::Broken(_)) => Err(false),
        };
        let record = match is_in_doubt(Tree::Tokens, &digest(token)) {
            Ok(bytes) => codec::decode_json::<TokenRecord>(&bytes),
            Err(is_in_doubt) => return is_in_doubt,
        };
        record.is_ok_and(|record| is_in_doubt(Tree::Companies, record.company.as_bytes()) == Err(true))
    }

    /// A company.
    pub fn company(&self, uuid: Uuid) -> Option<CompanyRecord> {
        self.read(Tree::Companies, uuid.as_bytes())
    }

    /// Every company.
    pub fn companies(&self) -> Vec<CompanyRecord> {
        let records = self.store.scan(Tree::Companies, []).filter_map(Result::ok);
        records.filter_map(|(_, bytes)| codec::decode_json(&bytes).ok()).collect()
    }

    /// Every token with its company, oldest first.
    pub fn list(&self) -> Vec<(TokenRecord, CompanyRecord)> {
        let records = self.store.scan(Tree::Tokens, []).filter_map(Result::ok);
        let tokens = records.filter_map(|(_, bytes)| codec::decode_json::<TokenRecord>(&bytes).ok());
        let mut tokens: Vec<_> =
            tokens.filter_map(|token| self.company(token.company).map(|company| (token, company))).collect();
        tokens.sort_by_key(|(token, _)| (token.created_at, token.id));
        tokens
    }

    /// Ends a token by its id; once this returns it is refused, now and after a crash. Tells whether there was one.
    ///
    /// # Errors
    /// What the store said.
    pub async fn revoke(&self, id: Uuid) -> Result<bool, CommitError> {
        let records = self.store.scan(Tree::Tokens, []).filter_map(Result::ok);
        let named = |bytes: &[u8]| codec::decode_json::<TokenRecord>(bytes).is_ok_and(|token| token.id == id);
        let keys: Vec<Vec<u8>> =
            records.filter(|(_, bytes)| named(bytes)).map(|(key, _)| key.to_vec()).collect();
        let found = !keys.is_empty();
        if planted(Planted::RevokedTokens) {
            return Ok(found);
        }
        let commit = keys.into_iter().fold(Commit::new(), |commit, key| commit.remove(Tree::Tokens, key));
        self.store.commit(commit).await?;
        Ok(found)
    }

    fn read<T: serde::de::DeserializeOwned>(&self, tree: Tree, key: &[u8]) -> Option<T> {
        let bytes = self.store.get(tree, key).ok().flatten()?;
        codec::decode_json(&bytes).ok()
    }
}

/// A company's id follows from its name, so that two who make it at once make one.
fn company_uuid(name: &str) -> Uuid {
    let digest: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    Uuid::new_v8(std::array::from_fn(|nth| digest[nth]))
}

/// Under which a token is kept.
fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
