//! A lead as it comes in: new, or to be merged into one that is there.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::idempotency::IdempotencyKey;
use offerd_base::ids;
use offerd_base::load_shedder::Permit;
use offerd_base::telemetry::traces::TraceContext;
use offerd_model::{CreditBands, Lead, Viewer};
use offerd_store::entities::LeadRecord;

/// A lead on its way in.
pub struct Submission {
    /// Whose it is.
    pub company: Uuid,
    /// Made with a test token.
    pub test: bool,
    /// The company's duplicate look-back in minutes.
    pub look_back_minutes: Option<u32>,
    /// How scores become ratings.
    pub bands: CreditBands,
    /// Whether who sends it says to know values that the specification lacks.
    pub newer_values: bool,
    /// The client's key for this submit.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The trace that the client goes on with.
    pub trace: Option<TraceContext>,
    /// Leave to take it in, given back once its commit is acknowledged.
    pub permit: Permit,
    /// What was sent.
    pub lead: Lead,
}

impl Submission {
    /// Who sends it.
    pub(super) fn viewer(&self) -> Viewer {
        Viewer { company: self.company, test: self.test }
    }

    /// The lead as it will be kept.
    pub(super) fn record(self, now: i64) -> LeadRecord {
        let Self { company, test, bands, newer_values, lead, .. } = self;
        LeadRecord {
            uuid: lead.uuid.unwrap_or_else(ids::timed),
            company,
            test,
            created_at: now,
            updated_at: now,
            bands,
            newer_values,
            first_table: None,
            consents_stated_at: None,
            earlier_consents: Vec::new(),
            experiments: BTreeMap::new(),
            lead,
        }
    }
}

/// What is to become of a lead that is there already.
#[derive(Debug, Clone, Copy)]
pub struct Growth<'a> {
    /// Who asks.
    pub viewer: Viewer,
    /// The lead.
    pub lead: Uuid,
    /// What is merged into it.
    pub later: &'a Lead,
    /// Whether who asks says to know values that the specification lacks.
    pub newer_values: bool,
    /// A lead that was made before this is left alone, as if it were not there, Unix milliseconds.
    pub made_since: Option<i64>,
}
