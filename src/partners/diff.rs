//! What is different in a book: which partners came and went, and which keys of the others say something else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::book::Book;
use super::said::{Said, SaidOfProduct, Value};

/// What one book has and another had not. Partners and keys stand in the order of the alphabet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookDiff {
    /// Partners that came.
    pub added: Vec<PartnerFigures>,
    /// Partners that went.
    pub removed: Vec<PartnerFigures>,
    /// Partners that are still there and not as they were.
    pub changed: Vec<PartnerDiff>,
}

/// A partner and the size of its catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartnerFigures {
    /// The partner, by the name of its file.
    pub partner: String,
    /// What it answers for, and with how many offers of its file.
    pub products: BTreeMap<String, usize>,
}

/// What is different in a partner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartnerDiff {
    /// The partner, by the name of its file.
    pub partner: String,
    /// Keys of `[partner]`.
    pub identity: Vec<Aspect>,
    /// By product type.
    pub products: BTreeMap<String, ProductDiff>,
}

/// What is different in what a partner does for one product type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "camelCase")]
pub enum ProductDiff {
    /// It was not asked about it before.
    Added {
        /// Offers of its file.
        offers: usize,
    },
    /// It is not asked about it any more.
    Removed {
        /// Offers that its file had.
        offers: usize,
    },
    /// It is asked or answers in another way.
    Changed {
        /// Keys of `[products.<type>]`.
        aspects: Vec<Aspect>,
        /// Its offers, when one of them is different.
        offers: Option<OffersDiff>,
        /// Whether a secret or a certificate that the file names is another one.
        credentials: bool,
    },
}

/// A key that says something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aspect {
    /// The key.
    pub key: String,
    /// What it said, where that is short; absent also when it was not set.
    pub before: Option<String>,
    /// What it says, where that is short; absent also when it is not set.
    pub after: Option<String>,
}

/// How the offers of a file are different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffersDiff {
    /// How many there were.
    pub before: usize,
    /// How many there are.
    pub after: usize,
    /// Keys that came.
    pub added: usize,
    /// Keys that went.
    pub removed: usize,
    /// Keys whose offer is another.
    pub changed: usize,
}

impl BookDiff {
    /// What `after` says and `before` did not.
    pub fn between(before: &Book, after: &Book) -> Self {
        let (old, new) = (before.said(), after.said());
        let only_in = |these: &BTreeMap<String, Said>, others: &BTreeMap<String, Said>| {
            let alone = these.iter().filter(|(key, _)| !others.contains_key(*key));
            alone.map(|(key, said)| PartnerFigures::of(key, said)).collect()
        };
        let both = new.iter().filter_map(|(key, said)| Some((key, old.get(key)?, said)));
        let changed = both.map(|(key, was, is)| PartnerDiff::between(key, (was, before), (is, after)));
        Self {
            added: only_in(new, old),
            removed: only_in(old, new),
            changed: changed.filter(|diff| !diff.is_empty()).collect(),
        }
    }

    /// Whether the books say the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl PartnerFigures {
    fn of(partner: &str, said: &Said) -> Self {
        let products =
            said.products.iter().map(|(product_type, product)| (product_type.clone(), product.offers.len()));
        Self { partner: partner.to_owned(), products: products.collect() }
    }
}

impl PartnerDiff {
    fn between(partner: &str, (was, old): (&Said, &Book), (is, new): (&Said, &Book)) -> Self {
        let mut products = BTreeMap::new();
        let types = was.products.keys().chain(is.products.keys());
        for product_type in types {
            let diff = match (was.products.get(product_type), is.products.get(product_type)) {
                (None, Some(product)) => Some(ProductDiff::Added { offers: product.offers.len() }),
                (Some(product), None) => Some(ProductDiff::Removed { offers: product.offers.len() }),
                (Some(was), Some(is)) => {
                    let credentials = !Book::same_credentials(old, new, partner, product_type);
                    ProductDiff::between(was, is, credentials)
                }
                (None, None) => None,
            };
            products.extend(diff.map(|diff| (product_type.clone(), diff)));
        }
        Self { partner: partner.to_owned(), identity: aspects(&was.identity, &is.identity), products }
    }

    fn is_empty(&self) -> bool {
        self.identity.is_empty() && self.products.is_empty()
    }
}

impl ProductDiff {
    fn between(was: &SaidOfProduct, is: &SaidOfProduct, credentials: bool) -> Option<Self> {
        let aspects = aspects(&was.keys, &is.keys);
        let offers = OffersDiff::between(&was.offers, &is.offers);
        let same = aspects.is_empty() && offers.is_none() && !credentials;
        (!same).then_some(Self::Changed { aspects, offers, credentials })
    }
}

impl OffersDiff {
    fn between(was: &BTreeMap<String, Value>, is: &BTreeMap<String, Value>) -> Option<Self> {
        let added = is.keys().filter(|key| !was.contains_key(*key)).count();
        let removed = was.keys().filter(|key| !is.contains_key(*key)).count();
        let changed = is.iter().filter(|(key, offer)| was.get(*key).is_some_and(|was| was != *offer)).count();
        let same = added + removed + changed == 0;
        (!same).then_some(Self { before: was.len(), after: is.len(), added, removed, changed })
    }
}

/// The keys at which two tables differ.
fn aspects(was: &BTreeMap<String, Value>, is: &BTreeMap<String, Value>) -> Vec<Aspect> {
    let keys: std::collections::BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let differ = keys.into_iter().filter(|key| was.get(*key) != is.get(*key));
    let short = |value: Option<&Value>| value.and_then(|value| value.short.clone());
    differ
        .map(|key| Aspect { key: key.clone(), before: short(was.get(key)), after: short(is.get(key)) })
        .collect()
}
