//! What mappings may use of a lead.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use minijinja::value::{Serde, Value as Mapped};
use uuid::Uuid;

use crate::model::Timestamp;
use crate::partners::Facts;

/// What a partner is asked about, beside what the lead says.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// The lead.
    pub lead: Uuid,
    /// The rate table.
    pub rate_table: Uuid,
    /// Whether the lead is a test, which only the sandbox side may see.
    pub test: bool,
    /// When.
    pub now: DateTime<Utc>,
}

/// A lead as mappings see it, with what is derived from it and what the partner is asked about. Made once for all partners
/// of a rate table: it costs as much as a request itself. Holds a person's data, so it is not `Debug`.
pub struct Given {
    lead: Mapped,
    age: Option<f64>,
    credit_score: Option<i32>,
    credit_rating: Option<&'static str>,
    asked: Asked,
    now: String,
}

impl Given {
    /// What is given when a partner is `asked` about the lead of `facts`.
    pub fn of(facts: &Facts, asked: &Asked) -> Self {
        Self {
            lead: Mapped::from(Serde(facts.lead())),
            age: facts.age(),
            credit_score: facts.credit_score(),
            credit_rating: facts.rating().map(|rating| rating.as_str()),
            asked: *asked,
            now: Timestamp::from(asked.now).to_string(),
        }
    }

    /// Whether the lead is a test.
    pub fn test(&self) -> bool {
        self.asked.test
    }

    /// What it is asked about.
    pub(super) fn asked(&self) -> &Asked {
        &self.asked
    }

    /// The variables of a mapping, with what was `kept` of earlier answers.
    pub(super) fn context(&self, kept: &BTreeMap<String, Mapped>) -> Mapped {
        minijinja::context! {
            lead => self.lead.clone(),
            lead_uuid => self.asked.lead.to_string(),
            rate_table_uuid => self.asked.rate_table.to_string(),
            test => self.asked.test,
            now => self.now.as_str(),
            age => self.age,
            credit_score => self.credit_score,
            credit_rating => self.credit_rating,
            kept => kept.clone(),
        }
    }
}
