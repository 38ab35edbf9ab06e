//! A payout as it counts towards a seat's budget: written with its cause and removed when that is reversed.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::rate_table::bids::Sale;
use offerd_model::ProductType;
use offerd_partners::RecordedSeat;
use offerd_store::{Commit, Store, Tree, codec};

/// Keyed by the UUIDv7 of its cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Posting {
    /// Key of the partner.
    pub partner: String,
    /// The product type of the seat.
    pub product_type: ProductType,
    /// When it was booked, Unix milliseconds.
    pub at: i64,
    /// The amount, in cents and fractions of cents.
    pub cents: f64,
}

impl Posting {
    /// The posting of a sale.
    pub fn of_sale(seat: &RecordedSeat, sale: &Sale) -> Self {
        let cents = (sale.dollars * 100.0).round();
        Self { partner: seat.key.clone(), product_type: seat.product_type, at: sale.at, cents }
    }

    /// Adds it to the commit of its cause.
    pub fn write(&self, commit: Commit, earned_by: Uuid) -> Commit {
        commit.put(Tree::Postings, earned_by.as_bytes(), codec::encode(self))
    }

    /// Removes it in the commit that reverses its cause.
    pub fn remove(commit: Commit, earned_by: Uuid) -> Commit {
        commit.remove(Tree::Postings, earned_by.as_bytes())
    }

    /// The posting of a cause, if any.
    pub fn read(store: &Store, earned_by: Uuid) -> Option<Self> {
        store.read(Tree::Postings, earned_by).ok().flatten()
    }
}
