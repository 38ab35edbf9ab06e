//! A keyed permutation of the 122 free bits of UUIDs: reversible with the key, opaque without.

use siphasher::sip::SipHasher24;
use siphasher::sip128::SipHasher24 as SipHasher24Wide;
use uuid::Uuid;

const HALF_BITS: u32 = 61;
const HALF: u64 = (1 << HALF_BITS) - 1;

/// Rounds; four are indistinguishable from a random permutation (Luby and Rackoff), eight are as quick.
const ROUNDS: u8 = 8;

/// A keyed permutation of UUIDs.
#[derive(Clone)]
pub struct Permutation(pub(super) [u8; 16]);

impl std::fmt::Debug for Permutation {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Permutation(***)")
    }
}

impl Permutation {
    /// A permutation under a derived key, which does not reveal this one.
    pub fn derived(&self, purpose: &str) -> Self {
        Self(SipHasher24Wide::new_with_key(&self.0).hash(purpose.as_bytes()).as_bytes())
    }

    /// Maps a UUIDv7 to a UUIDv8.
    pub fn hide(&self, uuid: Uuid) -> Uuid {
        Uuid::new_v8(unpacked(self.permuted(packed(uuid.as_u128()))).to_be_bytes())
    }

    /// Maps a UUIDv8 back to its UUIDv7; `None` for any other version.
    pub fn reveal(&self, uuid: Uuid) -> Option<Uuid> {
        let revealed = || Uuid::from_u128(unpacked(self.restored(packed(uuid.as_u128()))));
        (uuid.get_version_num() == 8).then(revealed)
    }

    fn permuted(&self, block: u128) -> u128 {
        let (mut left, mut right) = halves(block);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.round(round, right));
        }
        u128::from(left) << HALF_BITS | u128::from(right)
    }

    fn restored(&self, block: u128) -> u128 {
        let (mut left, mut right) = halves(block);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.round(round, left), left);
        }
        u128::from(left) << HALF_BITS | u128::from(right)
    }

    fn round(&self, round: u8, half: u64) -> u64 {
        let mut input = [0; 9];
        input[0] = round;
        input[1..].copy_from_slice(&half.to_be_bytes());
        SipHasher24::new_with_key(&self.0).hash(&input) & HALF
    }
}

fn halves(block: u128) -> (u64, u64) {
    let half = |bits: u128| u64::try_from(bits & u128::from(HALF)).expect("61 bits are left");
    (half(block >> HALF_BITS), half(block))
}

fn packed(uuid: u128) -> u128 {
    (uuid >> 80) << 74 | (uuid >> 64 & 0xfff) << 62 | (uuid & ((1 << 62) - 1))
}

fn unpacked(bits: u128) -> u128 {
    (bits >> 74) << 80 | 7 << 76 | (bits >> 62 & 0xfff) << 64 | 2 << 62 | (bits & ((1 << 62) - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_permutation(block in 0..1_u128 << 122, key in any::<u8>()) {
            let permutation = Permutation([key; 16]);
            let permuted = permutation.permuted(block);
            prop_assert!(permuted < 1 << 122);
            prop_assert_eq!(permutation.restored(permuted), block);
            prop_assert_eq!(packed(unpacked(block)), block);
        }

        #[test]
        fn what_is_hidden_is_revealed_under_the_same_key_only(block in 0..1_u128 << 122) {
            let uuid = Uuid::from_u128(unpacked(block));
            let permutation = Permutation([1; 16]);
            let hidden = permutation.hide(uuid);
            prop_assert_eq!((hidden.get_version_num(), hidden.get_variant()), (8, uuid::Variant::RFC4122));
            prop_assert_eq!(permutation.reveal(hidden), Some(uuid));
            prop_assert_ne!(permutation.derived("another purpose").reveal(hidden), Some(uuid));
            prop_assert_eq!(permutation.reveal(uuid), None);
        }
    }
}
