//! A snapshot: the rankings of the settings, with what was learnt by a time. It is exchanged as a whole, and a rate table keeps the one
//! that it began with.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use uuid::Uuid;

use super::key::Whose;
use offerd_base::config::{NamedRanking, RankingSettings};
use offerd_partners::ranking::{Conversions, RankedBy, Ranking, Weights};

/// What offers are ranked by.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The settings.
    pub rules: Arc<RankingSettings>,
    /// When it was made, Unix milliseconds.
    pub learnt_at: i64,
    /// What was learnt, by whose clicks.
    pub learnt: HashMap<Whose, Arc<Conversions>>,
    nothing: Arc<Conversions>,
    rankings: BTreeMap<String, Arc<Ranking>>,
    /// The rankings of companies that have one of their own.
    of_companies: HashMap<Uuid, String>,
}

impl Snapshot {
    /// One of these settings; `companies` are those that there are, by their names.
    pub fn new(
        rules: Arc<RankingSettings>,
        companies: &HashMap<String, Uuid>,
        learnt: HashMap<Whose, Arc<Conversions>>,
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

    /// The ranking of a company: that which is named, or its own, or the default; `None` where none is.
    pub fn ranked_by(&self, whose: Whose, named: Option<&str>) -> Option<RankedBy> {
        let own = || self.of_companies.get(&whose.company).map(String::as_str);
        let name = named.or_else(own).or(self.rules.default.as_deref())?;
        Some(RankedBy {
            ranking: Arc::clone(self.rankings.get(name)?),
            conversions: Arc::clone(self.conversions(whose)),
        })
    }

    /// What somebody's clicks have taught.
    pub fn conversions(&self, whose: Whose) -> &Arc<Conversions> {
        self.learnt.get(&whose).unwrap_or(&self.nothing)
    }
}

/// How much each part of a score counts by a ranking.
pub(super) fn weights(ranking: &NamedRanking) -> Weights {
    let NamedRanking { interest, conversion, payout, consumer_rating, .. } = *ranking;
    Weights { interest, conversion, payout, consumer_rating }
}
