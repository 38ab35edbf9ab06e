//! Keeps learning in the background.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;
use tracing::error;

use super::Rankings;
use super::counts::ClickCounts;
use super::fold::ClickFold;
use super::key::{self, day_of};
use crate::records::projection::{LOOK_AGAIN, Projection, STEP, blocking, step};
use offerd_base::config::RankingSettings;
use offerd_store::entities::Happening;
use offerd_store::{Commit, CommitError, Tree, codec};

const NAME: &str = "ranking";

/// Learns from the feeds while a ranking is set up. Other nodes sum up what the leader has learnt.
pub struct RankingLearner {
    rankings: Rankings,
    due: LearningSchedule,
}

impl RankingLearner {
    /// Learning for these rankings.
    pub fn new(rankings: Rankings) -> Self {
        Self { rankings, due: LearningSchedule::now() }
    }
}

impl Projection for RankingLearner {
    const TROUBLE: &'static str = "could not learn from clicks; will retry";

    async fn begin(&mut self) {
        let store = self.rankings.0.records.store.clone();
        while !store.is_leader() {
            // The leader may have written more.
            self.rankings.drop_counts();
            if let Err(failure) = self.rankings.refresh(&mut self.due).await {
                error!(%failure, "could not read what was learnt from clicks; will retry");
            }
            let _ = tokio::time::timeout(LOOK_AGAIN, store.until_leader()).await;
        }
        // The last read may predate the final writes of the previous leader.
        self.rankings.drop_counts();
        self.due = LearningSchedule::now();
    }

    async fn fold(&mut self) -> Result<bool, CommitError> {
        let more = self.rankings.rules().is_on() && self.rankings.round(STEP).await?;
        self.rankings.refresh(&mut self.due).await.map(|()| more)
    }
}

pub(super) struct LearningSchedule {
    at: Instant,
    day: Option<u32>,
    rules: Option<Arc<RankingSettings>>,
}

impl LearningSchedule {
    pub(super) fn now() -> Self {
        Self { at: Instant::now(), day: None, rules: None }
    }

    fn is_due(&self, rules: &RankingSettings) -> bool {
        rules.is_on() && (Instant::now() >= self.at || self.is_by_others(rules))
    }

    fn is_by_others(&self, rules: &RankingSettings) -> bool {
        self.rules.as_ref().is_none_or(|before| **before != *rules)
    }
}

impl Rankings {
    /// Takes a step for each company, of at most `most` records; returns whether there may be more.
    ///
    /// # Errors
    /// The failure of the store; what was noted before stays noted.
    pub async fn round(&self, most: usize) -> Result<bool, CommitError> {
        let store = &self.0.records.store;
        step(store, (NAME, most), |happenings, moved| self.learn_from(happenings, moved)).await
    }

    async fn learn_from(&self, happenings: Vec<Happening>, moved: Commit) -> Result<(), CommitError> {
        let records = self.0.records.clone();
        let days = blocking(move || ClickFold::changed(&records, &happenings)).await??;
        let commit = days.iter().fold(moved, |commit, ((whose, day), now)| {
            commit.put(Tree::Ranking, key::day(*whose, *day), codec::encode(now))
        });
        if let Err(failure) = self.0.records.store.commit(commit).await {
            // The result of the commit is unknown, so the counts are read again.
            self.drop_counts();
            return Err(failure);
        }
        let (rankings, most) = (self.clone(), self.rules().cohorts);
        let put = move |counts: &mut ClickCounts| {
            days.iter().for_each(|((whose, day), now)| counts.put(*whose, *day, now, most));
        };
        // The counts may have to be loaded first.
        blocking(move || rankings.with_counts(put)).await?
    }

    /// Sums up if due: the changed counts, or all when the day, the settings or the leader changed.
    pub(super) async fn refresh(&self, due: &mut LearningSchedule) -> Result<(), CommitError> {
        let (rules, store) = (self.rules(), &self.0.records.store);
        if !due.is_due(&rules) {
            due.rules = Some(rules);
            return Ok(());
        }
        let today = day_of(store.now_ms());
        let is_whole = due.is_by_others(&rules) || due.day != Some(today) || !store.is_leader();
        if store.is_leader() {
            let days = u32::try_from(rules.window.as_secs() / 86_400).unwrap_or(u32::MAX);
            let (rankings, first) = (self.clone(), today.saturating_sub(days));
            let old = blocking(move || rankings.with_counts(|counts| counts.forget_before(first))).await??;
            store.remove_all(Tree::Ranking, &old).await?;
        }
        let rankings = self.clone();
        blocking(move || if is_whole { rankings.learn_again() } else { rankings.learn_changed() }).await??;
        *due = LearningSchedule { at: Instant::now() + rules.refresh, day: Some(today), rules: Some(rules) };
        Ok(())
    }

    fn learn_changed(&self) -> Result<(), CommitError> {
        let changed = self.with_counts(ClickCounts::take_changed)?;
        self.learn(&changed, self.snapshot().map_or_else(HashMap::new, |snapshot| snapshot.learnt.clone()))
    }
}
