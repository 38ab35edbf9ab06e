//! The question to the partners of a rate table, owned so that it can move between threads.

use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};

use crate::rate_table::record::TableHead;
use offerd_model::{CreditBands, Lead};
use offerd_partners::Facts;
use offerd_partners::http::{AskContext, MappingInput};
use offerd_partners::ranking::Scorer;

/// A lead's question, the same for every partner. Holds personal data, so it is not `Debug`.
pub struct LeadQuestion {
    /// The lead.
    pub lead: Arc<Lead>,
    /// The ids, and whether the lead is a test.
    pub asked: AskContext,
    bands: CreditBands,
    given: OnceLock<MappingInput>,
    ranked_by: Option<Arc<Scorer>>,
}

impl LeadQuestion {
    /// A question about `lead`, priced at the time in `asked`; `bands` map scores to ratings.
    pub fn new(lead: Arc<Lead>, bands: CreditBands, asked: AskContext) -> Self {
        Self { lead, asked, bands, given: OnceLock::new(), ranked_by: None }
    }

    /// The question to a table's seats, as of `now` by the store's clock.
    pub fn of(table: &TableHead, lead: Arc<Lead>, bands: CreditBands, now: DateTime<Utc>) -> Self {
        let TableHead { uuid: rate_table, lead: uuid, test, .. } = *table;
        Self::new(lead, bands, AskContext { lead: uuid, rate_table, test, now })
    }

    /// Sets the ranking of the answers.
    #[must_use]
    pub fn ranked_by(self, ranked_by: Option<Arc<Scorer>>) -> Self {
        Self { ranked_by, ..self }
    }

    /// The lead as seen by rules.
    pub fn facts(&self) -> Facts<'_> {
        Facts::new(&self.lead, self.asked.now, self.bands).ranked_by(self.ranked_by.as_deref())
    }

    /// The lead as seen by mappings; built on first use.
    pub fn given(&self) -> &MappingInput {
        self.given.get_or_init(|| MappingInput::of(&self.facts(), &self.asked))
    }
}
