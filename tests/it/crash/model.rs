//! What clients were told, kept outside of the daemon: each later answer is held against the ones before.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};

use offerd::model::{EventType, LeadEvent};
use serde_json::Value;

use crate::kit::Answer;

/// Everything that was acknowledged.
#[derive(Default)]
pub struct Model(Mutex<Told>);

#[derive(Default)]
struct Told {
    /// Tables in the order of their submits.
    order: Vec<String>,
    tables: HashMap<String, Table>,
    /// By idempotency key: the body, and its table.
    keys: BTreeMap<String, (String, String)>,
    /// Clicks that were answered, by lead.
    clicks: BTreeMap<String, usize>,
}

/// A table as it was shown last.
struct Table {
    lead: String,
    pending: BTreeSet<String>,
    offers: BTreeMap<String, Value>,
    whole: Value,
}

impl Model {
    /// Writes a table down that was shown, after holding it against what was shown before: offers stay as they are,
    /// pending responses only become fewer, and a complete table never changes. Gives its uuid.
    pub fn shown(&self, answer: &Answer) -> String {
        let whole = answer.json();
        let text = |value: &Value| value.as_str().expect("a table names itself and its lead").to_owned();
        let (uuid, lead) = (text(&whole["uuid"]), text(&whole["leadUuid"]));
        let pending = array(&whole, "pendingResponses").map(Value::to_string).collect();
        let offers: BTreeMap<String, Value> = ["loanOffers", "savingsOffers"]
            .into_iter()
            .flat_map(|kind| array(&whole, kind))
            .map(|offer| (text(&offer["uuid"]), offer.clone()))
            .collect();
        let now = Table { lead, pending, offers, whole };

        let mut told = self.told();
        match told.tables.get(&uuid) {
            None => told.order.push(uuid.clone()),
            Some(before) => before.may_become(&now, &uuid),
        }
        told.tables.insert(uuid.clone(), now);
        uuid
    }

    /// Whether a table is shown as it was before what was shown last: another node may be a moment behind.
    pub fn is_behind(&self, answer: &Answer) -> bool {
        let whole = answer.json();
        let told = self.told();
        let Some(before) = whole["uuid"].as_str().and_then(|uuid| told.tables.get(uuid)) else {
            return false;
        };
        let mut pending = array(&whole, "pendingResponses").map(Value::to_string);
        pending.any(|seat| !before.pending.contains(&seat))
    }

    pub fn key(&self, key: &str, body: &str, table: &str) {
        self.told().keys.insert(key.to_owned(), (body.to_owned(), table.to_owned()));
    }

    pub fn clicked(&self, lead: &str) {
        *self.told().clicks.entry(lead.to_owned()).or_default() += 1;
    }

    /// Tables in the order of their submits.
    pub fn tables(&self) -> Vec<String> {
        self.told().order.clone()
    }

    pub fn keys(&self) -> BTreeMap<String, (String, String)> {
        self.told().keys.clone()
    }

    pub fn leads(&self) -> Vec<String> {
        self.told().tables.values().map(|table| table.lead.clone()).collect()
    }

    /// An offer of a table, as soon as one was shown.
    pub fn an_offer(&self, table: &str) -> Option<String> {
        self.told().tables[table].offers.keys().next().cloned()
    }

    /// Every lead, every click and nothing twice.
    pub fn hold_against_feed(&self, events: &[LeadEvent]) {
        let told = self.told();
        let ids: BTreeSet<&str> = events.iter().map(|event| event.id.as_str()).collect();
        assert_eq!(ids.len(), events.len(), "each event stands in the feed once");
        let count = |lead: &str, kinds: &[EventType]| {
            let of_lead = events.iter().filter(|event| event.lead_uuid.to_string() == lead);
            of_lead.filter(|event| kinds.contains(&event.event_type)).count()
        };
        for table in told.tables.values() {
            assert_eq!(count(&table.lead, &[EventType::LeadCreated]), 1, "{}", table.lead);
        }
        for (lead, clicks) in &told.clicks {
            let found = count(lead, &[EventType::OfferClicked]);
            assert!(found >= *clicks, "{lead}: {clicks} clicks were answered, {found} are in the feed");
        }
    }

    pub fn summary(&self) -> String {
        let told = self.told();
        let (tables, keys, clicks) = (told.tables.len(), told.keys.len(), told.clicks.len());
        format!("{tables} leads, {keys} repeats and {clicks} clicks acknowledged, none lost")
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().expect("a check that failed ends the test")
    }
}

impl Table {
    fn may_become(&self, now: &Self, uuid: &str) {
        assert_eq!(self.lead, now.lead);
        assert!(now.pending.is_subset(&self.pending), "{uuid}: {:?} after {:?}", now.pending, self.pending);
        for (offer, before) in &self.offers {
            assert_eq!(now.offers.get(offer), Some(before), "{uuid}: a shown offer stays as it is");
        }
        if self.pending.is_empty() {
            assert_eq!(self.whole, now.whole, "{uuid}: a complete table never changes");
        }
    }
}

fn array<'t>(table: &'t Value, name: &str) -> impl Iterator<Item = &'t Value> {
    table[name].as_array().expect("tables have arrays").iter()
}
