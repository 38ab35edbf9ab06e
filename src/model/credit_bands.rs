//! Which credit score makes which credit rating.

use serde::{Deserialize, Serialize};

use super::enums::ProvidedCreditRating;

/// The bands of scores behind the ratings; the two editions draw one border differently. Stored by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Name", into = "Name")]
pub struct CreditBands {
    excellent_from: i32,
    good_from: i32,
    fair_from: i32,
}

/// What the bands are stored as.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Name {
    Current,
    V1,
}

impl From<Name> for CreditBands {
    fn from(name: Name) -> Self {
        match name {
            Name::Current => Self::CURRENT,
            Name::V1 => Self::V1,
        }
    }
}

impl From<CreditBands> for Name {
    fn from(bands: CreditBands) -> Self {
        if bands == CreditBands::V1 { Self::V1 } else { Self::Current }
    }
}

impl Default for CreditBands {
    fn default() -> Self {
        Self::CURRENT
    }
}

impl CreditBands {
    /// The bands of the current edition.
    pub const CURRENT: Self = Self { excellent_from: 720, good_from: 660, fair_from: 620 };
    /// The bands of the v1 edition.
    pub const V1: Self = Self { fair_from: 600, ..Self::CURRENT };

    /// The lowest FICO score there is, where the poor begin.
    const POOR_FROM: i32 = 300;

    /// The rating of a score.
    pub const fn rating(self, score: i32) -> ProvidedCreditRating {
        if score >= self.excellent_from {
            ProvidedCreditRating::Excellent
        } else if score >= self.good_from {
            ProvidedCreditRating::Good
        } else if score >= self.fair_from {
            ProvidedCreditRating::Fair
        } else {
            ProvidedCreditRating::Poor
        }
    }

    /// The lowest score that a rating may stand for; without history there is none.
    pub const fn lowest_score(self, rating: ProvidedCreditRating) -> Option<i32> {
        match rating {
            ProvidedCreditRating::Excellent => Some(self.excellent_from),
            ProvidedCreditRating::Good => Some(self.good_from),
            ProvidedCreditRating::Fair => Some(self.fair_from),
            ProvidedCreditRating::Poor => Some(Self::POOR_FROM),
            ProvidedCreditRating::Limited | ProvidedCreditRating::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_editions_differ_between_600_and_619() {
        use ProvidedCreditRating::{Excellent, Fair, Good, Poor};
        for (score, current, v1) in [
            (850, Excellent, Excellent),
            (720, Excellent, Excellent),
            (719, Good, Good),
            (660, Good, Good),
            (659, Fair, Fair),
            (620, Fair, Fair),
            (619, Poor, Fair),
            (600, Poor, Fair),
            (599, Poor, Poor),
        ] {
            assert_eq!(
                (CreditBands::CURRENT.rating(score), CreditBands::V1.rating(score)),
                (current, v1),
                "{score}"
            );
        }
    }

    #[test]
    fn bands_are_stored_by_name() {
        for (bands, stored) in [(CreditBands::CURRENT, r#""current""#), (CreditBands::V1, r#""v1""#)] {
            assert_eq!(serde_json::to_string(&bands).unwrap(), stored);
            assert_eq!(serde_json::from_str::<CreditBands>(stored).unwrap(), bands);
        }
    }

    #[test]
    fn the_lowest_score_of_a_rating_has_that_rating() {
        for bands in [CreditBands::CURRENT, CreditBands::V1] {
            for &rating in ProvidedCreditRating::ALL {
                if let Some(score) = bands.lowest_score(rating) {
                    assert_eq!(bands.rating(score), rating);
                }
            }
        }
        assert_eq!(CreditBands::CURRENT.lowest_score(ProvidedCreditRating::Limited), None);
    }
}
