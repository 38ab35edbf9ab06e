//! Ids, created only here. Each has bits of its own from the system's generator, since an app may use a lead
//! or a rate table by its uuid alone. There is no counter, so no id reveals another (`uuid`'s `now_v7`
//! counts). Ids derived from a name are public.

use std::cell::RefCell;

use chrono::Utc;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// A UUIDv7: the millisecond, then 74 random bits. For records that are found and kept by time.
pub fn timed() -> Uuid {
    timed_at(u64::try_from(Utc::now().timestamp_millis()).unwrap_or(0))
}

/// A UUIDv7 of another time, Unix milliseconds.
pub fn timed_at(at_ms: u64) -> Uuid {
    Builder::from_unix_timestamp_millis(at_ms, &random_bytes()).into_uuid()
}

/// A UUIDv4: 122 random bits, without a time. For mere names, such as request ids. Bits are drawn in batches.
pub fn random() -> Uuid {
    let bits = DRAWN.with_borrow_mut(|drawn| {
        if drawn.is_empty() {
            let bytes: [u8; 16 * DRAWN_AT_ONCE] = random_bytes();
            drawn.extend_from_slice(bytes.as_chunks().0);
        }
        drawn.pop().expect("some were drawn")
    });
    Builder::from_random_bytes(bits).into_uuid()
}

/// Batch size: a system call takes longer than drawing the bits of a few more ids.
const DRAWN_AT_ONCE: usize = 16;

thread_local! {
    static DRAWN: RefCell<Vec<[u8; 16]>> = const { RefCell::new(Vec::new()) };
}

/// A UUIDv8 that is a function of its arguments, for things with public names. `kind` separates namespaces.
pub fn derived(kind: &str, names: &[&str]) -> Uuid {
    let mut hasher = Sha256::new();
    for name in std::iter::once(&kind).chain(names) {
        hasher.update((name.len() as u64).to_be_bytes());
        hasher.update(name);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    Uuid::new_v8(*digest.first_chunk().expect("a digest has 32 bytes"))
}

/// # Panics
/// If the system has no randomness: a guessable id is worse than a failed request.
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system's generator gives random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The random bits of a UUIDv7.
    const RANDOM_BITS_OF_V7: u128 = 0xfff << 64 | (u128::MAX >> 66);

    /// How often each bit differs between successive ids.
    fn flips(make: fn() -> Uuid) -> [usize; 128] {
        let mut flips = [0; 128];
        let mut before = make().as_u128();
        for _ in 0..IDS {
            let id = make().as_u128();
            for (bit, flips) in flips.iter_mut().enumerate() {
                *flips += usize::from((id ^ before) >> bit & 1 == 1);
            }
            before = id;
        }
        flips
    }

    const IDS: usize = 4_000;

    /// A fair bit flips half of the time; nine standard deviations to either side.
    fn is_fair(flips: usize) -> bool {
        flips.abs_diff(IDS / 2) < 285
    }

    #[test]
    fn each_random_bit_of_an_id_is_made_anew() {
        assert_eq!(RANDOM_BITS_OF_V7.count_ones(), 74);
        for (bit, flips) in flips(timed).into_iter().enumerate() {
            assert!(RANDOM_BITS_OF_V7 >> bit & 1 == 0 || is_fair(flips), "bit {bit} flipped {flips} times");
        }
        let fair = flips(random).into_iter().filter(|flips| is_fair(*flips)).count();
        assert_eq!(fair, 122, "all but those of version and variant");
    }

    #[test]
    fn a_timed_id_tells_the_millisecond() {
        let before = Utc::now().timestamp_millis().cast_unsigned();
        let id = timed();
        let after = Utc::now().timestamp_millis().cast_unsigned();
        let told = u64::try_from(id.as_u128() >> 80).unwrap();
        assert_eq!(id.get_version_num(), 7);
        assert!((before..=after).contains(&told));
        assert_eq!(random().get_version_num(), 4);
    }
}
