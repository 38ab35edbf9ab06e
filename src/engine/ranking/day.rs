//! One day's record: the clicks on offers of that day's rate tables, and which converted.
//!
//! An offer counts once, by a four-byte fingerprint. Two of a day collide once in some millions of pairs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use offerd_model::ProductType;
use offerd_partners::Fingerprint;
use offerd_partners::ranking::OfferKey;
use offerd_partners::ranking::estimate::RatingBand;

/// The clicked offers of one day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// By offer in the partner's file, and by rating.
    pub cells: Vec<Cell>,
}

/// The results of one offer of a partner's file with people of one rating.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The offer and rating.
    pub at: OfferRatingKey,
    /// Fingerprints of the clicked offers.
    pub clicked: BTreeSet<u32>,
    /// Fingerprints of those that converted.
    pub converted: BTreeSet<u32>,
}

/// An offer of a partner's file, shown to people of a rating.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OfferRatingKey {
    /// The product type of the seat.
    pub product_type: ProductType,
    /// The partner's key.
    pub partner: String,
    /// The offer's key.
    pub offer: String,
    /// The rating.
    pub band: RatingBand,
}

/// What happened to an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClickOutcome {
    /// It was clicked.
    Clicked,
    /// The click earned its payout.
    Converted,
    /// The payout was reversed.
    TakenBack,
}

impl OfferRatingKey {
    /// The offer.
    pub fn place(&self) -> OfferKey<'_> {
        OfferKey { product_type: self.product_type, partner: &self.partner, offer: &self.offer }
    }
}

impl Day {
    /// Records what happened to an offer, which converts only once clicked; returns whether that is new.
    pub fn note(&mut self, at: &OfferRatingKey, offer: u32, became: ClickOutcome) -> bool {
        let place = match self.cells.iter().position(|cell| cell.at == *at) {
            Some(place) => place,
            None if became == ClickOutcome::Clicked => {
                let (clicked, converted) = (BTreeSet::new(), BTreeSet::new());
                self.cells.push(Cell { at: at.clone(), clicked, converted });
                self.cells.len() - 1
            }
            None => return false,
        };
        let Cell { clicked, converted, .. } = &mut self.cells[place];
        match became {
            ClickOutcome::Clicked => clicked.insert(offer),
            ClickOutcome::Converted => clicked.contains(&offer) && converted.insert(offer),
            ClickOutcome::TakenBack => converted.remove(&offer),
        }
    }

    /// Whether an offer was clicked.
    pub fn has(&self, at: &OfferRatingKey, offer: u32) -> bool {
        self.cells.iter().any(|cell| cell.at == *at && cell.clicked.contains(&offer))
    }
}

/// The fingerprint of an offer.
pub fn fingerprint(offer: Uuid) -> u32 {
    let Fingerprint(bytes) = Fingerprint::of(&format!("clicked {offer}"));
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
