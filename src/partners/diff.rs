//! What is different in another book: which partners came and went, and which keys of the others say something else.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::book::Book;
use super::http::HttpSource;
use super::said::{Said, SaidOfProduct, Value};

#[cfg(test)]
mod tests;

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
    /// The value before, shortened where it is long; `None` of a table or a list, and when it was not set.
    pub before: Option<String>,
    /// The value now, as `before`.
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
        let (old, new) = (&before.said, &after.said);
        let (was, is) = (sources(before), sources(after));
        // What is read for partner files from elsewhere: secrets and certificates, which the files only name.
        let credentials = |partner: &str, product_type: &str| {
            let both = was.get(&(partner, product_type)).zip(is.get(&(partner, product_type)));
            both.is_some_and(|(was, is)| !was.same_credentials(is))
        };
        let both = new.iter().filter_map(|(partner, is)| Some((partner, old.get(partner)?, is)));
        let changed = both.map(|(partner, was, is)| PartnerDiff::between(partner, was, is, credentials));
        Self {
            added: alone(new, old),
            removed: alone(old, new),
            changed: changed.filter(|diff| !diff.is_empty()).collect(),
        }
    }

    /// Whether the books say the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// Those partners of one book that the other has not.
fn alone(these: &BTreeMap<String, Said>, others: &BTreeMap<String, Said>) -> Vec<PartnerFigures> {
    let alone = these.iter().filter(|(partner, _)| !others.contains_key(*partner));
    let figures = alone.map(|(partner, said)| {
        let products = said.products.iter();
        let products = products.map(|(product_type, product)| (product_type.clone(), product.offers.len()));
        PartnerFigures { partner: partner.clone(), products: products.collect() }
    });
    figures.collect()
}

/// The HTTP sources of a book, by partner and product type.
type Sources<'a> = HashMap<(&'a str, &'a str), &'a HttpSource>;

fn sources(book: &Book) -> Sources<'_> {
    let over_http = book.seats().iter().filter_map(|seat| Some((seat, seat.http.as_ref()?)));
    over_http
        .map(|(seat, source)| ((seat.identity.key.as_str(), seat.product_type.as_str()), source))
        .collect()
}

impl PartnerDiff {
    fn between(partner: &str, was: &Said, is: &Said, credentials: impl Fn(&str, &str) -> bool) -> Self {
        let mut products = BTreeMap::new();
        for product_type in was.products.keys().chain(is.products.keys()) {
            let diff = match (was.products.get(product_type), is.products.get(product_type)) {
                (None, Some(product)) => Some(ProductDiff::Added { offers: product.offers.len() }),
                (Some(product), None) => Some(ProductDiff::Removed { offers: product.offers.len() }),
                (Some(was), Some(is)) => ProductDiff::between(was, is, credentials(partner, product_type)),
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
    let keys: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let differ = keys.into_iter().filter(|key| was.get(*key) != is.get(*key));
    let shown = |value: Option<&Value>| value.and_then(|value| value.shown.clone());
    differ
        .map(|key| Aspect { key: key.clone(), before: shown(was.get(key)), after: shown(is.get(key)) })
        .collect()
}
