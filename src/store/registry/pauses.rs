//! Partners that the command line has paused.

use chrono::Utc;
use serde::{Deserialize, Serialize};

use crate::{Commit, CommitError, ReadError, Store, Tree, codec};
use offerd_model::ProductType;

/// A pause. JSON, by partner and product type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// Key of the partner.
    pub partner: String,
    /// What it is not asked about; nothing at all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_type: Option<ProductType>,
    /// Unix milliseconds; [`UNKNOWN`](Self::UNKNOWN) where the record of the pause cannot be read.
    pub since: i64,
}

impl Pause {
    /// The time of a pause that cannot be read.
    pub const UNKNOWN: i64 = i64::MIN;

    /// What the key of a pause says, whose record cannot be read: its partner stays paused.
    fn of_key(key: &[u8]) -> Option<Self> {
        let (partner, product) = std::str::from_utf8(key).ok()?.split_once('\0')?;
        let product_type = ProductType::from_wire(product);
        Some(Self { partner: partner.to_owned(), product_type, since: Self::UNKNOWN })
    }
}

/// What became of the wish to end a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Resumed {
    /// It has ended.
    Ended,
    /// There was none.
    NotPaused,
    /// Nothing changed: the partner is paused as a whole.
    PausedAsAWhole,
}

/// The pauses of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pauses {
    store: Store,
}

impl Pauses {
    /// The pauses of a store.
    pub fn of(store: Store) -> Self {
        Self { store }
    }

    /// Pauses a partner, or one product type of it, by what `commit` does. One that is paused already stays so since then.
    ///
    /// # Errors
    /// Why the store did not take it.
    pub async fn pause(
        &self,
        partner: &str,
        product_type: Option<ProductType>,
        commit: impl AsyncFnOnce(Commit) -> Result<(), CommitError>,
    ) -> Result<Pause, CommitError> {
        let pause = Pause { partner: partner.to_owned(), product_type, since: Utc::now().timestamp_millis() };
        let key = key(partner, product_type);
        let paused =
            Commit::new().absent(Tree::Pauses, &key).put(Tree::Pauses, &key, codec::encode_json(&pause));
        match commit(paused).await {
            Err(CommitError::Guard { found, .. }) => codec::decode_json(&found).map_err(|error| {
                CommitError::Failed(format!("a pause of {partner} cannot be read: {error}"))
            }),
            written => written.map(|()| pause),
        }
    }

    /// Ends the pause of one product type of a partner, or every pause of it, by what `commit` does.
    ///
    /// # Errors
    /// Why the store did not take it.
    pub async fn resume(
        &self,
        partner: &str,
        product_type: Option<ProductType>,
        commit: impl AsyncFnOnce(Commit) -> Result<(), CommitError>,
    ) -> Result<Resumed, CommitError> {
        let all = self.read().map_err(|failure| CommitError::Failed(failure.to_string()))?;
        let of_partner: Vec<Pause> = all.into_iter().filter(|pause| pause.partner == partner).collect();
        let is_ending = |pause: &&Pause| product_type.is_none() || pause.product_type == product_type;
        let ending = of_partner.iter().filter(is_ending).map(|pause| key(partner, pause.product_type));
        let ending: Vec<Vec<u8>> = ending.collect();
        if ending.is_empty() {
            let whole = of_partner.iter().any(|pause| pause.product_type.is_none());
            return Ok(if whole { Resumed::PausedAsAWhole } else { Resumed::NotPaused });
        }
        let resumed = ending.iter().fold(Commit::new(), |commit, key| commit.remove(Tree::Pauses, key));
        commit(resumed).await?;
        Ok(Resumed::Ended)
    }

    /// Every pause, as far as the store can be read.
    pub fn list(&self) -> Vec<Pause> {
        self.each().filter_map(Result::ok).collect()
    }

    /// Every pause.
    ///
    /// # Errors
    /// That the store cannot be read, so that nobody knows.
    pub fn read(&self) -> Result<Vec<Pause>, ReadError> {
        self.each().collect()
    }

    /// Those too of which no more than the key can be read.
    fn each(&self) -> impl Iterator<Item = Result<Pause, ReadError>> {
        self.store.scan_all(Tree::Pauses, []).filter_map(|record| {
            let decoded = record.and_then(|(key, bytes)| self.store.decode_json(Tree::Pauses, &key, &bytes));
            match decoded {
                Err(ReadError::Broken(broken)) => {
                    let pause = Pause::of_key(&broken.key_bytes())?;
                    tracing::warn!(
                        partner = pause.partner,
                        "a pause cannot be read, and holds; `offerd partners resume` ends it"
                    );
                    Some(Ok(pause))
                }
                decoded => Some(decoded),
            }
        })
    }
}

/// A partner's key is the name of a file, so it holds no zero byte.
fn key(partner: &str, product_type: Option<ProductType>) -> Vec<u8> {
    format!("{partner}\0{}", product_type.map_or("", ProductType::as_str)).into_bytes()
}
