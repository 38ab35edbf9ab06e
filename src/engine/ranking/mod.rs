//! Ranking: what a company's own clicks teach, and by what its offers are ranked.
//!
//! A `fold` follows the feed of lead events of each company, in the order of arrival, and notes of each `day` which offers were
//! clicked on and which of these earned their payout; in the same commit it notes how far it has come, so that each record counts once,
//! whatever crashes. A click counts on the day of its rate table, and so does what comes of it weeks later: only days that are old enough
//! to have converted are summed up (`ranking.matures_after`). The `counts` are in memory too; a `snapshot` is their sum by a time, and
//! all that a rate table reads. [`offerd_partners::ranking`] makes scores of it.
//!
//! Where several processes share a store, the one that leads follows the feeds; the others sum up anew what it has written, every
//! `ranking.refresh`.
//!
//! Nothing is followed where the settings name no ranking. When they begin to, the feed is read from its beginning.
//!
//! Days name no lead; those of companies lie apart, and so do those of test leads.

mod counts;
mod day;
mod fold;
mod keep;
mod key;
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

use self::counts::Counts;
pub use self::keep::Learning;
use self::key::Whose;
use self::snapshot::Snapshot;
use crate::records::Records;
use offerd_base::config::RankingSettings;
use offerd_base::telemetry::metrics::RANKING_LEARNT_AT;
use offerd_partners::ranking::{Conversions, Prior, RankedBy};
use offerd_store::CommitError;
use offerd_store::tokens::Tokens;

/// The rankings in force, and what was learnt. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Rankings(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    records: Records,
    rules: RwLock<Arc<RankingSettings>>,
    /// `None` until something is to be learnt.
    counts: Mutex<Option<Counts>>,
    /// `None` where no ranking is named.
    snapshot: RwLock<Option<Arc<Snapshot>>>,
}

impl Rankings {
    /// The rankings of a store by these settings, with what was learnt before.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn of(records: Records, rules: RankingSettings) -> Result<Self, CommitError> {
        let rankings = Self(Arc::new(Shared {
            records,
            rules: RwLock::new(Arc::new(rules)),
            counts: Mutex::new(None),
            snapshot: RwLock::new(None),
        }));
        rankings.learn_again()?;
        Ok(rankings)
    }

    /// The settings in force.
    pub fn rules(&self) -> Arc<RankingSettings> {
        Arc::clone(&self.0.rules.read())
    }

    /// Goes by other settings from now on; what was learnt is summed up by them soon.
    pub fn change(&self, rules: RankingSettings) {
        let rules = Arc::new(rules);
        *self.0.rules.write() = Arc::clone(&rules);
        let snapshot = self.snapshot().filter(|_| rules.is_on());
        let (learnt, learnt_at) =
            snapshot.map_or_else(Default::default, |snapshot| (snapshot.learnt.clone(), snapshot.learnt_at));
        self.show(rules.is_on().then(|| Snapshot::new(rules, &self.companies(), learnt, learnt_at)));
    }

    /// What the offers of a company's table are ranked by: the ranking that is `named`, or else the one that the settings say; `None`
    /// where none is.
    pub fn ranked_by(&self, company: Uuid, test: bool, named: Option<&str>) -> Option<Arc<RankedBy>> {
        let snapshot = self.snapshot()?;
        snapshot.ranked_by(Whose { company, test }, named).map(Arc::new)
    }

    fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.0.snapshot.read().clone()
    }

    fn show(&self, snapshot: Option<Snapshot>) {
        *self.0.snapshot.write() = snapshot.map(Arc::new);
    }

    /// Sums up all that was learnt.
    fn learn_again(&self) -> Result<(), CommitError> {
        let rules = self.rules();
        if !rules.is_on() {
            self.show(None);
            return Ok(());
        }
        let whose = self.with_counts(|counts| {
            counts.take_changed();
            counts.whose()
        })?;
        self.learn(&whose, HashMap::new())
    }

    /// Sums up what somebody's clicks have shown, beside what is known of others.
    fn learn(
        &self,
        whose: &BTreeSet<Whose>,
        mut learnt: HashMap<Whose, Arc<Conversions>>,
    ) -> Result<(), CommitError> {
        let (rules, now) = (self.rules(), self.0.records.store.now_ms());
        self.with_counts(|counts| {
            learnt.extend(whose.iter().map(|whose| (*whose, Arc::new(counts.sum(*whose, &rules, now)))));
        })?;
        self.show(Some(Snapshot::new(rules, &self.companies(), learnt, now)));
        gauge!(RANKING_LEARNT_AT).set(now as f64 / 1000.0);
        Ok(())
    }

    /// Does something with the counts, which are read from the store when they are wanted first.
    fn with_counts<T>(&self, with: impl FnOnce(&mut Counts) -> T) -> Result<T, CommitError> {
        let mut counts = self.0.counts.lock();
        let counts = match &mut *counts {
            Some(counts) => counts,
            none => none.insert(Counts::load(&self.0.records.store, self.rules().cohorts)?),
        };
        Ok(with(counts))
    }

    /// Has the counts read again before they are used.
    fn drop_counts(&self) {
        *self.0.counts.lock() = None;
    }

    fn companies(&self) -> HashMap<String, Uuid> {
        let companies = Tokens::of(self.0.records.store.clone()).companies();
        companies.into_iter().map(|company| (company.name, company.uuid)).collect()
    }
}

/// What the settings say is believed before anything was seen.
fn prior(rules: &RankingSettings) -> Prior {
    let RankingSettings { prior_rate: rate, prior_strength: strength, least, most, .. } = *rules;
    Prior { rate, strength, least, most }
}

fn unreadable(reason: impl Display) -> CommitError {
    CommitError::Failed(format!("what was learnt of clicks cannot be read: {reason}"))
}
