//! Companies and their access tokens. A token is stored as its SHA-256 only.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use chrono::Utc;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::digest;
use super::entities::{CompanyRecord, TokenRecord};
use crate::{Commit, CommitError, ReadError, ReadResult, Store, Topic, Tree, codec};
use offerd_base::ids;
use offerd_model::{InDoubt, TokenKind, name_as_it_looks};

const COMPANY_NAME_BYTES: usize = 200;

/// Capacity of the token cache. When it is full, the whole cache is dropped and filled again.
const KNOWN: usize = 10_000;

/// The companies and tokens of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tokens {
    store: Store,
    known: Arc<RwLock<KnownTokens>>,
}

/// Tokens looked up since the last change of a company or a token, by hash. Every request looks one up.
#[derive(Debug, Default)]
struct KnownTokens {
    accesses: u64,
    tokens: HashMap<[u8; 32], (TokenRecord, CompanyRecord)>,
}

/// The parameters of a new token.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewToken {
    /// The name of its company, which is created if it does not exist.
    pub company: String,
    /// What it may do.
    pub kind: TokenKind,
    /// Whether its leads are tests.
    pub test: bool,
    /// The duplicate look-back to set for the company, minutes.
    pub duplicate_look_back_minutes: Option<u32>,
}

impl Tokens {
    /// The tokens of `store`.
    pub fn of(store: Store) -> Self {
        Self { store, known: Arc::default() }
    }

    /// Why the token cannot be created, if so.
    pub fn fault(new: &NewToken) -> Option<String> {
        let name = name_as_it_looks(&new.company);
        if new.company.trim().contains(char::is_control) {
            return Some("the company's name must have no control characters".to_owned());
        }
        let fits = !name.is_empty() && name.len() <= COMPANY_NAME_BYTES;
        (!fits).then(|| format!("the company's name must be a text of 1 to {COMPANY_NAME_BYTES} bytes"))
    }

    /// Creates a token, which is durably accepted once this returns. The returned text is not shown again.
    pub async fn create(&self, new: NewToken) -> Result<(String, TokenRecord), CommitError> {
        loop {
            let (token, record, commit) = self.made(new.clone());
            match self.store.commit(commit).await {
                // The company was changed meanwhile.
                Err(CommitError::Guard { .. }) => {}
                committed => return committed.map(|()| (token, record)),
            }
        }
    }

    /// Like [`create`](Self::create), for a company that must not exist yet.
    ///
    /// # Errors
    /// [`CommitError::Guard`] if the company exists; another one if the store does not take the commit.
    pub async fn create_first(&self, new: NewToken) -> Result<(String, TokenRecord), CommitError> {
        let company = company_uuid(&name_as_it_looks(&new.company));
        let (token, record, commit) = self.made(new);
        self.store.commit(commit.absent(Tree::Companies, company.as_bytes())).await?;
        Ok((token, record))
    }

    /// A new token, accepted once its commit is taken. The returned text is not shown again. The commit is
    /// guarded on the company as read; if the guard fails, the caller makes another token.
    pub fn made(&self, new: NewToken) -> (String, TokenRecord, Commit) {
        let token = format!("{}_{}", Uuid::new_v4(), Uuid::new_v4());
        let (company, commit) = self.holding(new.company, new.duplicate_look_back_minutes);
        let (id, created_at) = (ids::timed(), Utc::now().timestamp_millis());
        let record = TokenRecord { id, company: company.uuid, kind: new.kind, test: new.test, created_at };
        let commit = commit.put(Tree::Tokens, digest(&token), codec::encode_json(&record));
        (token, record, commit)
    }

    /// The company of a new token, with the commit that creates or changes it if needed.
    fn holding(&self, name: String, look_back_minutes: Option<u32>) -> (CompanyRecord, Commit) {
        let name = name_as_it_looks(&name);
        let is_it = |company: &CompanyRecord| name_as_it_looks(&company.name) == name;
        let (found, known) = self.each_company().find(|(company, _)| is_it(company)).unzip();
        let uuid = company_uuid(&name);
        let mut company = found.unwrap_or(CompanyRecord { uuid, name, duplicate_look_back_minutes: None });
        let before = company.duplicate_look_back_minutes;
        company.duplicate_look_back_minutes = look_back_minutes.or(before);
        let key = company.uuid.as_bytes();
        let read = || self.store.read_json::<CompanyRecord>(Tree::Companies, key);
        let commit = match known {
            Some(_) if company.duplicate_look_back_minutes == before => return (company, Commit::new()),
            Some(known) => Commit::new().unchanged(Tree::Companies, key, known),
            // A company that cannot be read is created anew.
            None if matches!(read(), Err(ReadError::Broken(_))) => Commit::new(),
            None => Commit::new().absent(Tree::Companies, key),
        };
        let commit = commit.put(Tree::Companies, key, codec::encode_json(&company));
        (company, commit)
    }

    /// The record and the company of a token, looked up by its hash. Only hashes are compared byte by byte,
    /// and nobody can choose those, so the timing does not reveal how close a guess is.
    ///
    /// # Errors
    /// If the store cannot be read or may have lost the record.
    pub fn find(&self, token: &str) -> Result<Option<(TokenRecord, CompanyRecord)>, InDoubt> {
        let digest = digest(token);
        // Read first, so that the records are at least as new.
        let accesses = self.store.changes_of(Topic::Access);
        if let KnownTokens { accesses: known, tokens } = &*self.known.read()
            && let Some(found) = tokens.get(&digest).filter(|_| *known == accesses)
        {
            return Ok(Some(found.clone()));
        }
        let Some(record) = self.store.credential::<TokenRecord>(Tree::Tokens, &digest)? else {
            return Ok(None);
        };
        let Some(company) = self.store.credential(Tree::Companies, record.company.as_bytes())? else {
            return Ok(None);
        };
        let found = (record, company);
        let mut known = self.known.write();
        if known.accesses < accesses || known.tokens.len() >= KNOWN {
            *known = KnownTokens { accesses, tokens: HashMap::new() };
        }
        if known.accesses == accesses {
            known.tokens.insert(digest, found.clone());
        }
        Ok(Some(found))
    }

    /// A company.
    pub fn company(&self, uuid: Uuid) -> Option<CompanyRecord> {
        self.store.read_json(Tree::Companies, uuid.as_bytes()).ok().flatten()
    }

    /// The name of a company; its uuid if it has none.
    pub fn name_of(&self, uuid: Uuid) -> String {
        self.company(uuid).map_or_else(|| uuid.to_string(), |company| company.name)
    }

    /// Every company that can be read.
    pub fn companies(&self) -> Vec<CompanyRecord> {
        self.each_company().map(|(company, _)| company).collect()
    }

    fn each_company(&self) -> impl Iterator<Item = (CompanyRecord, Vec<u8>)> {
        let records = self.store.scan(Tree::Companies, []).filter_map(Result::ok);
        records.filter_map(|(key, bytes)| {
            Some((self.store.decode_json(Tree::Companies, &key, &bytes).ok()?, bytes))
        })
    }

    /// Whether there may be a company, readable or not.
    pub fn has_any_company(&self) -> bool {
        self.store.keys(Tree::Companies, []).map_or(true, |keys| !keys.is_empty())
    }

    /// A company by its name as it looks.
    pub fn company_named(&self, name: &str) -> ReadResult<Option<CompanyRecord>> {
        let mut all = self.store.all(Tree::Companies)?.into_iter().map(|(_, company)| company);
        let name = name_as_it_looks(name);
        Ok(all.find(|company: &CompanyRecord| name_as_it_looks(&company.name) == name))
    }

    /// The names of the companies with a token, of those that can be read.
    pub fn holders(&self) -> BTreeSet<String> {
        self.list().unwrap_or_default().into_iter().map(|(_, company)| company.name).collect()
    }

    /// Every token with its company, oldest first.
    pub fn list(&self) -> ReadResult<Vec<(TokenRecord, CompanyRecord)>> {
        let companies = self.store.all::<CompanyRecord>(Tree::Companies)?;
        let company = |token: &TokenRecord| companies.iter().find(|(_, one)| one.uuid == token.company);
        let tokens = self.store.all::<TokenRecord>(Tree::Tokens)?.into_iter();
        let mut tokens: Vec<_> =
            tokens.filter_map(|(_, token)| company(&token).map(|(_, one)| (token, one.clone()))).collect();
        tokens.sort_by_key(|(token, _)| (token.created_at, token.id));
        Ok(tokens)
    }

    /// The commit that revokes a token by its id, if it exists. Once taken, the token is durably refused.
    pub fn ended(&self, id: Uuid) -> ReadResult<Option<Commit>> {
        self.store.ended(Tree::Tokens, |token: &TokenRecord| token.id == id)
    }
}

/// The uuid of a company first made under this name: the same for concurrent creations.
pub fn company_uuid(name: &str) -> Uuid {
    let digest = digest(name);
    Uuid::new_v8(std::array::from_fn(|nth| digest[nth]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreOptions;

    fn new(look_back: Option<u32>) -> NewToken {
        NewToken {
            company: "Acme".to_owned(),
            kind: TokenKind::Confidential,
            test: false,
            duplicate_look_back_minutes: look_back,
        }
    }

    #[test]
    fn what_is_wrong_with_the_name_of_a_company_is_said() {
        let fault = |company: &str| Tokens::fault(&NewToken { company: company.to_owned(), ..new(None) });
        assert_eq!(fault("Acme"), None);
        assert!(fault("A\u{1b}[2Jcme").unwrap().contains("control characters"));
        for empty in [" ", "\u{200b}", "\u{2800}\u{a0}"] {
            assert!(fault(empty).unwrap().contains("1 to 200 bytes"), "{empty:?}");
        }
    }

    #[tokio::test]
    async fn names_that_look_the_same_are_one_company() {
        let directory = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(Store::open(StoreOptions::new(directory.path())).unwrap());
        let named = |company: &str| NewToken { company: company.to_owned(), ..new(None) };
        for name in ["Zoë Loans", "Zoe\u{308} Loans", " Zoë\u{a0}Loans", "Zo\u{200b}ë  Loans"] {
            tokens.create(named(name)).await.unwrap();
            assert_eq!(tokens.company_named(name).unwrap().unwrap().name, "Zoë Loans", "{name:?}");
        }
        tokens.create(named("zoë loans")).await.unwrap();
        assert_eq!(tokens.companies().len(), 2, "capitals are seen");
        assert!(tokens.create_first(named("Zoë  Loans")).await.is_err());
    }

    /// Commands and requests each have a `Tokens` of their own.
    #[tokio::test]
    async fn what_somebody_else_changes_holds_at_once_for_what_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(StoreOptions::new(directory.path())).unwrap();
        let (ours, theirs) = (Tokens::of(store.clone()), Tokens::of(store.clone()));
        let (token, record) = theirs.create(new(None)).await.unwrap();
        let look_back = || ours.find(&token).unwrap().map(|(_, company)| company.duplicate_look_back_minutes);
        assert_eq!((look_back(), look_back()), (Some(None), Some(None)));
        theirs.create(new(Some(60))).await.unwrap();
        let (_, _, overtaken) = ours.made(new(Some(5)));
        theirs.create(new(Some(30))).await.unwrap();
        theirs.create(new(Some(60))).await.unwrap();
        assert!(store.commit(ours.made(new(None)).2).await.is_ok(), "it changes nothing of the company");
        theirs.create(new(Some(45))).await.unwrap();
        let overtaken = store.commit(overtaken).await;
        assert!(matches!(overtaken, Err(CommitError::Guard { index: 0, .. })), "{overtaken:?}");
        theirs.create(new(Some(60))).await.unwrap();
        assert_eq!((look_back(), look_back()), (Some(Some(60)), Some(Some(60))));
        store.commit(theirs.ended(record.id).unwrap().unwrap()).await.unwrap();
        assert_eq!((look_back(), look_back()), (None, None));
    }
}
