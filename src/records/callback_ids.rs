//! The uuids under which partners call back: each leads to a seat of a rate table for whoever has the store's key, and for nobody
//! else.
//!
//! The address is the whole right to answer for the seat. Its uuid is the [`place`] of the seat, put through the keyed
//! permutation under a key of its own, so it follows from nothing that is shown, is the same after a restart, and needs no index.

use uuid::Uuid;

use super::offer_ids::{OfferIds, place};
use super::permutation::Permutation;

/// What the key is derived for.
const PURPOSE: &str = "callbacks";

/// Bytes of a table's uuid that its seats' places begin with.
const TABLE_BYTES: usize = 14;

/// Makes the uuids of callbacks, and reads them.
#[derive(Debug, Clone)]
pub struct CallbackIds(Permutation);

impl CallbackIds {
    /// Under a key that follows from that of offers' uuids.
    pub fn beside(offers: &OfferIds) -> Self {
        Self(offers.permutation_for(PURPOSE))
    }

    /// The uuid under which a seat of a table is answered for.
    pub fn uuid(&self, table: Uuid, seat: u16) -> Uuid {
        self.0.hide(place(table, seat))
    }

    /// What the uuid of the seat's table begins with, if the uuid is of this store. Whether there is such a table is for the caller to
    /// find out.
    pub fn table_begins_with(&self, callback: Uuid) -> Option<[u8; TABLE_BYTES]> {
        self.0.reveal(callback)?.as_bytes().first_chunk().copied()
    }
}
