//! A partner as the engine sees it: one seat per product type.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::catalog::CatalogOffer;
use super::declared::{AdaptiveTimeout, Simulate};
use super::eligibility::EligibilityRule;
use super::facts::Facts;
use super::http::HttpPartner;
use super::identity::PartnerIdentity;
use super::limits::{Exclusive, Limits};
use super::template::Template;
use offerd_model::{Originator, Partner, ProductSubType, ProductType};

/// A partner's place at the rate tables of one product type.
#[derive(Debug)]
pub struct Seat {
    /// The partner.
    pub identity: PartnerIdentity,
    /// Product type that it is asked about.
    pub product_type: ProductType,
    /// Asked only when no first-look partner had a loan offer.
    pub second_look: bool,
    /// Whether it is not asked for now.
    pub paused: bool,
    /// When and how often it is asked.
    pub limits: Limits,
    /// The seats among which it takes a lead exclusively.
    pub exclusive: Option<Exclusive>,
    /// Priority when more partners fit than may be asked: higher goes first.
    pub priority: i32,
    /// Relative chance of being asked among seats of equal priority.
    pub weight: Option<f64>,
    /// Longest wait for its answer.
    pub timeout: Duration,
    /// Line of the partner file that sets `timeout`.
    pub timeout_line: Option<usize>,
    /// How the wait follows the partner's response times.
    pub adaptive_timeout: Option<AdaptiveTimeout>,
    /// Eligibility: which leads it is asked about.
    pub rule: EligibilityRule,
    /// How it imitates a remote partner.
    pub simulate: Option<Simulate>,
    /// How it is asked over HTTP; `None` when the catalog answers.
    pub http: Option<HttpPartner>,
    /// Its catalog.
    pub offers: Vec<CatalogOffer>,
    /// The part of the seat that rate tables store.
    pub recorded: Arc<RecordedSeat>,
    /// `recorded` in its stored form.
    pub recorded_text: Template,
}

impl Seat {
    /// Whether this is the seat of the partner with this key for this product type.
    pub fn is_of(&self, partner: &str, product_type: ProductType) -> bool {
        self.identity.key == partner && self.product_type == product_type
    }

    /// Whether a remote partner has no offer that fits the lead, and so is not sent it.
    pub fn fits_nothing(&self, facts: &Facts) -> bool {
        self.http.is_some() && !self.offers.iter().any(|offer| offer.rule.holds(facts))
    }

    /// Whether it answers without delay, from its catalog.
    pub fn answers_at_once(&self) -> bool {
        self.simulate.is_none() && self.http.is_none()
    }

    /// Whether it is exclusive and competes with the other seat.
    pub fn takes_from(&self, other: &Self) -> bool {
        let alone_among = match &self.exclusive {
            None => false,
            Some(Exclusive::Product) => true,
            group @ Some(Exclusive::Group(_)) => other.exclusive == *group,
        };
        alone_among && self.product_type == other.product_type
    }

    /// Whether a lead is in the seat's share of leads.
    pub fn is_in_share(&self, lead: Uuid) -> bool {
        self.limits.share.is_none_or(|share| self.draw("share", lead) < share)
    }

    /// A pseudo-random number in `0.0..1.0`, determined by purpose, uuid and seat, and stable across builds.
    pub fn draw(&self, purpose: &str, of: Uuid) -> f64 {
        drawn(&[purpose, &self.identity.key, self.product_type.as_str()], of)
    }
}

/// A pseudo-random number in `0.0..1.0`, determined by words and lead, and stable across builds.
pub fn drawn(words: &[&str], lead: Uuid) -> f64 {
    let mut hasher = Sha256::new();
    for word in words {
        hasher.update(word);
        hasher.update([0]);
    }
    hasher.update(lead);
    let digest: [u8; 32] = hasher.finalize().into();
    let bits = u64::from_be_bytes(*digest.first_chunk().expect("a digest has 32 bytes"));
    // A float holds 53 bits exactly.
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Of seats that would be asked together, those that an exclusive seat displaces, by position: `(displaced,
/// by)`. The first exclusive seat takes the lead, those of a product type before those of a group.
pub fn displaced(seats: &[&Seat], would_be_asked: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut displaced: Vec<(usize, usize)> = Vec::new();
    let mut exclusive: Vec<usize> =
        (0..seats.len()).filter(|nth| seats[*nth].exclusive.is_some() && would_be_asked(*nth)).collect();
    exclusive.sort_by_key(|nth| seats[*nth].exclusive != Some(Exclusive::Product));
    for taker in exclusive {
        if displaced.iter().any(|(other, _)| *other == taker) {
            continue;
        }
        for other in (0..seats.len()).filter(|other| *other != taker && would_be_asked(*other)) {
            if seats[taker].takes_from(seats[other]) && !displaced.iter().any(|(known, _)| *known == other) {
                displaced.push((other, taker));
            }
        }
    }
    displaced
}

/// What a rate table stores about a seat, so that it stays readable whatever happens to the partner file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedSeat {
    /// Key of the partner.
    pub key: String,
    /// Product type that it was asked about.
    pub product_type: ProductType,
    /// Whether it is asked in second look.
    pub second_look: bool,
    /// The partner as clients see it.
    pub partner: Partner,
    /// The partner as clients of loan offers see it.
    pub originator: Originator,
    /// `demandSubAccountId` of the lead actions it causes.
    pub sub_account_id: i64,
    /// Institution id in lead events.
    pub institution: Uuid,
    /// The sub-types of its catalog's offers, without duplicates.
    pub sub_types: Vec<ProductSubType>,
}

impl RecordedSeat {
    /// Whether this is the seat of the partner with this key for this product type.
    pub fn is_of(&self, partner: &str, product_type: ProductType) -> bool {
        self.key == partner && self.product_type == product_type
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use uuid::Uuid;

    use crate::Book;
    use crate::partner_files::partner;

    #[test]
    fn a_seat_is_asked_about_its_share_of_leads_and_each_seat_about_others() {
        let lender = |key: &str| partner(key).savings("limits = { share = 0.25 }");
        let files = ["one", "two"].map(|key| (PathBuf::from(format!("{key}.toml")), lender(key).text()));
        let book = Book::from_texts(files).unwrap();
        let leads: Vec<Uuid> = (0..4000).map(Uuid::from_u128).collect();
        let of = |nth: usize| {
            let seat = &book.seats()[nth];
            leads.iter().map(|lead| seat.is_in_share(*lead)).collect::<Vec<bool>>()
        };
        let (one, two) = (of(0), of(1));
        assert_eq!(one, of(0));
        let count = |taken: &[bool]| taken.iter().filter(|taken| **taken).count();
        // Six standard deviations to either side.
        assert!(count(&one).abs_diff(1000) < 165 && count(&two).abs_diff(1000) < 165, "{}", count(&one));
        let both: Vec<bool> = one.iter().zip(&two).map(|(one, two)| *one && *two).collect();
        assert!(count(&both).abs_diff(250) < 95, "{}", count(&both));
    }

    /// A changed draw would exchange partners' leads from one build to the next.
    #[test]
    fn a_draw_is_the_same_in_every_build() {
        let file = (PathBuf::from("one.toml"), partner("one").savings("").text());
        let book = Book::from_texts([file]).unwrap();
        let drawn = book.seats()[0].draw("share", Uuid::from_u128(7));
        assert_eq!(format!("{drawn:.6}"), "0.129784");
    }
}
