//! A snapshot: the rankings in the settings, with what was learnt as of a time. Replaced as a whole.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use uuid::Uuid;

use super::key::ClickOwner;
use offerd_base::config::{NamedRanking, RankingSettings};
use offerd_partners::ranking::{Conversions, Ranking, Scorer, Weights};

/// The learnt conversions, by owner.
pub type Learnt = HashMap<ClickOwner, Arc<Conversions>>;

/// A snapshot of the rankings.
#[derive(Debug, Clone)]
pub struct RankingSnapshot {
    /// The settings.
    pub rules: Arc<RankingSettings>,
    /// When it was made, Unix milliseconds.
    pub learnt_at: i64,
    /// The learnt conversions, by owner.
    pub learnt: Learnt,
    nothing: Arc<Conversions>,
    rankings: BTreeMap<String, Arc<Ranking>>,
    of_companies: HashMap<Uuid, String>,
}

impl RankingSnapshot {
    /// A snapshot with these settings. `companies` maps the names of all companies.
    pub fn new(
        rules: Arc<RankingSettings>,
        companies: &HashMap<String, Uuid>,
        learnt: Learnt,
        learnt_at: i64,
    ) -> Self {
        let ranking = |(name, named): (&String, &NamedRanking)| {
            let ranking =
                Ranking { name: name.clone(), weights: weights(named), unrated: rules.unrated, learnt_at };
            (name.clone(), Arc::new(ranking))
        };
        let of_company = |(name, ranking): (&String, &NamedRanking)| {
            let companies = ranking.companies.iter().filter_map(|company| companies.get(company));
            companies.map(|company| (*company, name.clone())).collect::<Vec<_>>()
        };
        Self {
            nothing: Arc::new(Conversions::nothing_seen(super::prior(&rules))),
            rankings: rules.named.iter().map(ranking).collect(),
            of_companies: rules.named.iter().flat_map(of_company).collect(),
            rules,
            learnt,
            learnt_at,
        }
    }

    /// The ranking of a company: the `named` one, or its own, or the default; `None` without one.
    pub fn ranked_by(&self, whose: ClickOwner, named: Option<&str>) -> Option<Scorer> {
        let own = || self.of_companies.get(&whose.company).map(String::as_str);
        let name = named.or_else(own).or(self.rules.default.as_deref())?;
        let ranking = Arc::clone(self.rankings.get(name)?);
        Some(Scorer { ranking, conversions: Arc::clone(self.conversions(whose)) })
    }

    /// What an owner's clicks have shown.
    pub fn conversions(&self, whose: ClickOwner) -> &Arc<Conversions> {
        self.learnt.get(&whose).unwrap_or(&self.nothing)
    }
}

pub(super) fn weights(ranking: &NamedRanking) -> Weights {
    let NamedRanking { interest, conversion, payout, consumer_rating, .. } = *ranking;
    Weights { interest, conversion, payout, consumer_rating }
}
