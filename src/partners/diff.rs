//! The difference between two books: partners added and removed, and the keys that changed in the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::book::Book;
use super::declared_values::{DeclaredValue, DeclaredValues};
use super::seat::Seat;

#[cfg(test)]
mod tests;

/// The difference between two books. Partners and keys are sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookDiff {
    /// Partners that were added.
    pub added: Vec<PartnerFigures>,
    /// Partners that were removed.
    pub removed: Vec<PartnerFigures>,
    /// Partners that changed.
    pub changed: Vec<PartnerDiff>,
}

/// A partner and the size of its catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartnerFigures {
    /// Key of the partner.
    pub partner: String,
    /// Number of offers by product type; each term counts.
    pub products: BTreeMap<String, usize>,
}

/// The changes of a partner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartnerDiff {
    /// Key of the partner.
    pub partner: String,
    /// Changed keys of `[partner]`.
    pub identity: Vec<ChangedKey>,
    /// Changes by product type.
    pub products: BTreeMap<String, ProductDiff>,
}

/// A change of one product of a partner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "camelCase")]
pub enum ProductDiff {
    /// The product is new.
    Added {
        /// Number of offers; each term counts.
        offers: usize,
    },
    /// The product is gone.
    Removed {
        /// Number of offers that it had; each term counts.
        offers: usize,
    },
    /// The product changed.
    Changed {
        /// Changed keys of `[products.<type>]`.
        aspects: Vec<ChangedKey>,
        /// Changes of its offers, if any.
        offers: Option<OffersDiff>,
        /// Whether the content of a secret or certificate that the file names changed.
        credentials: bool,
    },
}

/// A changed key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedKey {
    /// The key.
    pub key: String,
    /// The old value, shortened if long; `None` for a table or list, and when it was not set.
    pub before: Option<String>,
    /// The new value, likewise.
    pub after: Option<String>,
}

/// Changes of the offers of a seat; each term counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffersDiff {
    /// Number of offers before.
    pub before: usize,
    /// Number of offers after.
    pub after: usize,
    /// Number of added offers.
    pub added: usize,
    /// Number of removed offers.
    pub removed: usize,
    /// Number of offers whose declaration changed.
    pub changed: usize,
}

impl BookDiff {
    /// Compares two books.
    pub fn between(before: &Book, after: &Book) -> Self {
        let (was, is) = (BookSide::of(before), BookSide::of(after));
        let both = is.declared.keys().filter(|partner| was.declared.contains_key(*partner));
        let changed = both.map(|key| PartnerDiff::between(key, &was, &is)).filter(|diff| !diff.is_empty());
        Self { added: alone(&is, &was), removed: alone(&was, &is), changed: changed.collect() }
    }

    /// Whether the books are equal.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

fn alone(these: &BookSide, others: &BookSide) -> Vec<PartnerFigures> {
    let alone = these.declared.iter().filter(|(partner, _)| !others.declared.contains_key(*partner));
    let figures = alone.map(|(partner, declared)| {
        let products = declared.products.keys();
        let products = products.map(|product| (product.clone(), these.offers(partner, product).len()));
        PartnerFigures { partner: partner.clone(), products: products.collect() }
    });
    figures.collect()
}

/// One of two books: its declared values, and its seats by partner and product type.
struct BookSide<'b> {
    declared: &'b BTreeMap<String, DeclaredValues>,
    seats: HashMap<(&'b str, &'b str), &'b Seat>,
}

/// The offers of a seat by name, each with its declaration, which its terms share.
type DeclaredOffers<'b> = BTreeMap<&'b str, Option<&'b DeclaredValue>>;

impl<'b> BookSide<'b> {
    fn of(book: &'b Book) -> Self {
        let seats = book.seats().iter().map(|seat| &**seat);
        let placed = seats.map(|seat| ((seat.identity.key.as_str(), seat.product_type.as_str()), seat));
        Self { declared: &book.declared, seats: placed.collect() }
    }

    fn offers(&self, partner: &str, product_type: &str) -> DeclaredOffers<'b> {
        let declared = self.declared.get(partner).and_then(|declared| declared.products.get(product_type));
        let offers = self.seats.get(&(partner, product_type)).into_iter().flat_map(|seat| &seat.offers);
        let key = |name: &'b str| name.split('/').next().unwrap_or(name);
        offers
            .map(|offer| (&*offer.name, declared.and_then(|declared| declared.offers.get(key(&offer.name)))))
            .collect()
    }
}

impl PartnerDiff {
    fn between(partner: &str, was: &BookSide, is: &BookSide) -> Self {
        let (old, new) = (&was.declared[partner], &is.declared[partner]);
        let mut products = BTreeMap::new();
        for product_type in old.products.keys().chain(new.products.keys()) {
            let offers = |side: &BookSide| side.offers(partner, product_type).len();
            let diff = match (old.products.get(product_type), new.products.get(product_type)) {
                (None, Some(_)) => Some(ProductDiff::Added { offers: offers(is) }),
                (Some(_), None) => Some(ProductDiff::Removed { offers: offers(was) }),
                (Some(old), Some(new)) => {
                    ProductDiff::between((partner, product_type), was, is, aspects(&old.keys, &new.keys))
                }
                (None, None) => None,
            };
            products.extend(diff.map(|diff| (product_type.clone(), diff)));
        }
        Self { partner: partner.to_owned(), identity: aspects(&old.identity, &new.identity), products }
    }

    fn is_empty(&self) -> bool {
        self.identity.is_empty() && self.products.is_empty()
    }
}

impl ProductDiff {
    fn between(seat: (&str, &str), was: &BookSide, is: &BookSide, aspects: Vec<ChangedKey>) -> Option<Self> {
        let offers = OffersDiff::between(&was.offers(seat.0, seat.1), &is.offers(seat.0, seat.1));
        // Secrets and certificates, which the files only name.
        let sources = was.seats.get(&seat).zip(is.seats.get(&seat));
        let sources = sources.and_then(|(was, is)| was.http.as_ref().zip(is.http.as_ref()));
        let credentials = sources.is_some_and(|(was, is)| !was.same_credentials(is));
        let same = aspects.is_empty() && offers.is_none() && !credentials;
        (!same).then_some(Self::Changed { aspects, offers, credentials })
    }
}

impl OffersDiff {
    fn between(was: &DeclaredOffers, is: &DeclaredOffers) -> Option<Self> {
        let added = is.keys().filter(|key| !was.contains_key(*key)).count();
        let removed = was.keys().filter(|key| !is.contains_key(*key)).count();
        let changed = is.iter().filter(|(key, offer)| was.get(*key).is_some_and(|was| was != *offer)).count();
        let same = added + removed + changed == 0;
        (!same).then_some(Self { before: was.len(), after: is.len(), added, removed, changed })
    }
}

fn aspects(was: &BTreeMap<String, DeclaredValue>, is: &BTreeMap<String, DeclaredValue>) -> Vec<ChangedKey> {
    let keys: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let differ = keys.into_iter().filter(|key| was.get(*key) != is.get(*key));
    let shown = |value: Option<&DeclaredValue>| value.and_then(|value| value.shown.clone());
    differ
        .map(|key| ChangedKey { key: key.clone(), before: shown(was.get(key)), after: shown(is.get(key)) })
        .collect()
}
