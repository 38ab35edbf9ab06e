//! What was learnt, to be looked at.

use std::collections::BTreeMap;

use statrs::distribution::{Beta, ContinuousCDF};

use super::snapshot::weights;
use super::{Rankings, prior};
use offerd_base::config::NamedRanking;
use offerd_model::{ProductType, Timestamp, record};
use offerd_partners::ranking::estimate::Known;
use offerd_partners::ranking::{ConversionFrom, Estimate, Prior, Weights};
use offerd_store::tokens::Tokens;

/// Rows that are told at most.
pub const ROWS_MAX: usize = 10_000;

/// How sure an interval is.
const INTERVAL: [f64; 2] = [0.05, 0.95];

/// What is looked at; all without.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The company, by its name.
    pub company: Option<String>,
    /// Key of the partner.
    pub partner: Option<String>,
    /// Test leads rather than live ones.
    pub test: bool,
}

record! {
    plain

    /// The rankings in force, and what was learnt.
    RankingReport {
        /// The ranking of companies that none names.
        default: Option<String>,
        /// The rankings, by their names.
        rankings: BTreeMap<String, Named>,
        /// What is believed before anything was seen.
        prior: Prior,
        /// When it was summed up, where a ranking is named.
        learnt_at: Option<Timestamp>,
        /// What was learnt: of partners, of their offers, and of these to people of one rating.
        rows: Vec<Row>,
        /// How many more rows there are.
        rows_cut: usize,
    }

    /// A ranking.
    Named {
        /// What its parts count.
        weights: Weights,
        /// The companies that it is of, by their names.
        companies: Vec<String>,
    }

    /// What was learnt of a partner's offers, of one of them, or of that to people of one rating.
    Row {
        /// The company; its uuid where it has no name.
        company: String,
        /// The product type.
        product_type: ProductType,
        /// Key of the partner.
        partner: String,
        /// Key of the offer; none for all of the partner.
        offer: Option<String>,
        /// The rating, `(none)` of people without one; none for all.
        rating: Option<String>,
        /// Clicks; older ones count for less than one.
        clicks: f64,
        /// Those of them that earned their payout.
        conversions: f64,
        /// What is believed: of all offers of a partner, of one that nobody has clicked on.
        estimate: f64,
        /// With a probability of 90 % it is from this
        low: f64,
        /// to this.
        high: f64,
        /// What knows most of it.
        from: ConversionFrom,
    }
}

impl Rankings {
    /// What was learnt. Blocks for as long as it takes, some microseconds a row.
    pub fn report(&self, wanted: &Wanted) -> RankingReport {
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
        RankingReport {
            default: rules.default.clone(),
            rankings: rules.named.iter().map(|(name, ranking)| (name.clone(), ranking.into())).collect(),
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

    fn of(company: &str, known: &Known<'_>) -> Self {
        let Estimate { rate, from, seen, beta } = known.estimate;
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

/// The figure below which such a share of a Beta distribution lies.
fn quantile((alpha, beta): (f64, f64), share: f64) -> Option<f64> {
    Some(Beta::new(alpha, beta).ok()?.inverse_cdf(share)).filter(|figure| figure.is_finite())
}

impl From<&NamedRanking> for Named {
    fn from(ranking: &NamedRanking) -> Self {
        Self { weights: weights(ranking), companies: ranking.companies.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of Beta(1, 1), which is even, and of Beta(2, 38), by a table.
    #[test]
    fn an_interval_has_nine_tenths_of_what_is_believed_in_it() {
        let close = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-3;
        assert!(close(quantile((1.0, 1.0), 0.05), 0.05) && close(quantile((1.0, 1.0), 0.95), 0.95));
        let [low, high] = INTERVAL.map(|share| quantile((2.0, 38.0), share).unwrap());
        assert!(low > 0.008 && low < 0.010 && high > 0.11 && high < 0.13, "{low} {high}");
        assert_eq!(quantile((0.0, 1.0), 0.5), None);
    }
}
