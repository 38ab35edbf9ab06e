//! Who shares a store: processes, each with an id of its own since it has opened it, of which one leads.
//!
//! In files of a machine there is one. In a database there are several, and who has ended without a word is known by that it renews its
//! lease no more; from then on nothing that it sends is written.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::RwLock;
use tokio::sync::watch;
use uuid::Uuid;

/// How long the database may not answer before that is told: one lost connection is none of it.
const SILENT_AFTER: Duration = Duration::from_secs(1);

/// The processes on a store, as this one knows them.
pub(super) struct Cluster {
    pub(super) me: Uuid,
    alive: RwLock<BTreeSet<Uuid>>,
    leads: watch::Sender<bool>,
    /// Whether it stands for the lead: a daemon does, a command does not.
    may_lead: AtomicBool,
    /// What it tells the others of itself.
    figures: RwLock<String>,
    database: RwLock<Option<DatabaseStanding>>,
    /// Since when the database has not answered, and what went wrong last.
    silent: RwLock<Option<(Instant, String)>>,
}

/// How the database answered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseStanding {
    /// How long one answer took.
    pub round_trip: Duration,
    /// How far this machine's clock is ahead of the database's, in ms, as exactly as half of that.
    pub clock_ahead_ms: i64,
}

impl DatabaseStanding {
    /// Of a database that answered just now what its clock showed.
    pub(super) fn of(round_trip: Duration, theirs_ms: i64) -> Self {
        let ours =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(round_trip / 2);
        let clock_ahead_ms = i64::try_from(ours.as_millis()).unwrap_or(i64::MAX).saturating_sub(theirs_ms);
        Self { round_trip, clock_ahead_ms }
    }
}

/// A process that shares a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeFigures {
    /// Its id, another each time that it opens the store.
    pub id: Uuid,
    /// When it did, in Unix milliseconds of the database.
    pub since_ms: i64,
    /// How long its lease lasts yet, in ms; less than 0 where it has run out.
    pub left_ms: i64,
    /// When it ended, if it has.
    pub ended_ms: Option<i64>,
    /// Whether it leads.
    pub leads: bool,
    /// What it told of itself last.
    pub told: String,
}

impl Cluster {
    /// This process alone, which leads.
    pub(super) fn alone() -> Self {
        let me = offerd_base::ids::random();
        Self {
            me,
            alive: RwLock::new(BTreeSet::from([me])),
            leads: watch::Sender::new(true),
            may_lead: AtomicBool::new(false),
            figures: RwLock::default(),
            database: RwLock::default(),
            silent: RwLock::default(),
        }
    }

    /// This process among others, of which nothing is known yet.
    pub(super) fn among_others() -> Self {
        Self { leads: watch::Sender::new(false), ..Self::alone() }
    }

    /// Takes note of who is alive; whether that is new.
    pub(super) fn note_alive(&self, alive: BTreeSet<Uuid>) -> bool {
        let mut known = self.alive.write();
        let is_new = *known != alive;
        *known = alive;
        is_new
    }

    /// Whether nobody else is.
    pub(super) fn is_alone(&self) -> bool {
        self.alive.read().iter().all(|one| *one == self.me)
    }

    /// How many are alive, as far as is known.
    pub(super) fn known_alive(&self) -> usize {
        self.alive.read().len()
    }

    /// Stands for the lead from now on.
    pub(super) fn stand(&self) {
        self.may_lead.store(true, Ordering::Release);
    }

    /// Does so no more: it is about to end. Who leads goes on until then.
    pub(super) fn step_back(&self) {
        self.may_lead.store(false, Ordering::Release);
    }

    /// Whether it does, and does not lead yet.
    pub(super) fn may_lead(&self) -> bool {
        self.may_lead.load(Ordering::Acquire) && !self.leads()
    }

    /// Tells the others something else of this process from now on.
    pub(super) fn tell(&self, figures: String) {
        *self.figures.write() = figures;
    }

    /// What it tells them.
    pub(super) fn figures(&self) -> String {
        self.figures.read().clone()
    }

    /// Takes note of how the database answered, and of what its clock showed.
    pub(super) fn note_database(&self, standing: DatabaseStanding) {
        *self.database.write() = Some(standing);
    }

    /// How the database answered last; nothing where there is none.
    pub(super) fn database(&self) -> Option<DatabaseStanding> {
        *self.database.read()
    }

    /// Takes note that the database has not answered as it should.
    pub(super) fn note_silence(&self, told: String) {
        let mut silent = self.silent.write();
        let since = silent.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        *silent = Some((since, told));
    }

    /// Takes note that it has.
    pub(super) fn note_answer(&self) {
        if self.silent.read().is_some() {
            *self.silent.write() = None;
        }
    }

    /// That it has not for a while, in words.
    pub(super) fn silence(&self) -> Option<String> {
        let silent = self.silent.read();
        let (since, told) = silent.as_ref()?;
        let lasts = since.elapsed();
        (lasts >= SILENT_AFTER).then(|| format!("{told}, for {} s", lasts.as_secs()))
    }

    /// What there is to say where nobody else shares the store.
    pub(super) fn alone_figures(&self) -> NodeFigures {
        NodeFigures { id: self.me, leads: true, told: self.figures(), ..NodeFigures::default() }
    }

    /// From now on this process leads, for as long as it has the store.
    pub(super) fn lead(&self) {
        self.leads.send_replace(true);
    }

    /// Whether it does.
    pub(super) fn leads(&self) -> bool {
        *self.leads.borrow()
    }

    /// Waits until it does.
    pub(super) async fn until_it_leads(&self) {
        // The sender is here.
        let _ = self.leads.subscribe().wait_for(|leads| *leads).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn who_is_alone_leads_and_nobody_else_is_alive() {
        let alone = Cluster::alone();
        assert!(alone.leads() && !alone.may_lead());
        assert_eq!(alone.until_it_leads().now_or_never(), Some(()));
    }

    #[test]
    fn a_database_that_does_not_answer_is_told_after_a_while_until_it_does() {
        let cluster = Cluster::among_others();
        cluster.note_silence("gone".to_owned());
        assert_eq!(cluster.silence(), None, "a lost connection is not worth a word");
        cluster.silent.write().as_mut().unwrap().0 -= SILENT_AFTER;
        cluster.note_silence("refused".to_owned());
        assert_eq!(cluster.silence().as_deref(), Some("refused, for 1 s"));
        cluster.note_answer();
        assert_eq!(cluster.silence(), None);
    }

    #[test]
    fn who_is_among_others_waits_until_it_leads() {
        let cluster = Cluster::among_others();
        assert!(!cluster.leads() && cluster.until_it_leads().now_or_never().is_none());
        cluster.lead();
        assert!(cluster.until_it_leads().now_or_never().is_some());
        let both = BTreeSet::from([cluster.me, Uuid::max()]);
        assert!(cluster.is_alone());
        assert!(cluster.note_alive(both.clone()) && !cluster.note_alive(both));
        assert!(!cluster.is_alone());
    }
}
