//! The processes that share a store, as each of them sees the others. A store in files has exactly one.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use uuid::Uuid;

use super::cluster::{DatabaseStanding, NodeFigures};
use crate::{ReadResult, Store, postgres};

impl Store {
    /// Whether other processes may have the store open, and change a record after it was read.
    pub fn is_shared(&self) -> bool {
        self.shared.files.is_none()
    }

    /// The id of this process on the store, new each time it opens the store.
    pub fn node(&self) -> Uuid {
        self.shared.cluster.me
    }

    /// Whether no other process is known to have the store open; a new one is, within a fifth of a lease.
    pub fn is_alone(&self) -> bool {
        self.shared.cluster.is_alone()
    }

    /// The id of this process's directory, which survives restarts; `None` if the store cannot be shared.
    pub fn place(&self) -> Option<Uuid> {
        self.shared.database.as_ref().map(|(database, _)| database.place())
    }

    /// The key of a record that each sharing process has: the name, then any [place](Self::place).
    pub fn own_key(&self, name: &[u8]) -> Vec<u8> {
        let place = self.place().map_or_else(Vec::new, |place| place.as_bytes().to_vec());
        [name, &place].concat()
    }

    /// The ids of the processes that have the store open now. The author of a record read earlier has ended
    /// if it is missing here: it can write no more. May block on the database.
    pub fn alive(&self) -> ReadResult<BTreeSet<Uuid>> {
        let alone = || Ok(BTreeSet::from([self.node()]));
        self.shared.database.as_ref().map_or_else(alone, |(database, _)| postgres::alive(database))
    }

    /// Makes this process a candidate for leading, and publishes its figures to the others.
    pub fn stand(&self, figures: String) {
        self.tell_nodes(figures);
        self.shared.cluster.is_candidate.store(true, Ordering::Release);
    }

    /// Stops being a candidate for leading, before the process ends.
    pub fn step_back(&self) {
        self.shared.cluster.is_candidate.store(false, Ordering::Release);
    }

    /// Publishes other figures of this process to those that share the store.
    pub fn tell_nodes(&self, figures: String) {
        *self.shared.cluster.figures.write() = figures;
    }

    /// The last answer of the database; `None` for a store in files.
    pub fn database_standing(&self) -> Option<DatabaseStanding> {
        *self.shared.cluster.database.read()
    }

    /// The number of processes known to have the store open, at least this one. Never blocks.
    pub fn known_alive(&self) -> usize {
        self.shared.cluster.alive.read().len().max(1)
    }

    /// The processes that share the store, or did within a day. May block on the database.
    pub fn nodes(&self) -> ReadResult<Vec<NodeFigures>> {
        let cluster = &self.shared.cluster;
        let told = || cluster.figures.read().clone();
        let alone =
            || vec![NodeFigures { id: cluster.me, leads: true, told: told(), ..NodeFigures::default() }];
        self.shared.database.as_ref().map_or_else(|| Ok(alone()), |(database, _)| postgres::nodes(database))
    }

    /// Whether this process leads: it does the work that only one process may do, until it closes the store.
    pub fn leads(&self) -> bool {
        *self.shared.cluster.leads.borrow()
    }

    /// Waits until this process leads. With a store in files it leads at once.
    pub async fn until_it_leads(&self) {
        self.shared.cluster.until_it_leads().await;
    }
}
