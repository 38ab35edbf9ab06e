//! The actors of rate tables: found by table or lead, counted.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use actix::Addr;
use metrics::gauge;
use parking_lot::RwLock;
use uuid::Uuid;

use super::rate_table_actor::RateTableActor;
use crate::rate_table::record::TableHead;
use offerd_base::telemetry::metrics::TABLES_IN_MEMORY;
use offerd_model::Viewer;

/// The actors of tables that are pending, or complete and lingering.
#[derive(Debug, Default)]
pub struct TableActors(RwLock<HashMap<Uuid, HeadAndActor>>);

type HeadAndActor = (Arc<TableHead>, Addr<RateTableActor>);

impl TableActors {
    /// Adds a table's actor.
    pub fn add(&self, head: &Arc<TableHead>, actor: Addr<RateTableActor>) {
        let mut tables = self.0.write();
        tables.insert(head.uuid, (Arc::clone(head), actor));
        gauge!(TABLES_IN_MEMORY).set(tables.len() as f64);
    }

    /// Removes a table's actor.
    pub fn remove(&self, table: Uuid) {
        let mut tables = self.0.write();
        tables.remove(&table);
        gauge!(TABLES_IN_MEMORY).set(tables.len() as f64);
    }

    /// The actor of a table; `Some(None)` when the table has one, but is not visible to the viewer.
    pub fn get(&self, table: Uuid, viewer: Viewer) -> Option<Option<Addr<RateTableActor>>> {
        let tables = self.0.read();
        tables.get(&table).map(|(head, actor)| viewer.sees(head.company, head.test).then(|| actor.clone()))
    }

    /// Whether a table has an actor.
    pub fn has(&self, table: Uuid) -> bool {
        self.0.read().contains_key(&table)
    }

    /// The leads whose tables have an actor.
    pub fn leads(&self) -> BTreeSet<Uuid> {
        self.0.read().values().map(|(head, _)| head.lead).collect()
    }

    /// The actors of these leads' tables.
    pub fn of_leads(&self, leads: &BTreeSet<Uuid>) -> Vec<Addr<RateTableActor>> {
        let tables = self.0.read();
        tables
            .values()
            .filter(|(head, _)| leads.contains(&head.lead))
            .map(|(_, actor)| actor.clone())
            .collect()
    }

    /// Every actor.
    pub fn all(&self) -> Vec<Addr<RateTableActor>> {
        self.0.read().values().map(|(_, actor)| actor.clone()).collect()
    }
}
