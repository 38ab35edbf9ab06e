//! The processes that share a store, as each of them sees the others. Of one in files there is but the one that has it open.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::broken::ReadError;
use super::cluster::{DatabaseStanding, NodeFigures};
use super::{Backing, Store, postgres};

impl Store {
    /// Whether several processes may have the store open at once: what one of them has read, another may change.
    pub fn is_shared(&self) -> bool {
        self.shared.files().is_none()
    }

    /// The id of this process on the store, another each time that it is opened.
    pub fn node(&self) -> Uuid {
        self.shared.cluster.me
    }

    /// Whether no other process is known to have it open now. Others are known a lease's fifth after they have begun.
    pub fn is_alone(&self) -> bool {
        self.shared.cluster.is_alone()
    }

    /// The id of the directory that this process runs in, the same at its next start; nothing where no other process shares the store.
    pub fn place(&self) -> Option<Uuid> {
        match &self.shared.backing {
            Backing::Database(database, _) => Some(database.place()),
            Backing::Files(_) => None,
        }
    }

    /// The key of what each process that shares the store has of its own: the name, and behind it its [place](Self::place) where it has
    /// one.
    pub fn own_key(&self, name: &[u8]) -> Vec<u8> {
        let place = self.place().map_or_else(Vec::new, |place| place.as_bytes().to_vec());
        [name, &place].concat()
    }

    /// The ids of the processes that have the store open now. Whoever wrote something that was read before and is not among them has
    /// ended: nothing of it is written any more. May wait for the database.
    ///
    /// # Errors
    /// That it cannot be asked.
    pub fn alive(&self) -> Result<BTreeSet<Uuid>, ReadError> {
        match &self.shared.backing {
            Backing::Database(database, _) => postgres::alive(database),
            Backing::Files(_) => Ok(BTreeSet::from([self.node()])),
        }
    }

    /// Stands for the lead of those that share the store, and tells them this of itself.
    pub fn stand(&self, figures: String) {
        self.shared.cluster.tell(figures);
        self.shared.cluster.stand();
    }

    /// Stands for the lead no more: it is about to end.
    pub fn step_back(&self) {
        self.shared.cluster.step_back();
    }

    /// Tells those that share the store something else of this process.
    pub fn tell_nodes(&self, figures: String) {
        self.shared.cluster.tell(figures);
    }

    /// How the database answered last; nothing where the records are in files.
    pub fn database_standing(&self) -> Option<DatabaseStanding> {
        self.shared.cluster.database()
    }

    /// How many processes have the store open, as far as is known: this one at least. Waits for nothing.
    pub fn known_alive(&self) -> usize {
        self.shared.cluster.known_alive().max(1)
    }

    /// The processes that share the store, those that have ended within a day too; only this one where the records are in files. May
    /// wait for the database.
    ///
    /// # Errors
    /// That it cannot be asked.
    pub fn nodes(&self) -> Result<Vec<NodeFigures>, ReadError> {
        match &self.shared.backing {
            Backing::Database(database, _) => postgres::nodes(database),
            Backing::Files(_) => Ok(vec![self.shared.cluster.alone_figures()]),
        }
    }

    /// Whether this process leads those that share the store: it does what one alone may do, until it closes the store.
    pub fn leads(&self) -> bool {
        self.shared.cluster.leads()
    }

    /// Waits until this process leads those that share the store. In files of this machine it does at once.
    pub async fn until_it_leads(&self) {
        self.shared.cluster.until_it_leads().await;
    }
}
