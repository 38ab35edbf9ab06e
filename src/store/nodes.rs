//! The processes that share a store, as each of them sees the others. A store in files has exactly one.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use uuid::Uuid;

use super::cluster::{DatabaseStatus, NodeRow};
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
    pub fn directory_id(&self) -> Option<Uuid> {
        self.shared.database.as_ref().map(|(database, _)| database.directory_id())
    }

    /// The key of a record that each sharing process has: the name, then any [directory
    /// id](Self::directory_id).
    pub fn own_key(&self, name: &[u8]) -> Vec<u8> {
        let directory_id = self.directory_id().map_or_else(Vec::new, |id| id.as_bytes().to_vec());
        [name, &directory_id].concat()
    }

    /// The ids of the processes that have the store open now. The author of a record read earlier has ended
    /// if it is missing here: it can write no more. May block on the database.
    pub fn alive(&self) -> ReadResult<BTreeSet<Uuid>> {
        let alone = || Ok(BTreeSet::from([self.node()]));
        self.shared.database.as_ref().map_or_else(alone, |(database, _)| postgres::alive(database))
    }

    /// Makes this process a candidate for leading, and publishes its status to the others.
    pub fn become_candidate(&self, status: String) {
        self.publish_status(status);
        self.shared.cluster.is_candidate.store(true, Ordering::Release);
    }

    /// Stops being a candidate for leading, before the process ends.
    pub fn stop_being_candidate(&self) {
        self.shared.cluster.is_candidate.store(false, Ordering::Release);
    }

    /// Publishes another status of this process to those that share the store.
    pub fn publish_status(&self, status: String) {
        *self.shared.cluster.status.write() = status;
    }

    /// The last answer of the database; `None` for a store in files.
    pub fn database_status(&self) -> Option<DatabaseStatus> {
        *self.shared.cluster.database.read()
    }

    /// The number of processes known to have the store open, at least this one. Never blocks.
    pub fn known_alive(&self) -> usize {
        self.shared.cluster.alive.read().len().max(1)
    }

    /// The processes that share the store, or did within a day. May block on the database.
    pub fn nodes(&self) -> ReadResult<Vec<NodeRow>> {
        let cluster = &self.shared.cluster;
        let status = || cluster.status.read().clone();
        let alone =
            || vec![NodeRow { id: cluster.me, is_leader: true, status: status(), ..NodeRow::default() }];
        self.shared.database.as_ref().map_or_else(|| Ok(alone()), |(database, _)| postgres::nodes(database))
    }

    /// Whether this process leads: it does the work that only one process may do, until it closes the store.
    pub fn is_leader(&self) -> bool {
        *self.shared.cluster.is_leader.borrow()
    }

    /// Waits until this process leads. With a store in files it leads at once.
    pub async fn until_leader(&self) {
        self.shared.cluster.until_leader().await;
    }
}
