//! Ranking: how an offer's score is computed where the settings name a ranking.
//!
//! Four [`Parts`], each 0 or more, are raised to the [`Weights`] of the ranking and multiplied:
//!
//! ```text
//! score = interest ^ w₁ × conversion ^ w₂ × payout ^ w₃ × consumer rating ^ w₄
//! ```
//!
//! | part | definition | bounds |
//! |---|---|---|
//! | interest | suitability × price × reach: the value to the person, whatever it earns | 0 to 1 |
//! | … suitability | 0.95 pre-approved, 0.80 pre-qualified, 0.65 pre-selected, else 0.50 | 0.5 to 0.95 |
//! | … price | loan, mortgage: 100 ÷ (100 + mean APR); savings: (100 + APY) ÷ 110; else 1 | 0 to 1 |
//! | … reach | maximum loan amount ÷ requested amount; 1 when none is requested or more is offered | 0 to 1 |
//! | conversion | share of clicks that pay ([`estimate`]); 1 for click payouts and bought leads | 0 to 1 |
//! | payout | dollars per conversion; for a bought lead its price | 0 to 1,000,000 |
//! | consumer rating | rating ÷ 100; `unrated` of the settings for offers without one | 0.01 to 1 |
//!
//! A measured conversion stays between `least` and `most` of the settings.
//!
//! A part of weight 0 has no effect, and one of weight 2 counts twice. With weights 1, 1, 1 and 0 the score
//! is the expected value in dollars, as without a ranking, but with the measured conversion. The score never
//! falls when a part rises. It does not depend on the other offers of a table, so an arriving offer never
//! moves another. Scores are kept and shown with six significant digits.

pub mod estimate;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use estimate::{ConversionEstimate, ConversionFrom, Conversions, ObservedClicks, OfferKey, Prior};

use super::declared::PayoutStep;
use super::facts::Facts;
use super::quote::QuoteTerms;

/// The figures that make up a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parts {
    /// Value to the person, 0 to 1.
    pub interest: f64,
    /// Probability that a click earns the payout, 0 to 1.
    pub conversion: f64,
    /// Dollars per conversion.
    pub payout: f64,
    /// Consumer rating, 0.01 to 1.
    pub consumer_rating: f64,
}

/// The exponent of each part, 0 to 4.
pub type Weights = Parts;

/// The ranking that an offer was scored by, as of that time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ranking {
    /// Its name in the settings.
    pub name: String,
    /// Its weights.
    pub weights: Weights,
    /// Consumer rating assumed for offers without one, out of 100.
    pub unrated: f64,
    /// When the conversion statistics were computed, Unix milliseconds; 0 when there were none.
    pub learnt_at: i64,
}

/// How an offer got its score.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreBreakdown {
    /// The ranking.
    pub by: Arc<Ranking>,
    /// The parts.
    pub parts: Parts,
    /// Source of the conversion estimate.
    pub from: ConversionFrom,
    /// Clicks observed at that level; older clicks count for less than one.
    pub seen: ObservedClicks,
}

/// The ranking and the statistics that the offers of a table are scored with.
#[derive(Debug, Clone, PartialEq)]
pub struct Scorer {
    /// The ranking.
    pub ranking: Arc<Ranking>,
    /// Conversion statistics of the company's own clicks.
    pub conversions: Arc<Conversions>,
}

/// The inputs of a ranking for one offer.
#[derive(Debug, Clone, Copy)]
pub struct Merits<'a> {
    /// The partner, and the key of the offer in its file.
    pub place: OfferKey<'a>,
    /// The step that earns the payout.
    pub payout_on: PayoutStep,
    /// Payout in dollars.
    pub payout: f64,
    /// Likelihood of approval.
    pub suitability: f64,
    /// Declared share of shown offers that earn the payout.
    pub declared_conversion: f64,
    /// Consumer rating out of 100.
    pub consumer_rating: Option<f64>,
}

impl Merits<'_> {
    /// The score without a ranking: the expected value in dollars by the declared figures.
    pub fn expected_value(&self) -> f64 {
        (self.declared_conversion * self.payout * self.suitability * 1e4).round() / 1e4
    }
}

impl Scorer {
    /// Scores an offer to a lead.
    pub fn score(&self, facts: &Facts, terms: &QuoteTerms, merits: &Merits<'_>) -> ScoreBreakdown {
        let (conversion, from, seen) = match merits.payout_on {
            PayoutStep::Click => (1.0, ConversionFrom::Click, ObservedClicks::default()),
            _ => {
                let estimate = self.conversions.estimate(&merits.place, facts.rating());
                (estimate.rate, estimate.from, estimate.seen)
            }
        };
        let interest = merits.suitability * price(terms) * reach(terms, facts.loan_amount());
        let rating = (merits.consumer_rating.unwrap_or(self.ranking.unrated) / 100.0).clamp(0.01, 1.0);
        let parts = Parts { interest, conversion, payout: merits.payout, consumer_rating: rating };
        ScoreBreakdown { by: Arc::clone(&self.ranking), parts, from, seen }
    }
}

impl ScoreBreakdown {
    /// The score.
    pub fn score(&self) -> f64 {
        score(&self.parts, &self.by.weights)
    }

    /// Sets the payout of a partner that bought the lead for `dollars`.
    pub fn sold_for(&mut self, dollars: f64) {
        (self.parts.payout, self.parts.conversion) = (dollars, 1.0);
        (self.from, self.seen) = (ConversionFrom::Sold, ObservedClicks::default());
    }
}

impl Parts {
    /// Each part with its name.
    pub fn named(&self) -> [(&'static str, f64); 4] {
        [
            ("interest", self.interest),
            ("conversion", self.conversion),
            ("payout", self.payout),
            ("consumer rating", self.consumer_rating),
        ]
    }

    /// Each part, in the order of [`Self::named`].
    pub fn each(&self) -> [f64; 4] {
        self.named().map(|(_, part)| part)
    }
}

/// The score of parts under weights: 0 or more, and monotonic in each part.
pub fn score(parts: &Parts, weights: &Weights) -> f64 {
    six_digits(parts.each().into_iter().zip(weights.each()).map(|(part, weight)| part.powf(weight)).product())
}

/// Rounds to six significant digits, so that the displayed value is the sort key.
fn six_digits(figure: f64) -> f64 {
    if !figure.is_finite() || figure <= 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powi(5 - figure.log10().floor() as i32);
    if scale.is_finite() && scale > 0.0 { (figure * scale).round() / scale } else { 0.0 }
}

/// The value of a dollar after one year at the offer's price or yield.
fn price(terms: &QuoteTerms) -> f64 {
    let after = |apr: f64| 100.0 / (100.0 + apr.max(0.0));
    match terms {
        QuoteTerms::Loan(loan) => after(loan.apr.mean()),
        QuoteTerms::Mortgage(mortgage) => after(mortgage.apr),
        QuoteTerms::Savings(savings) => ((100.0 + savings.annual_percent_yield) / 110.0).clamp(0.0, 1.0),
        QuoteTerms::Card(_) | QuoteTerms::Special(_) => 1.0,
    }
}

/// The share of the requested amount that is available, 0 to 1.
fn reach(terms: &QuoteTerms, asked: Option<f64>) -> f64 {
    match (terms, asked) {
        (QuoteTerms::Loan(loan), Some(asked)) => (f64::from(loan.max_amount) / asked).clamp(0.0, 1.0),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Book;
    use crate::partner_files::partner;
    use offerd_model::{CreditBands, Lead};

    fn parts() -> impl Strategy<Value = Parts> {
        (0.0..=1.0, 0.0..=1.0, 0.0..=1e6, 0.01..=1.0).prop_map(
            |(interest, conversion, payout, consumer_rating)| Parts {
                interest,
                conversion,
                payout,
                consumer_rating,
            },
        )
    }

    fn weights() -> impl Strategy<Value = Weights> {
        (0.0..=4.0, 0.0..=4.0, 0.0..=4.0, 0.0..=4.0).prop_map(
            |(interest, conversion, payout, consumer_rating)| Weights {
                interest,
                conversion,
                payout,
                consumer_rating,
            },
        )
    }

    proptest! {
        #[test]
        fn a_score_never_falls_when_a_part_rises(parts in parts(), more in parts(), weights in weights()) {
            let before = score(&parts, &weights);
            let max = f64::max;
            let rises = [
                Parts { interest: max(parts.interest, more.interest), ..parts },
                Parts { conversion: max(parts.conversion, more.conversion), ..parts },
                Parts { payout: max(parts.payout, more.payout), ..parts },
                Parts { consumer_rating: max(parts.consumer_rating, more.consumer_rating), ..parts },
            ];
            for higher in rises {
                prop_assert!(score(&higher, &weights) >= before, "{higher:?} {weights:?}");
            }
        }

        #[test]
        fn a_score_is_a_number_from_0_to_the_greatest_payout_raised_to_its_weight(parts in parts(), weights in weights()) {
            let score = score(&parts, &weights);
            let most = parts.payout.max(1.0).powf(weights.payout);
            prop_assert!(score.is_finite() && score >= 0.0 && score <= most * 1.000_01, "{score}");
        }
    }

    /// Quotes of lenders with different payouts.
    fn quoted(payouts: &[u32], order: &[usize]) -> Vec<(String, f64)> {
        let files = payouts.iter().enumerate().map(|(nth, payout)| {
            let key = format!("lender{nth}");
            let file = partner(&key).loan("").replaced("fixed = 100.0", &format!("fixed = {payout}.0"));
            (format!("{key}.toml").into(), file.text())
        });
        let book = Book::from_texts(files).expect("the partners of a test are good");
        let weights = Weights { interest: 1.0, conversion: 1.0, payout: 1.0, consumer_rating: 1.0 };
        let ranking = Ranking { name: "all".to_owned(), weights, unrated: 50.0, learnt_at: 0 };
        let prior = Prior { rate: 0.1, strength: 10.0, least: 0.01, most: 0.9 };
        let by =
            Scorer { ranking: Arc::new(ranking), conversions: Arc::new(Conversions::nothing_seen(prior)) };
        let lead = serde_json::json!({
            "productTypes": ["loan"],
            "loanInformation": {"loanAmount": 10000},
            "creditInformation": {"providedCreditRating": "good"},
        });
        let lead = Lead::read(lead.to_string().as_bytes()).expect("a lead");
        let facts = Facts::new(&lead, chrono::DateTime::default(), CreditBands::Current).ranked_by(Some(&by));
        let quote = |nth: &usize| {
            let seat = &book.seats()[*nth];
            let quote = seat.offers[0].quote(&facts, true).expect("it fits");
            assert_eq!(quote.score, quote.ranked.expect("it is ranked").score());
            (seat.identity.key.clone(), quote.score)
        };
        let mut quoted: Vec<_> = order.iter().map(quote).collect();
        quoted.sort_by(|(one, high), (two, low)| low.total_cmp(high).then(one.cmp(two)));
        quoted
    }

    proptest! {
        #![proptest_config(crate::cases::cases(16))]

        #[test]
        fn offers_stand_in_the_same_order_whichever_came_first(
            (payouts, order) in prop::collection::vec(1..500_u32, 1..6).prop_flat_map(|payouts| {
                let order: Vec<usize> = (0..payouts.len()).collect();
                (Just(payouts), Just(order).prop_shuffle())
            }),
        ) {
            let in_turn: Vec<usize> = (0..payouts.len()).collect();
            prop_assert_eq!(quoted(&payouts, &order), quoted(&payouts, &in_turn));
        }
    }

    #[test]
    fn who_has_bought_the_lead_is_worth_what_it_pays_to_whom_it_is_offered() {
        let weights = Weights { interest: 1.0, conversion: 1.0, payout: 1.0, consumer_rating: 0.0 };
        let ranking = Ranking { name: "all".to_owned(), weights, unrated: 50.0, learnt_at: 0 };
        let parts = Parts { interest: 0.5, conversion: 0.1, payout: 100.0, consumer_rating: 0.5 };
        let seen = ObservedClicks { clicks: 7.0, conversions: 1.0 };
        let mut ranked = ScoreBreakdown { by: Arc::new(ranking), parts, from: ConversionFrom::Band, seen };
        ranked.sold_for(30.0);
        assert_eq!(
            (ranked.score(), ranked.from, ranked.seen),
            (15.0, ConversionFrom::Sold, ObservedClicks::default())
        );
    }

    #[test]
    fn with_the_weights_of_an_expected_value_it_is_one() {
        let parts = Parts { interest: 0.8, conversion: 0.1, payout: 100.0, consumer_rating: 0.5 };
        let weights = Weights { interest: 1.0, conversion: 1.0, payout: 1.0, consumer_rating: 0.0 };
        assert_eq!(score(&parts, &weights), 8.0);
        assert_eq!(score(&Parts { payout: 0.0, ..parts }, &weights), 0.0);
        assert_eq!(six_digits(123_456.789), 123_457.0);
        assert_eq!(six_digits(0.000_012_345_678), 0.000_012_345_7);
    }
}
