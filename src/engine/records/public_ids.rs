//! Public UUIDs: with the store's key, each leads to its rate table; without it, they are opaque.
//!
//! - An offer's UUID goes to partners, so it is in effect public. Its table's UUID is not: it opens the table
//!   to a publishable token. The 122 free bits hold the table's time, the first 62 of its random bits and the
//!   offer's number (12 bits), put through a keyed permutation.
//! - A page's address grants the right to see a table's offers, and ends up in mails and logs. So it must
//!   reveal no table's UUID, nor follow from an offer's. It is permuted under a separate key.
//! - A stream's secret grants the right to follow a table, and stands in the URLs of browsers. Its key is
//!   separate: a page's address, which is passed on, does not open the stream, which names lead and table.
//! - A callback's UUID, the [`place`] of a seat, grants the right to answer. Its key is separate, too.

use siphasher::sip::SipHasher24 as SipHasher24Short;
use siphasher::sip128::SipHasher24;
use uuid::{Builder, Uuid};

use super::permutation::Permutation;
use crate::rate_table::record::NUMBER_BITS;
use offerd_model::ProductType;
use offerd_store::{Store, Tree};

const PAGES: &str = "offer pages";
const STREAMS: &str = "table streams";
const CALLBACKS: &str = "callbacks";

/// Bytes of the table's UUID that start the places of its offers and seats.
const TABLE_BYTES: usize = 14;

/// Key in [`Tree::Meta`] where an imported store keeps the key behind the offer UUIDs of its source.
pub const KEPT_AS: &[u8] = b"offer_ids";

const PURPOSE: &str = "offer ids";

const PREVIEW_ENDS: &str = "ends of previews";

/// The low bits of a [`place`], which hold the number.
const NUMBER: u128 = (1 << NUMBER_BITS) - 1;

/// Makes and reads public UUIDs.
#[derive(Debug, Clone)]
pub struct PublicIds {
    offers: Permutation,
    pages: Permutation,
    streams: Permutation,
    callbacks: Permutation,
}

impl PublicIds {
    /// Uses the key that came with an import, or else the store's own.
    pub fn of(store: &Store) -> Self {
        let kept = store.get(Tree::Meta, KEPT_AS).ok().flatten();
        Self::under(kept.and_then(|kept| kept.try_into().ok()).unwrap_or_else(|| Self::derived(store)))
    }

    /// Derives all keys from one, so that addresses still work after an export and import.
    pub(crate) fn under(key: [u8; 16]) -> Self {
        let offers = Permutation(key);
        let [pages, streams, callbacks] = [PAGES, STREAMS, CALLBACKS].map(|use_| offers.derived(use_));
        Self { pages, streams, callbacks, offers }
    }

    fn derived(store: &Store) -> [u8; 16] {
        let [hash @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = store.blind(PURPOSE, b"");
        hash
    }

    /// The key, for an export.
    pub fn key(&self) -> &[u8] {
        &self.offers.0
    }

    /// The UUID of a table's offer.
    pub fn offer(&self, table: Uuid, number: u16) -> Uuid {
        self.offers.hide(place(table, number))
    }

    /// The UUID of an offer in previews: constant, and keyed, so that nobody can probe which offers exist.
    pub fn preview(&self, partner: &str, product_type: ProductType, offer: &str) -> Uuid {
        let name = format!("{partner}\0{product_type}\0{offer}");
        let hash = SipHasher24::new_with_key(&self.offers.0).hash(name.as_bytes());
        Builder::from_random_bytes(hash.as_bytes()).into_uuid()
    }

    /// Proof under the key that a preview offer's address is valid until `until_ms` (Unix milliseconds).
    pub fn preview_expiry(&self, offer: Uuid, until_ms: i64) -> u64 {
        let told = [&offer.as_bytes()[..], &until_ms.to_be_bytes()].concat();
        SipHasher24Short::new_with_key(&self.offers.derived(PREVIEW_ENDS).0).hash(&told)
    }

    /// The table's UUID, with its last 12 bits zero, and the offer's number. The table may not exist.
    pub fn read_offer(&self, offer: Uuid) -> Option<(Uuid, u16)> {
        let place = self.offers.reveal(offer)?.as_u128();
        let number = u16::try_from(place & NUMBER).expect("12 bits are left");
        (number > 0).then_some((Uuid::from_u128(place & !NUMBER), number))
    }

    /// The UUID of a table's page.
    pub fn page(&self, table: Uuid) -> Uuid {
        self.pages.hide(table)
    }

    /// The table behind a page's UUID, if this store issued it. The caller checks that the table exists.
    pub fn read_page(&self, page: Uuid) -> Option<Uuid> {
        self.pages.reveal(page)
    }

    /// The secret of a table's stream.
    pub fn stream(&self, table: Uuid) -> Uuid {
        self.streams.hide(table)
    }

    /// Whether a secret is that of a table's stream.
    pub fn opens_stream(&self, table: Uuid, secret: Uuid) -> bool {
        self.streams.reveal(secret) == Some(table)
    }

    /// The callback UUID of a seat.
    pub fn callback(&self, table: Uuid, seat: u16) -> Uuid {
        self.callbacks.hide(place(table, seat))
    }

    /// The start of the table's UUID behind a callback's UUID. The caller checks that the table exists.
    pub fn read_callback(&self, callback: Uuid) -> Option<[u8; TABLE_BYTES]> {
        self.callbacks.reveal(callback)?.as_bytes().first_chunk().copied()
    }
}

/// The internal key of an offer's records: the table's UUID, ending with the number. Never given out.
pub fn place(table: Uuid, number: u16) -> Uuid {
    Uuid::from_u128(table.as_u128() & !NUMBER | u128::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_table::record::MAX_OFFERS;
    use offerd_base::ids;

    fn under(key: u8) -> PublicIds {
        PublicIds::under([key; 16])
    }

    fn begins(table: Uuid) -> Uuid {
        Uuid::from_u128(table.as_u128() & !NUMBER)
    }

    #[test]
    fn an_offer_leads_to_its_table_and_number() {
        let table = ids::timed_at(1_800_000_000_000);
        for number in [1, 2, 77, MAX_OFFERS] {
            let offer = under(1).offer(table, number);
            assert_eq!((offer.get_version_num(), offer.get_variant()), (8, uuid::Variant::RFC4122));
            assert_eq!(under(1).read_offer(offer), Some((begins(table), number)));
        }
    }

    #[test]
    fn a_preview_has_the_same_uuid_every_time_and_it_is_no_tables() {
        let preview = |key, offer| under(key).preview("bank", ProductType::Loan, offer);
        assert_eq!(preview(1, "loan/36"), preview(1, "loan/36"));
        let others = [
            preview(1, "loan/60"),
            preview(2, "loan/36"),
            under(1).preview("bank", ProductType::Savings, "loan/36"),
        ];
        assert!(!others.contains(&preview(1, "loan/36")));
        assert_eq!(under(1).read_offer(preview(1, "loan/36")), None);
    }

    #[test]
    fn what_no_store_has_made_names_nothing() {
        assert_eq!(under(1).read_offer(Uuid::nil()), None);
        assert_eq!(under(1).read_offer(offerd_base::ids::random()), None);
    }

    /// Flipping one bit of the table, number or key flips half of all bits on average: one id is no help in
    /// guessing the next.
    #[test]
    fn a_small_change_changes_everything() {
        let distance = |one: Uuid, other: Uuid| (one.as_u128() ^ other.as_u128()).count_ones();
        let mut least = u32::MAX;
        for _ in 0..200 {
            let table = ids::timed_at(1_800_000_000_000);
            let offer = under(1).offer(table, 1);
            for bit in (12..62).chain(80..128) {
                let other = Uuid::from_u128(table.as_u128() ^ 1 << bit);
                least = least.min(distance(offer, under(1).offer(other, 1)));
            }
            let others = [2, 3, 5, 9].map(|number| under(1).offer(table, number));
            least = others.iter().map(|other| distance(offer, *other)).fold(least, u32::min);
            least = least.min(distance(offer, under(2).offer(table, 1)));
        }
        assert!(least > 25, "two ids differ in {least} bits of 122 only");
    }

    #[test]
    fn a_table_is_no_offer_whatever_it_ends_in() {
        let table = ids::timed_at(1_800_000_000_000);
        for table in [table, begins(table)] {
            assert_eq!(under(1).read_offer(table), None);
            assert_eq!(under(1).read_offer(under(1).offer(table, 17)), Some((begins(table), 17)));
        }
    }
}
