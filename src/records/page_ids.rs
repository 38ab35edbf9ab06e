//! The uuids of offer pages: each leads to its rate table for whoever has the store's key, and for nobody else.
//!
//! A page's address is the whole right to see the offers of a table, and goes where addresses go: into mails, histories, logs of
//! proxies. So it tells nothing of the table's uuid, which opens more to a token; and it follows neither from that nor from the
//! uuids of offers, which go to partners. All 122 free bits of the table's uuid, put through the keyed permutation, under a key
//! of its own. No index is written; who has guessed often is no nearer.

use uuid::Uuid;

use super::offer_ids::OfferIds;
use super::permutation::Permutation;

/// What the key is derived for.
const PURPOSE: &str = "offer pages";

/// Makes the uuids of pages, and reads them.
#[derive(Debug, Clone)]
pub struct PageIds(Permutation);

impl PageIds {
    /// Under a key that follows from that of offers' uuids, so that addresses lead to what was exported and imported.
    pub fn beside(offers: &OfferIds) -> Self {
        Self(offers.permutation_for(PURPOSE))
    }

    /// The uuid of a table's page.
    pub fn uuid(&self, table: Uuid) -> Uuid {
        self.0.hide(table)
    }

    /// The table that a page shows, if the uuid is of this store. Whether there is such a table is for the caller to find out.
    pub fn read(&self, page: Uuid) -> Option<Uuid> {
        self.0.reveal(page)
    }
}
