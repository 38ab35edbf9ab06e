//! The processes that share a store. Each has an id, new each time it opens the store, and one of them leads.
//!
//! A database may have several: one that stops renewing its lease has ended, and its writes are refused.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::RwLock;
use tokio::sync::watch;
use uuid::Uuid;

/// How long the database may be silent before that is reported: one lost connection does not count.
const SILENT_AFTER: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Cluster {
    pub(super) me: Uuid,
    pub(super) alive: RwLock<BTreeSet<Uuid>>,
    /// A leading process leads until it ends.
    pub(super) is_leader: watch::Sender<bool>,
    /// Whether this process is a candidate for leading: a daemon is, a command is not.
    pub(super) is_candidate: AtomicBool,
    /// The status that it publishes to the other processes.
    pub(super) status: RwLock<String>,
    /// The last answer of the database, if there is one.
    pub(super) database: RwLock<Option<DatabaseStatus>>,
    silent: RwLock<Option<(Instant, String)>>,
    /// Whether a read has failed since the last answer.
    is_unread: AtomicBool,
}

/// The last answer of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseStatus {
    /// Time of one round trip.
    pub round_trip: Duration,
    /// How far this machine's clock is ahead of the database's, in ms, accurate to half a round trip.
    pub clock_ahead_ms: i64,
}

impl DatabaseStatus {
    pub(super) fn of(round_trip: Duration, theirs_ms: i64) -> Self {
        let ours =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(round_trip / 2);
        let clock_ahead_ms = i64::try_from(ours.as_millis()).unwrap_or(i64::MAX).saturating_sub(theirs_ms);
        Self { round_trip, clock_ahead_ms }
    }
}

/// A process that shares a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeRow {
    /// Its id, new each time it opens the store.
    pub id: Uuid,
    /// When it opened the store, in Unix milliseconds of the database.
    pub since_ms: i64,
    /// Remaining time of its lease in ms, now or when it ended; negative after the lease has expired.
    pub left_ms: i64,
    /// When it ended, if it has.
    pub ended_ms: Option<i64>,
    /// Whether it leads.
    pub is_leader: bool,
    /// The status it published last.
    pub status: String,
}

/// The ids of nodes, as messages have them.
pub(super) fn listed(nodes: &[Uuid]) -> String {
    nodes.iter().map(Uuid::to_string).collect::<Vec<_>>().join(", ")
}

impl Cluster {
    pub(super) fn alone() -> Self {
        let me = offerd_base::ids::random();
        let alive = RwLock::new(BTreeSet::from([me]));
        Self { me, alive, is_leader: watch::Sender::new(true), ..Self::default() }
    }

    /// A cluster of this process and others, still unknown.
    pub(super) fn among_others() -> Self {
        Self { is_leader: watch::Sender::new(false), ..Self::alone() }
    }

    /// Records the live processes; returns whether they have changed.
    pub(super) fn note_alive(&self, alive: BTreeSet<Uuid>) -> bool {
        let mut known = self.alive.write();
        let is_new = *known != alive;
        *known = alive;
        is_new
    }

    pub(super) fn is_alone(&self) -> bool {
        self.alive.read().iter().all(|one| *one == self.me)
    }

    pub(super) async fn until_leader(&self) {
        // Cannot fail while `self` holds the sender.
        let _ = self.is_leader.subscribe().wait_for(|leads| *leads).await;
    }

    /// Whether it is a candidate and does not lead yet.
    pub(super) fn may_lead(&self) -> bool {
        self.is_candidate.load(Ordering::Acquire) && !*self.is_leader.borrow()
    }

    pub(super) fn note_silence(&self, told: String) {
        let mut silent = self.silent.write();
        let since = silent.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        *silent = Some((since, told));
    }

    pub(super) fn note_answer(&self) {
        self.silent.write().take();
        if self.is_unread.swap(false, Ordering::AcqRel) {
            tracing::warn!("the database answers again");
        }
    }

    /// Notes a failed read, and logs the first one until the next answer.
    pub(super) fn note_unread(&self, told: &str) {
        self.note_silence(told.to_owned());
        if !self.is_unread.swap(true, Ordering::AcqRel) {
            tracing::error!(cause = told, "the database does not answer; requests that need it get 503");
        }
    }

    /// Whether a read has failed since the last answer.
    pub(super) fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Acquire)
    }

    /// A message when the database has been silent for a while.
    pub(super) fn silence(&self) -> Option<String> {
        let silent = self.silent.read();
        let (since, told) = silent.as_ref()?;
        let lasts = since.elapsed();
        (lasts >= SILENT_AFTER).then(|| format!("{told}, for {} s", lasts.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn who_is_alone_leads_and_nobody_else_is_alive() {
        let alone = Cluster::alone();
        assert!(*alone.is_leader.borrow() && !alone.may_lead());
        assert_eq!(alone.until_leader().now_or_never(), Some(()));
    }

    #[test]
    fn a_database_that_does_not_answer_is_told_after_a_while_until_it_does() {
        let cluster = Cluster::among_others();
        cluster.note_silence("gone".to_owned());
        assert_eq!(cluster.silence(), None, "a lost connection is not worth a word");
        cluster.silent.write().as_mut().unwrap().0 -= SILENT_AFTER;
        cluster.note_silence("refused".to_owned());
        assert_eq!(cluster.silence().as_deref(), Some("refused, for 1 s"));
        assert!(!cluster.is_unread(), "no read has failed");
        cluster.note_unread("refused");
        assert!(cluster.is_unread());
        cluster.note_answer();
        assert_eq!((cluster.silence(), cluster.is_unread()), (None, false));
    }

    #[test]
    fn who_is_among_others_waits_until_it_leads() {
        let cluster = Cluster::among_others();
        assert!(!*cluster.is_leader.borrow() && cluster.until_leader().now_or_never().is_none());
        cluster.is_leader.send_replace(true);
        assert!(cluster.until_leader().now_or_never().is_some());
        let both = BTreeSet::from([cluster.me, Uuid::max()]);
        assert!(cluster.is_alone());
        assert!(cluster.note_alive(both.clone()) && !cluster.note_alive(both));
        assert!(!cluster.is_alone());
    }
}
