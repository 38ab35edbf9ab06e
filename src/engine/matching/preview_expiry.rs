//! The expiry of preview addresses, held in the address with a proof under the store's key. An address
//! without a proof works, except for offers with their own validity (`valid_for`).

use uuid::Uuid;

use crate::records::public_ids::PublicIds;

/// The query parameter.
pub const UNTIL: &str = "until";

/// The value of [`UNTIL`] for an expiry in Unix milliseconds: the expiry and its proof.
pub fn signed(ids: &PublicIds, offer: Uuid, until_ms: i64) -> String {
    format!("{until_ms}-{:016x}", ids.preview_expiry(offer, until_ms))
}

/// Whether an address with this value of [`UNTIL`] has expired. `is_brief` marks an offer with a `valid_for`.
pub fn is_over(ids: &PublicIds, offer: Uuid, until: Option<&str>, is_brief: bool, now_ms: i64) -> bool {
    let until = until.unwrap_or_default();
    let (until, proof) = until.rsplit_once('-').unwrap_or((until, ""));
    let until_ms = until.parse().ok();
    let is_proven = || {
        let proof = u64::from_str_radix(proof, 16).ok();
        proof.is_some() && proof == until_ms.map(|until_ms| ids.preview_expiry(offer, until_ms))
    };
    until_ms.is_some_and(|until_ms| now_ms > until_ms) || is_brief && !is_proven()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    #[test]
    fn an_end_is_believed_with_its_proof_alone() {
        let (ids, other_store) = (PublicIds::under([1; 16]), PublicIds::under([2; 16]));
        let (offer, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let over = |until: &str, is_brief| is_over(&ids, offer, Some(until), is_brief, NOW);
        for (until, ends) in [(NOW - 1, true), (NOW, false), (NOW + 1, false)] {
            let until = signed(&ids, offer, until);
            assert_eq!([true, false].map(|is_brief| over(&until, is_brief)), [ends; 2], "{until}");
        }
        let proven = signed(&ids, offer, NOW);
        let later = proven.replace("1800000000000", "1800000000001");
        let forged = [
            later,
            signed(&ids, other, NOW),
            signed(&other_store, offer, NOW),
            NOW.to_string(),
            format!("{NOW}-"),
            format!("{NOW}-0"),
            proven.replace('-', "--"),
            "abc".to_owned(),
            String::new(),
        ];
        for until in forged {
            assert!(over(&until, true), "{until}");
            assert!(!over(&until, false), "as it was before there were proofs: {until}");
        }
        assert!(is_over(&ids, offer, None, true, NOW) && !is_over(&ids, offer, None, false, NOW));
    }
}
