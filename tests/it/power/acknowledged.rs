//! What a daemon was seen to promise, outside of it, and what it has to be held against.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::Value;

use super::subject::Running;
use crate::kit::Answer;

/// Longest wait for an answer of a daemon that is well.
const BOUND: Duration = Duration::from_secs(20);

/// Tables that are asked for one by one, of the last acknowledged and of any. The feed tells of every lead.
const LAST: usize = 40;
const ANY: usize = 20;

/// An answer with a rate table.
#[derive(Debug, Clone)]
pub struct Answered {
    /// How long the recording was when it had come.
    pub at: u64,
    pub lead: String,
    pub table: String,
    body: Bytes,
}

/// The answers of a load, in the order in which they came, and the tokens they were given for.
#[derive(Debug, Clone)]
pub struct Acknowledged {
    pub publishable: String,
    pub confidential: String,
    pub answers: Vec<Answered>,
}

/// What is missing.
#[derive(Debug, Default)]
pub struct Missing {
    pub leads: usize,
    /// Tables that are not there, or say something else.
    pub tables: Vec<String>,
    /// Why nothing more could be asked.
    pub refused: Option<String>,
}

impl Answered {
    pub fn new(at: u64, answer: &Answer) -> Self {
        let table = answer.json();
        let text = |name: &str| table[name].as_str().expect("a table has ids").to_owned();
        Self { at, lead: text("leadUuid"), table: text("uuid"), body: answer.body.clone() }
    }

    /// Whether nothing is pending any more.
    pub fn is_complete(&self) -> bool {
        array(&json(&self.body), "pendingResponses").is_empty()
    }

    /// What a later answer must have kept.
    fn is_kept_in(&self, later: &Answer) -> bool {
        if later.status != 200 {
            return false;
        }
        if self.is_complete() {
            return later.body == self.body;
        }
        let (shown, later) = (json(&self.body), later.json());
        ["loanOffers", "savingsOffers"]
            .into_iter()
            .all(|kind| array(&shown, kind).iter().all(|offer| array(&later, kind).contains(offer)))
    }
}

impl Acknowledged {
    /// What was acknowledged when the recording was this long.
    #[must_use]
    pub fn until(&self, entries: u64) -> Self {
        let mut until = self.clone();
        until.answers.retain(|answer| answer.at <= entries);
        until
    }

    /// What was acknowledged before a recording that begins now.
    #[must_use]
    pub fn of_old(mut self) -> Self {
        self.answers.iter_mut().for_each(|answer| answer.at = 0);
        self
    }

    pub fn leads(&self) -> BTreeSet<&str> {
        self.answers.iter().map(|answer| answer.lead.as_str()).collect()
    }

    /// Holds it against a daemon whose clock is hours ahead, so that its feed tells all.
    pub async fn missing_in(&self, daemon: &Running) -> Missing {
        let mut missing = Missing::default();
        if self.answers.is_empty() {
            return missing;
        }
        match daemon.caller.feed(&self.confidential, "/supplyAnalytics/leadEvents", BOUND).await {
            Err(refused) => missing.refused = Some(refused),
            Ok(events) => {
                let created = events.iter().filter(|event| event["eventType"] == "leadCreated");
                let told: BTreeSet<&str> = created.filter_map(|event| event["leadUuid"].as_str()).collect();
                missing.leads = self.leads().difference(&told).count();
            }
        }
        for answered in self.asked_for() {
            let path = format!("/originator/rateTables/{}", answered.table);
            let table = daemon.caller.get(&self.confidential, &path, BOUND).await;
            let path = format!("/leads/{}", answered.lead);
            let lead = daemon.caller.get(&self.confidential, &path, BOUND).await;
            let (table, lead) = match (table, lead) {
                (Ok(table), Ok(lead)) => (table, lead),
                (Err(why), _) | (_, Err(why)) => {
                    missing.refused.get_or_insert(why);
                    break;
                }
            };
            if lead.status != 200 || !answered.is_kept_in(&table) {
                missing.tables.push(format!("{} ({}, {})", answered.table, lead.status, table.status));
            }
        }
        missing
    }

    /// Asks for some tables at once; what is answered, if anything, is all the same.
    pub async fn ask_for_some(&self, daemon: &Running, count: usize, bound: Duration) {
        let ask = |answered: &Answered| {
            let path = format!("/originator/rateTables/{}", answered.table);
            async move { drop(daemon.caller.get(&self.confidential, &path, bound).await) }
        };
        let step = (self.answers.len() / count).max(1);
        join_all(self.answers.iter().step_by(step).take(count).map(ask)).await;
    }

    /// The last answers on the last tables and on some others.
    fn asked_for(&self) -> Vec<&Answered> {
        let last: BTreeMap<&str, &Answered> =
            self.answers.iter().map(|answer| (answer.table.as_str(), answer)).collect();
        let mut last: Vec<&Answered> = last.into_values().collect();
        last.sort_by_key(|answer| std::cmp::Reverse(answer.at));
        let step = (last.len().saturating_sub(LAST) / ANY).max(1);
        let others = last.iter().skip(LAST).step_by(step).take(ANY);
        last.iter().take(LAST).chain(others).copied().collect()
    }
}

impl Missing {
    pub fn is_nothing(&self) -> bool {
        self.leads == 0 && self.tables.is_empty() && self.refused.is_none()
    }
}

fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).expect("a table is JSON")
}

fn array<'v>(table: &'v Value, name: &str) -> &'v [Value] {
    table[name].as_array().expect("tables have arrays")
}
