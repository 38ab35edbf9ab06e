//! Deterministic pseudo-random draws by lead and seat.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::partner::Seat;

impl Seat {
    /// Whether a lead is in the seat's share of leads.
    pub fn is_in_share(&self, lead: Uuid) -> bool {
        self.limits.share.is_none_or(|share| self.draw("share", lead) < share)
    }

    /// A pseudo-random number in `0.0..1.0`, determined by purpose, lead and seat, and stable across builds.
    pub fn draw(&self, purpose: &str, lead: Uuid) -> f64 {
        drawn(&[purpose, &self.identity.key, self.product_type.as_str()], lead)
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
