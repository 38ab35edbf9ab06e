//! The mapping between credit scores and credit ratings.

use serde::{Deserialize, Serialize};

use super::enums::ProvidedCreditRating;

/// The score bands of the ratings, by edition: the editions differ in one border. Stored by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CreditBands {
    /// The bands of the current edition.
    #[default]
    Current,
    /// The bands of the v1 edition.
    V1,
}

impl CreditBands {
    /// The ratings that stand for scores, the best first, each with its lowest FICO score.
    pub const fn lowest_scores(self) -> [(ProvidedCreditRating, i32); 4] {
        use ProvidedCreditRating::{Excellent, Fair, Good, Poor};
        let fair_from = match self {
            Self::Current => 620,
            Self::V1 => 600,
        };
        [(Excellent, 720), (Good, 660), (Fair, fair_from), (Poor, 300)]
    }

    /// The rating of a score.
    pub fn rating(self, score: i32) -> ProvidedCreditRating {
        let found = self.lowest_scores().into_iter().find(|(_, lowest)| score >= *lowest);
        found.map_or(ProvidedCreditRating::Poor, |(rating, _)| rating)
    }

    /// The lowest score of a rating; `None` without credit history.
    pub fn lowest_score(self, rating: ProvidedCreditRating) -> Option<i32> {
        self.lowest_scores().into_iter().find(|(known, _)| *known == rating).map(|(_, lowest)| lowest)
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
                (CreditBands::Current.rating(score), CreditBands::V1.rating(score)),
                (current, v1),
                "{score}"
            );
        }
    }

    #[test]
    fn bands_are_stored_by_name() {
        for (bands, stored) in [(CreditBands::Current, r#""current""#), (CreditBands::V1, r#""v1""#)] {
            assert_eq!(serde_json::to_string(&bands).unwrap(), stored);
            assert_eq!(serde_json::from_str::<CreditBands>(stored).unwrap(), bands);
        }
    }

    #[test]
    fn the_lowest_score_of_a_rating_has_that_rating() {
        for bands in [CreditBands::Current, CreditBands::V1] {
            for &rating in ProvidedCreditRating::ALL {
                if let Some(score) = bands.lowest_score(rating) {
                    assert_eq!(bands.rating(score), rating);
                }
            }
        }
        assert_eq!(CreditBands::Current.lowest_score(ProvidedCreditRating::Limited), None);
    }
}
