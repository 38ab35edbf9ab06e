//! A report of what was learnt.

use std::collections::BTreeMap;

use statrs::distribution::{Beta, ContinuousCDF};

use super::snapshot::weights;
use super::{Rankings, prior};
use offerd_model::{ProductType, Timestamp, record};
use offerd_partners::ranking::estimate::KnownEstimate;
use offerd_partners::ranking::{ConversionEstimate, ConversionFrom, Prior, Weights};
use offerd_store::tokens::Tokens;

/// Most rows in a report.
pub const ROWS_MAX: usize = 10_000;

const INTERVAL: [f64; 2] = [0.05, 0.95];

/// A filter of the report; matches everything by default.
#[derive(Debug, Clone, Default)]
pub struct RankingFilter {
    /// The company's name.
    pub company: Option<String>,
    /// The partner's key.
    pub partner: Option<String>,
    /// Test leads instead of live ones.
    pub test: bool,
}

record! {
    plain

    /// The rankings in force, and what was learnt.
    RankingReport {
        /// The default ranking, for companies that no ranking names.
        default: Option<String>,
        /// The rankings by name.
        rankings: BTreeMap<String, Named>,
        /// The belief before any observation.
        prior: Prior,
        /// When it was summed up, if a ranking is set up.
        learnt_at: Option<Timestamp>,
        /// What was learnt: by partner, by offer, and by offer and rating.
        rows: Vec<Row>,
        /// Number of further rows.
        rows_cut: usize,
    }

    /// A ranking.
    Named {
        /// The weights of its score components.
        weights: Weights,
        /// The names of its companies.
        companies: Vec<String>,
    }

    /// What was learnt of a partner's offers, of one offer, or of one offer with people of one rating.
    Row {
        /// The company's name, or its UUID if it has none.
        company: String,
        /// The product type.
        product_type: ProductType,
        /// The partner's key.
        partner: String,
        /// The offer's key; none for all of the partner.
        offer: Option<String>,
        /// The rating, `(none)` for people without one; none for all ratings.
        rating: Option<String>,
        /// Clicks; older ones weigh less.
        clicks: f64,
        /// The clicks that earned their payout.
        conversions: f64,
        /// The estimated conversion rate; in a partner's row, that of an offer without clicks.
        estimate: f64,
        /// The lower bound of the 90 % interval.
        low: f64,
        /// The upper bound of the 90 % interval.
        high: f64,
        /// The level that contributes most to the estimate.
        from: ConversionFrom,
    }
}

impl Rankings {
    /// Builds the report. Blocks for some microseconds per row.
    pub fn report(&self, wanted: &RankingFilter) -> RankingReport {
        let rules = self.rules();
        let snapshot = self.snapshot();
        let tokens = Tokens::of(self.0.records.store.clone());
        let mut rows = Vec::new();
        for (whose, learnt) in snapshot.iter().flat_map(|snapshot| &snapshot.learnt) {
            let company = tokens.name_of(whose.company);
            if whose.test != wanted.test || wanted.company.as_ref().is_some_and(|wanted| *wanted != company) {
                continue;
            }
            let known = learnt.known().into_iter();
            let known = known.filter(|known| wanted.partner.as_ref().is_none_or(|key| key == known.partner));
            rows.extend(known.map(|known| Row::of(&company, &known)));
        }
        rows.sort_by(|one: &Row, other| one.place().cmp(&other.place()));
        let rows_cut = rows.len().saturating_sub(ROWS_MAX);
        rows.truncate(ROWS_MAX);
        let named = rules.named.iter().map(|(name, ranking)| {
            (name.clone(), Named { weights: weights(ranking), companies: ranking.companies.clone() })
        });
        RankingReport {
            default: rules.default.clone(),
            rankings: named.collect(),
            prior: prior(&rules),
            learnt_at: snapshot.and_then(|snapshot| Timestamp::from_millis(snapshot.learnt_at)),
            rows,
            rows_cut,
        }
    }
}

impl Row {
    fn place(&self) -> impl Ord {
        (&self.company, self.product_type, &self.partner, &self.offer, &self.rating)
    }

    fn of(company: &str, known: &KnownEstimate<'_>) -> Self {
        let ConversionEstimate { rate, from, seen, beta } = known.estimate;
        let [low, high] = INTERVAL.map(|share| quantile(beta, share).unwrap_or(rate));
        Self {
            company: company.to_owned(),
            product_type: known.product_type,
            partner: known.partner.to_owned(),
            offer: known.offer.map(str::to_owned),
            rating: known.band.map(|band| band.map_or("(none)", |rating| rating.as_str()).to_owned()),
            clicks: seen.clicks,
            conversions: seen.conversions,
            estimate: rate,
            low,
            high,
            from,
        }
    }
}

fn quantile((alpha, beta): (f64, f64), share: f64) -> Option<f64> {
    Some(Beta::new(alpha, beta).ok()?.inverse_cdf(share)).filter(|figure| figure.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table values of Beta(1, 1), which is uniform, and of Beta(2, 38).
    #[test]
    fn an_interval_has_nine_tenths_of_what_is_believed_in_it() {
        let close = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-3;
        assert!(close(quantile((1.0, 1.0), 0.05), 0.05) && close(quantile((1.0, 1.0), 0.95), 0.95));
        let [low, high] = INTERVAL.map(|share| quantile((2.0, 38.0), share).unwrap());
        assert!(low > 0.008 && low < 0.010 && high > 0.11 && high < 0.13, "{low} {high}");
        assert_eq!(quantile((0.0, 1.0), 0.5), None);
    }
}
