//! Partners that an operator has paused.

use std::fmt::{self, Display, Formatter};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{Commit, CommitError, ReadError, ReadResult, Store, Tree, codec};
use offerd_model::ProductType;

/// A pause. JSON, by partner and product type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// The key of the partner.
    pub partner: String,
    /// The paused product type; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_type: Option<ProductType>,
    /// When it began, Unix milliseconds; [`UNKNOWN`](Self::UNKNOWN) if its record cannot be read.
    pub since: i64,
    /// Who paused it: `user alice`, or the operator of a command. Unset if its record cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why, as given; nothing of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Pause {
    /// The start of a pause whose record cannot be read.
    pub const UNKNOWN: i64 = i64::MIN;

    /// A pause of a partner, or of one of its product types, that begins now.
    pub fn now(partner: &str, product_type: Option<ProductType>, by: &str, reason: Option<&str>) -> Self {
        let (by, reason) = (Some(by.to_owned()), reason.map(str::to_owned));
        Self { partner: partner.to_owned(), product_type, since: Utc::now().timestamp_millis(), by, reason }
    }

    /// The pause that a key alone describes, when its record cannot be read: the partner stays paused.
    fn of_key(key: &[u8]) -> Option<Self> {
        let (partner, product) = std::str::from_utf8(key).ok()?.split_once('\0')?;
        let product_type = ProductType::from_wire(product);
        let (by, reason) = Default::default();
        Some(Self { partner: partner.to_owned(), product_type, since: Self::UNKNOWN, by, reason })
    }
}

/// Since when, by whom and why, as far as known.
impl Display for Pause {
    fn fmt(&self, text: &mut Formatter<'_>) -> fmt::Result {
        match DateTime::from_timestamp_millis(self.since) {
            Some(since) => write!(text, "since {}", since.format("%Y-%m-%d %H:%M UTC"))?,
            None => write!(text, "since an unknown time")?,
        }
        self.by.iter().try_for_each(|by| write!(text, ", by {by}"))?;
        self.reason.iter().try_for_each(|reason| write!(text, ": {reason}"))
    }
}

/// The result of resuming a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ResumeResult {
    /// The pause has ended.
    Ended,
    /// There was no pause.
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
    /// The pauses of `store`.
    pub fn of(store: Store) -> Self {
        Self { store }
    }

    /// Begins a pause through `commit`, and returns the one in force: an existing pause stays as it is.
    pub async fn pause(
        &self,
        pause: Pause,
        commit: impl AsyncFnOnce(Commit) -> Result<(), CommitError>,
    ) -> Result<Pause, CommitError> {
        let key = key(&pause.partner, pause.product_type);
        let paused =
            Commit::new().absent(Tree::Pauses, &key).put(Tree::Pauses, &key, codec::encode_json(&pause));
        match commit(paused).await {
            Err(CommitError::Guard { found, .. }) => codec::decode_json(&found).map_err(|error| {
                CommitError::Unread(format!("a pause of {} cannot be read: {error}", pause.partner))
            }),
            written => written.map(|()| pause),
        }
    }

    /// Ends the pause of one product type of a partner, or all of its pauses, through `commit`.
    pub async fn resume(
        &self,
        partner: &str,
        product_type: Option<ProductType>,
        commit: impl AsyncFnOnce(Commit) -> Result<(), CommitError>,
    ) -> Result<ResumeResult, CommitError> {
        let all = self.read()?;
        let of_partner: Vec<Pause> = all.into_iter().filter(|pause| pause.partner == partner).collect();
        let is_ending = |pause: &&Pause| product_type.is_none() || pause.product_type == product_type;
        let ending = of_partner.iter().filter(is_ending).map(|pause| key(partner, pause.product_type));
        let ending: Vec<Vec<u8>> = ending.collect();
        if ending.is_empty() {
            let whole = of_partner.iter().any(|pause| pause.product_type.is_none());
            return Ok(if whole { ResumeResult::PausedAsAWhole } else { ResumeResult::NotPaused });
        }
        let resumed = ending.iter().fold(Commit::new(), |commit, key| commit.remove(Tree::Pauses, key));
        commit(resumed).await?;
        Ok(ResumeResult::Ended)
    }

    /// Every pause that can be read.
    pub fn list(&self) -> Vec<Pause> {
        self.each().filter_map(Result::ok).collect()
    }

    /// Every pause.
    pub fn read(&self) -> ReadResult<Vec<Pause>> {
        self.each().collect()
    }

    /// Every pause, including those of which only the key can be read.
    fn each(&self) -> impl Iterator<Item = ReadResult<Pause>> {
        self.store.scan_all(Tree::Pauses, []).filter_map(|record| {
            let decoded = record.and_then(|(key, bytes)| self.store.decode_json(Tree::Pauses, &key, &bytes));
            match decoded {
                Err(ReadError::Broken(broken)) => {
                    let pause = Pause::of_key(&broken.key_bytes())?;
                    tracing::warn!(
                        partner = pause.partner,
                        "cannot read a pause, so it stays in force; end it with `offerd partners resume`"
                    );
                    Some(Ok(pause))
                }
                decoded => Some(decoded),
            }
        })
    }
}

/// A partner's key is a file name, so it has no zero byte.
fn key(partner: &str, product_type: Option<ProductType>) -> Vec<u8> {
    format!("{partner}\0{}", product_type.map_or("", ProductType::as_str)).into_bytes()
}
