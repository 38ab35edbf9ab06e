//! `[ranking]`: how offers are scored from measured conversions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::cross_key_checks::CrossKeyChecks;
use super::values::{CENTURY, CheckedValue, DAY, SECOND, ZERO, given};
use crate::declaration::{HumanDuration, count, figure, outside, quoted, span};
use crate::table;

/// Largest weight: with more, one part would decide alone.
const WEIGHT_MAX: f64 = 4.0;

/// Smallest weight besides 0: with less, a part would not change a score noticeably.
const WEIGHT_MIN: f64 = 0.001;

table! {
    /// `[ranking]`
    #[derive(Debug, Clone, PartialEq)]
    pub struct RankingSettings {
        /// The ranking of companies without one of their own; `None` for none.
        default: Option<String> = given => reloadable,
        /// The rankings, by name.
        named: BTreeMap<String, NamedRanking> => reloadable,
        /// Prior conversion rate.
        prior_rate: f64 = figure(1e-6, 0.999_999) => reloadable,
        /// Weight of the prior, in clicks.
        prior_strength: f64 = figure(1.0, 100_000.0) => reloadable,
        /// Lower bound of a conversion rate.
        least: f64 = figure(1e-6, 1.0) => reloadable,
        /// Upper bound of a conversion rate.
        most: f64 => reloadable,
        /// The consumer rating assumed for an offer without one, out of 100.
        unrated: f64 = figure(0.0, 100.0) => reloadable,
        /// Age at which a day's clicks count.
        matures_after: Duration = span(ZERO, 365 * DAY) => reloadable,
        /// Half-life of a click's weight; `None` for no decay.
        half_life: Option<Duration> = half_life => reloadable,
        /// Largest age of clicks that count.
        window: Duration = span(DAY, 5 * 365 * DAY) => reloadable,
        /// Time between two aggregations.
        refresh: Duration = span(SECOND, DAY) => reloadable,
        /// Cohorts (a day, an offer and a rating) kept in memory.
        cohorts: usize = count(1_000, 100_000_000) => reloadable,
    }

    /// A ranking: the weight of each part of a score.
    #[derive(Debug, Clone, PartialEq)]
    pub struct NamedRanking {
        /// Weight of the person's interest.
        interest: f64 = weight,
        /// Weight of the conversion rate.
        conversion: f64 = weight,
        /// Weight of the payout.
        payout: f64 = weight,
        /// Weight of the consumer rating.
        consumer_rating: f64 = weight,
        /// The companies that use it, by name.
        companies: Vec<String> => optional,
    }
}

fn half_life(time: HumanDuration) -> CheckedValue<Option<Duration>> {
    if time.0.is_zero() { Ok(None) } else { span(DAY, CENTURY)(time).map(Some) }
}

fn weight(weight: f64) -> CheckedValue<f64> {
    if weight == 0.0 || (WEIGHT_MIN..=WEIGHT_MAX).contains(&weight) {
        return Ok(weight);
    }
    Err(vec![format!("must be 0, or from {WEIGHT_MIN} to {WEIGHT_MAX}, got {weight:?}")])
}

impl RankingSettings {
    /// The built-in ranking, which needs no section.
    pub const EXPECTED_VALUE: &str = "expected_value";

    /// Whether any ranking is named, so that conversions must be measured.
    pub fn is_on(&self) -> bool {
        !self.named.is_empty()
    }

    /// A sentence for each company that a ranking names and that is not `known`, so it never has an offer.
    pub fn without_token(&self, known: &BTreeSet<String>) -> Vec<String> {
        let named = self.named.iter().flat_map(|(name, ranking)| {
            ranking.companies.iter().filter(|one| !known.contains(*one)).map(move |one| (name, one))
        });
        let sentence = |(name, company): (&String, &String)| {
            format!(
                "`ranking.named.{name}` names the company `{company}`, which has no token, so it ranks \
                    nothing. Write the name as `offerd token list` shows it, or create a token with `offerd \
                    token create`"
            )
        };
        named.map(sentence).collect()
    }

    pub(super) fn fit(&mut self, rules: &mut CrossKeyChecks<'_>) {
        for (name, ranking) in &self.named {
            ranking.fit(name, rules);
        }
        named_twice(&self.named, rules);
        if let Some(default) = self.default.as_ref().filter(|name| !self.named.contains_key(*name)) {
            let is_built_in = default == Self::EXPECTED_VALUE;
            rules.want(is_built_in, &["ranking.default", "ranking.named"], || {
                let there_are: Vec<String> = self.named.keys().map(|name| format!("`{name}`")).collect();
                let there_are = if there_are.is_empty() { "none".to_owned() } else { there_are.join(", ") };
                format!(
                    "must be empty, `{}` or a ranking of `ranking.named` ({there_are}), got `{default}`",
                    Self::EXPECTED_VALUE
                )
            });
            if is_built_in {
                self.named.insert(default.clone(), NamedRanking::expected_value());
            }
        }
        let Self { matures_after, window, least, most, .. } = *self;
        rules.want(window > matures_after, &["ranking.window", "ranking.matures_after"], || {
            let wanted = "must be more than `ranking.matures_after`";
            let [matures_after, window] = [matures_after, window].map(HumanDuration);
            format!("{wanted} ({matures_after}), or no click ever counts; got {window}")
        });
        rules.want((least..=1.0).contains(&most), &["ranking.most", "ranking.least"], || {
            outside(least, 1.0, most)
        });
    }
}

impl NamedRanking {
    /// The expected value in dollars, by the measured conversion rate.
    pub const fn expected_value() -> Self {
        Self { interest: 1.0, conversion: 1.0, payout: 1.0, consumer_rating: 0.0, companies: Vec::new() }
    }

    /// Its name must be valid and unreserved, and its weights not all 0.
    fn fit(&self, name: &str, rules: &mut CrossKeyChecks<'_>) {
        let place = format!("ranking.named.{}", quoted(name));
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let is_name = !name.is_empty() && name.len() <= 64 && name.chars().all(is_of_name);
        rules.want(is_name, &[&place], || {
            format!("must be a name of letters, digits, `_` and `-`, 64 at most, got `{name}`")
        });
        rules.want(name != RankingSettings::EXPECTED_VALUE, &[&place], || {
            "is built in and cannot be redefined: give this ranking another name".to_owned()
        });
        let weights = [self.interest, self.conversion, self.payout, self.consumer_rating];
        rules.want(weights != [0.0; 4], &[&place], || {
            "must have a weight above 0, or every offer has the same score".to_owned()
        });
    }
}

fn named_twice(named: &BTreeMap<String, NamedRanking>, rules: &mut CrossKeyChecks<'_>) {
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, ranking) in named {
        for company in &ranking.companies {
            let other = taken.insert(company, name);
            rules.want(other.is_none(), &[&format!("ranking.named.{}.companies", quoted(name))], || {
                format!("names `{company}`, which `ranking.named.{}` names too", other.unwrap_or_default())
            });
        }
    }
}
