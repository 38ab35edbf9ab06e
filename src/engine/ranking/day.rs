//! A day: the clicks on the offers of the rate tables of one day, and which of them converted.
//!
//! An offer counts once, however often it is clicked on or reported: it is known by a fingerprint of four bytes, which tells of nobody.
//! Two of one offer and day that are alike by chance count as one, which is once in some millions of pairs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use offerd_model::ProductType;
use offerd_partners::Fingerprint;
use offerd_partners::ranking::Place;
use offerd_partners::ranking::estimate::Band;

/// The offers of one day that were clicked on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// By offer of a partner's file, and by rating.
    pub cells: Vec<Cell>,
}

/// What one offer of a partner's file came to with people of one rating.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Which.
    pub at: At,
    /// Fingerprints of the offers that were clicked on.
    clicked: BTreeSet<u32>,
    /// Those of them that converted.
    converted: BTreeSet<u32>,
}

/// An offer of a partner's file, to people of a rating.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct At {
    /// The product type of the seat.
    pub product_type: ProductType,
    /// Key of the partner.
    pub partner: String,
    /// Key of the offer.
    pub offer: String,
    /// The rating.
    pub band: Band,
}

/// What became of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// It was clicked on.
    Clicked,
    /// The click has earned its payout.
    Converted,
    /// It has not, after all.
    TakenBack,
}

impl At {
    /// The offer.
    pub fn place(&self) -> Place<'_> {
        Place { product_type: self.product_type, partner: &self.partner, offer: &self.offer }
    }
}

impl Cell {
    /// Offers that were clicked on.
    pub fn clicks(&self) -> u32 {
        self.clicked.len() as u32
    }

    /// Those of them that converted.
    pub fn conversions(&self) -> u32 {
        self.converted.len() as u32
    }
}

impl Day {
    /// Notes what became of an offer; whether that changes anything. What was not clicked on does not convert: the one would count
    /// among those that might have, and the others not.
    pub fn note(&mut self, at: &At, offer: u32, became: Became) -> bool {
        let place = match self.cells.iter().position(|cell| cell.at == *at) {
            Some(place) => place,
            None if became == Became::Clicked => {
                let (clicked, converted) = (BTreeSet::new(), BTreeSet::new());
                self.cells.push(Cell { at: at.clone(), clicked, converted });
                self.cells.len() - 1
            }
            None => return false,
        };
        let Cell { clicked, converted, .. } = &mut self.cells[place];
        match became {
            Became::Clicked => clicked.insert(offer),
            Became::Converted => clicked.contains(&offer) && converted.insert(offer),
            Became::TakenBack => converted.remove(&offer),
        }
    }

    /// Whether an offer was clicked on.
    pub fn has(&self, at: &At, offer: u32) -> bool {
        self.cells.iter().any(|cell| cell.at == *at && cell.clicked.contains(&offer))
    }
}

/// The fingerprint of an offer.
pub fn fingerprint(offer: Uuid) -> u32 {
    let Fingerprint(bytes) = Fingerprint::of(&format!("clicked {offer}"));
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
