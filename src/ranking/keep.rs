//! Learning goes on beside the leads.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::error;

use super::Rankings;
use super::counts::Counts;
use super::fold::{Draft, Fold};
use super::key::day_of;
use crate::config::RankingSettings;
use crate::records::following::{LOOK_AGAIN, Step, companies, rest};
use crate::store::{Commit, CommitError, Tree};

/// Records of a feed that a step reads at most: a few milliseconds, in which leads do without a core.
const STEP: usize = 64;

/// Days that one commit removes.
const AT_ONCE: usize = 500;

/// Follows the feeds and sums up what they teach, for as long as the store takes commits and a ranking is named; before this process
/// leads, it sums up what the one that does has learnt. While new work queues it
/// has a twentieth of a core, since the leads of the moment come first.
pub async fn keep(rankings: Rankings, queueing: impl Fn() -> Duration) {
    let mut due = rankings.until_it_learns().await;
    loop {
        let begun = Instant::now();
        let step = if rankings.rules().is_on() { rankings.round(STEP).await } else { Ok(Step::Nothing) };
        let learnt = match step {
            Ok(step) => rankings.refresh(&mut due).await.map(|()| step),
            Err(failure) => Err(failure),
        };
        let pause = match learnt {
            Ok(step) => rest(step, begun.elapsed(), queueing()),
            Err(CommitError::Busy | CommitError::Guard { .. }) => LOOK_AGAIN,
            Err(CommitError::Closed) => return,
            Err(failure) => {
                error!(%failure, "what is learnt of clicks is not learnt yet, and tried again");
                LOOK_AGAIN
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// When is summed up next, and what the last sum was by.
pub(super) struct Due {
    at: tokio::time::Instant,
    day: Option<u32>,
    rules: Option<Arc<RankingSettings>>,
}

impl Due {
    /// At once.
    pub(super) fn now() -> Self {
        Self { at: tokio::time::Instant::now(), day: None, rules: None }
    }

    /// Whether it is time by these settings: also when they are others.
    fn is_due(&self, rules: &RankingSettings) -> bool {
        rules.is_on() && (tokio::time::Instant::now() >= self.at || self.is_by_others(rules))
    }

    fn is_by_others(&self, rules: &RankingSettings) -> bool {
        self.rules.as_ref().is_none_or(|before| **before != *rules)
    }
}

impl Rankings {
    /// Waits until this process leads, and sums up meanwhile what was learnt by the one that does.
    async fn until_it_learns(&self) -> Due {
        let store = self.0.records.store.clone();
        let mut due = Due::now();
        while !store.leads() {
            if let Err(failure) = self.take_in(&mut due).await {
                error!(%failure, "what was learnt of clicks could not be read; it is tried again");
            }
            let _ = tokio::time::timeout(LOOK_AGAIN, store.until_it_leads()).await;
        }
        // What was read before may not be all that the last one has written.
        self.drop_counts();
        Due::now()
    }

    /// Sums up what another process has learnt, where it is time.
    pub(super) async fn take_in(&self, due: &mut Due) -> Result<(), CommitError> {
        let rules = self.rules();
        if due.is_due(&rules) {
            let rankings = self.clone();
            blocking(move || {
                rankings.drop_counts();
                rankings.learn_again()
            })
            .await??;
            due.at = tokio::time::Instant::now() + rules.refresh;
        }
        due.rules = Some(rules);
        Ok(())
    }

    /// Takes a step for each company, of so many records at most.
    ///
    /// # Errors
    /// Why the store failed; what was noted before that stays noted.
    pub async fn round(&self, most: usize) -> Result<Step, CommitError> {
        let store = self.0.records.store.clone();
        let companies = blocking(move || companies(&store)).await?;
        let mut did = Step::Nothing;
        for company in companies {
            let records = self.0.records.clone();
            let draft = blocking(move || Fold::step(&records, company, most)).await??;
            let Some(Draft { commit, days, step }) = draft else { continue };
            if let Err(failure) = self.0.records.store.commit(commit).await {
                // What has become of it nobody knows: the counts are read again.
                self.drop_counts();
                return Err(failure);
            }
            let (rankings, most) = (self.clone(), self.rules().cohorts);
            let put = move |counts: &mut Counts| {
                days.iter().for_each(|((whose, day), now)| counts.put(*whose, *day, now, most));
            };
            // They may have to be read from the store first.
            blocking(move || rankings.with_counts(put)).await??;
            did = did.max(step);
        }
        Ok(did)
    }

    /// Sums up where it is time: what has changed, or all when the day or the settings are others.
    async fn refresh(&self, due: &mut Due) -> Result<(), CommitError> {
        let rules = self.rules();
        let is_other = due.is_by_others(&rules);
        if !due.is_due(&rules) {
            due.rules = Some(rules);
            return Ok(());
        }
        let today = day_of(self.0.records.store.now_ms());
        let is_whole = is_other || due.day != Some(today);
        let first = today.saturating_sub(u32::try_from(rules.window.as_secs() / 86_400).unwrap_or(u32::MAX));
        let rankings = self.clone();
        let old = blocking(move || rankings.with_counts(|counts| counts.forget_before(first))).await??;
        for keys in old.chunks(AT_ONCE) {
            let commit = keys.iter().fold(Commit::new(), |commit, key| commit.remove(Tree::Ranking, key));
            self.0.records.store.commit(commit).await?;
        }
        let rankings = self.clone();
        blocking(move || if is_whole { rankings.learn_again() } else { rankings.learn_changed() }).await??;
        *due = Due { at: tokio::time::Instant::now() + rules.refresh, day: Some(today), rules: Some(rules) };
        Ok(())
    }

    fn learn_changed(&self) -> Result<(), CommitError> {
        let changed = self.with_counts(Counts::take_changed)?;
        let learnt = self.snapshot().map_or_else(HashMap::new, |snapshot| snapshot.learnt.clone());
        self.learn(&changed, learnt)
    }
}

/// Reads on a thread that may block.
async fn blocking<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Result<T, CommitError> {
    tokio::task::spawn_blocking(read).await.map_err(|error| CommitError::Failed(error.to_string()))
}
