//! Ranking: learns from a company's own clicks, and ranks its offers.
//!
//! A `fold` follows each company's lead events and records for each `day` which offers were clicked, and
//! which of those earned their payout, together with its position. Days old enough to have converted are
//! summed up (`ranking.matures_after`). The `counts` are in memory; a rate table reads their `snapshot`.
//! [`offerd_partners::ranking`] turns it into scores.
//!
//! Of several nodes, the leader follows the feeds; the others sum up its records every `ranking.refresh`.
//! Days name no lead, and are separate for each company and for test and live leads.

mod counts;
mod day;
mod fold;
mod keep;
pub(crate) mod key;
pub mod report;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::Arc;

use metrics::gauge;
use parking_lot::{Mutex, RwLock};
use uuid::Uuid;

use self::counts::ClickCounts;
pub use self::keep::RankingLearner;
use self::key::ClickOwner;
use self::snapshot::{Learnt, RankingSnapshot};
use crate::records::Records;
use offerd_base::config::RankingSettings;
use offerd_base::telemetry::metrics::RANKING_LEARNT_AT;
use offerd_partners::ranking::{Prior, Scorer};
use offerd_store::CommitError;
use offerd_store::tokens::Tokens;

/// The rankings in force, and what was learnt. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Rankings(Arc<RankingsInner>);

#[derive(Debug)]
struct RankingsInner {
    records: Records,
    rules: RwLock<Arc<RankingSettings>>,
    counts: Mutex<Option<ClickCounts>>,
    /// `None` without a ranking in the settings.
    snapshot: RwLock<Option<Arc<RankingSnapshot>>>,
}

impl Rankings {
    /// The rankings of a store under these settings, with everything learnt before.
    pub fn of(records: Records, rules: RankingSettings) -> Result<Self, CommitError> {
        let (rules, (counts, snapshot)) = (RwLock::new(Arc::new(rules)), Default::default());
        let rankings = Self(Arc::new(RankingsInner { records, rules, counts, snapshot }));
        rankings.learn_again()?;
        Ok(rankings)
    }

    /// The current settings.
    pub fn rules(&self) -> Arc<RankingSettings> {
        Arc::clone(&self.0.rules.read())
    }

    /// Changes the settings; the next sum uses them.
    pub fn change(&self, rules: RankingSettings) {
        let rules = Arc::new(rules);
        *self.0.rules.write() = Arc::clone(&rules);
        let snapshot = self.snapshot().filter(|_| rules.is_on());
        let (learnt, learnt_at) =
            snapshot.map_or_else(Default::default, |snapshot| (snapshot.learnt.clone(), snapshot.learnt_at));
        self.show(rules.is_on().then(|| RankingSnapshot::new(rules, &self.companies(), learnt, learnt_at)));
    }

    /// The ranking of a company's table: the `named` one, or else the one in the settings, if any.
    pub fn ranked_by(&self, company: Uuid, test: bool, named: Option<&str>) -> Option<Arc<Scorer>> {
        self.snapshot()?.ranked_by(ClickOwner { company, test }, named).map(Arc::new)
    }

    fn snapshot(&self) -> Option<Arc<RankingSnapshot>> {
        self.0.snapshot.read().clone()
    }

    fn show(&self, snapshot: Option<RankingSnapshot>) {
        *self.0.snapshot.write() = snapshot.map(Arc::new);
    }

    fn learn_again(&self) -> Result<(), CommitError> {
        if !self.rules().is_on() {
            self.show(None);
            return Ok(());
        }
        let whose = self.with_counts(|counts| {
            counts.take_changed();
            counts.whose()
        })?;
        self.learn(&whose, HashMap::new())
    }

    fn learn(&self, whose: &BTreeSet<ClickOwner>, mut learnt: Learnt) -> Result<(), CommitError> {
        let (rules, now) = (self.rules(), self.0.records.store.now_ms());
        self.with_counts(|counts| {
            learnt.extend(whose.iter().map(|whose| (*whose, Arc::new(counts.sum(*whose, &rules, now)))));
        })?;
        self.show(Some(RankingSnapshot::new(rules, &self.companies(), learnt, now)));
        gauge!(RANKING_LEARNT_AT).set(now as f64 / 1000.0);
        Ok(())
    }

    fn with_counts<T>(&self, with: impl FnOnce(&mut ClickCounts) -> T) -> Result<T, CommitError> {
        let mut counts = self.0.counts.lock();
        let counts = match &mut *counts {
            Some(counts) => counts,
            none => none.insert(ClickCounts::load(&self.0.records.store, self.rules().cohorts)?),
        };
        Ok(with(counts))
    }

    fn drop_counts(&self) {
        *self.0.counts.lock() = None;
    }

    fn companies(&self) -> HashMap<String, Uuid> {
        let companies = Tokens::of(self.0.records.store.clone()).companies();
        companies.into_iter().map(|company| (company.name, company.uuid)).collect()
    }
}

fn prior(rules: &RankingSettings) -> Prior {
    let RankingSettings { prior_rate: rate, prior_strength: strength, least, most, .. } = *rules;
    Prior { rate, strength, least, most }
}

fn unreadable(reason: impl Display) -> CommitError {
    CommitError::Unread(format!("cannot read what was learnt from clicks: {reason}"))
}
