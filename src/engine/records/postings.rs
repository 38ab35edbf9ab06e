//! A payout as it counts towards the budget of a seat: written with what earns it, removed with what takes it back.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::rate_table::bids::Sale;
use offerd_model::ProductType;
use offerd_partners::SeatTemplate;
use offerd_store::{Commit, Store, Tree, codec};

/// By the UUIDv7 of what earned it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Posting {
    /// Key of the partner.
    pub partner: String,
    /// What the partner was asked about.
    pub product_type: ProductType,
    /// When it was booked, Unix milliseconds.
    pub at: i64,
    /// How much, in cents and fractions of them.
    pub cents: f64,
}

impl Posting {
    /// Of a lead that is sold to a seat.
    pub fn of_sale(seat: &SeatTemplate, sale: &Sale) -> Self {
        let cents = (sale.dollars * 100.0).round();
        Self { partner: seat.key.clone(), product_type: seat.product_type, at: sale.at, cents }
    }

    /// Adds it to the commit of what earns it.
    pub fn write(&self, commit: Commit, earned_by: Uuid) -> Commit {
        commit.put(Tree::Postings, earned_by.as_bytes(), codec::encode(self))
    }

    /// Removes it in the commit of what takes it back.
    pub fn remove(commit: Commit, earned_by: Uuid) -> Commit {
        commit.remove(Tree::Postings, earned_by.as_bytes())
    }

    /// What something has earned, if anything.
    pub fn read(store: &Store, earned_by: Uuid) -> Option<Self> {
        store.read(Tree::Postings, earned_by).ok().flatten()
    }
}
