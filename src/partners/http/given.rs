//! The variables that mappings may use of a lead.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use minijinja::value::{Serde, Value as Mapped};
use uuid::Uuid;

use crate::Facts;
use offerd_model::Timestamp;

/// The context of an ask, besides the lead's attributes.
#[derive(Debug, Clone, Copy)]
pub struct AskContext {
    /// Uuid of the lead.
    pub lead: Uuid,
    /// Uuid of the rate table.
    pub rate_table: Uuid,
    /// Whether it is a test lead, which only sandboxes may receive.
    pub test: bool,
    /// Time of the ask.
    pub now: DateTime<Utc>,
}

/// A lead as mappings see it, with derived values and the context of the ask. Built once per rate table for
/// all partners, since it costs as much as a request. Not `Debug`, since it holds personal data.
pub struct Given {
    pub(super) asked: AskContext,
    context: Mapped,
}

impl Given {
    /// The variables for a partner that is `asked` about the lead of `facts`.
    pub fn of(facts: &Facts, asked: &AskContext) -> Self {
        let context = minijinja::context! {
            lead => Mapped::from(Serde(facts.lead)),
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

    /// The variables of a mapping, including values `kept` from earlier answers.
    pub(super) fn context(&self, kept: &BTreeMap<String, Mapped>) -> Mapped {
        minijinja::context! { kept => kept.clone(), ..self.context.clone() }
    }
}
