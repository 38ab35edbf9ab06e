//! What mappings may use of a lead.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use minijinja::value::{Serde, Value as Mapped};
use uuid::Uuid;

use crate::Facts;
use offerd_model::Timestamp;

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
    /// What the partner is asked about.
    pub(super) asked: Asked,
    context: Mapped,
}

impl Given {
    /// What is given when a partner is `asked` about the lead of `facts`.
    pub fn of(facts: &Facts, asked: &Asked) -> Self {
        let context = minijinja::context! {
            lead => Mapped::from(Serde(facts.lead())),
            lead_uuid => asked.lead.to_string(),
            rate_table_uuid => asked.rate_table.to_string(),
            test => asked.test,
            now => Timestamp::from(asked.now).to_string(),
            age => facts.age(),
            credit_score => facts.credit_score(),
            credit_rating => facts.rating().map(|rating| rating.as_str()),
        };
        Self { asked: *asked, context }
    }

    /// The variables of a mapping, with what was `kept` of earlier answers.
    pub(super) fn context(&self, kept: &BTreeMap<String, Mapped>) -> Mapped {
        minijinja::context! { kept => kept.clone(), ..self.context.clone() }
    }
}
