//! Finds preview offers by their UUIDs, for clicks.

use std::collections::HashMap;

use uuid::Uuid;

use crate::records::public_ids::PublicIds;
use offerd_model::ProductType;
use offerd_partners::Book;

/// The product types with previews.
pub const PREVIEWED: [ProductType; 3] = [ProductType::Loan, ProductType::CreditCard, ProductType::Savings];

/// The offers of a book by preview UUID, as positions of seat and offer.
#[derive(Debug, Default)]
pub struct PreviewIds(HashMap<Uuid, (usize, usize)>);

impl PreviewIds {
    /// The preview offers of a book.
    pub fn of(book: &Book, ids: &PublicIds) -> Self {
        let seats = book.seats().iter().enumerate().filter(|(_, one)| PREVIEWED.contains(&one.product_type));
        let offers = seats.flat_map(|(position, seat)| {
            let uuid = |name: &str| ids.preview(&seat.identity.key, seat.product_type, name);
            seat.offers.iter().enumerate().map(move |(nth, offer)| (uuid(&offer.name), (position, nth)))
        });
        Self(offers.collect())
    }

    /// The positions of the seat and offer with this UUID.
    pub fn find(&self, id: Uuid) -> Option<(usize, usize)> {
        self.0.get(&id).copied()
    }
}
