//! What the partners of a rate table are asked, owned, so that it can be taken to any thread.

use std::sync::{Arc, OnceLock};

use chrono::Utc;

use crate::rate_table::record::TableHead;
use offerd_model::{CreditBands, Lead};
use offerd_partners::Facts;
use offerd_partners::http::{Asked, Given};
use offerd_partners::ranking::RankedBy;

/// One lead's question, the same for every partner. It holds a person's data, so it is not `Debug`.
pub struct Question {
    /// The lead.
    pub lead: Arc<Lead>,
    /// The ids, and whether it is a test.
    pub asked: Asked,
    bands: CreditBands,
    given: OnceLock<Given>,
    ranked_by: Option<Arc<RankedBy>>,
}

impl Question {
    /// A question about `lead`, priced as of when it is asked, with scores that become ratings by `bands`.
    pub fn new(lead: Arc<Lead>, bands: CreditBands, asked: Asked) -> Self {
        Self { lead, asked, bands, given: OnceLock::new(), ranked_by: None }
    }

    /// What those are asked now who have a seat at a table.
    pub fn of(table: &TableHead, lead: Arc<Lead>, bands: CreditBands) -> Self {
        let TableHead { uuid: rate_table, lead: uuid, test, .. } = *table;
        Self::new(lead, bands, Asked { lead: uuid, rate_table, test, now: Utc::now() })
    }

    /// The same, whose answers are ranked.
    #[must_use]
    pub fn ranked_by(self, ranked_by: Option<Arc<RankedBy>>) -> Self {
        Self { ranked_by, ..self }
    }

    /// The lead as rules see it.
    pub fn facts(&self) -> Facts<'_> {
        Facts::new(&self.lead, self.asked.now, self.bands).ranked_by(self.ranked_by.as_deref())
    }

    /// The lead as mappings see it; made when the first mapping needs it.
    pub fn given(&self) -> &Given {
        self.given.get_or_init(|| Given::of(&self.facts(), &self.asked))
    }
}
