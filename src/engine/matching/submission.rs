//! An incoming lead: a new one, or one to merge into an existing lead.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::idempotency::IdempotencyKey;
use offerd_base::ids;
use offerd_base::load_shedder::Permit;
use offerd_base::telemetry::traces::TraceContext;
use offerd_model::{CreditBands, Lead, Viewer};
use offerd_store::entities::LeadRecord;

/// A new lead.
pub struct Submission {
    /// The company.
    pub company: Uuid,
    /// Whether it was sent with a test token.
    pub test: bool,
    /// The company's duplicate look-back in minutes.
    pub look_back_minutes: Option<u32>,
    /// Maps scores to ratings.
    pub bands: CreditBands,
    /// Whether the client declares that it knows values beyond the specification.
    pub newer_values: bool,
    /// The client's idempotency key.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The trace that the client continues.
    pub trace: Option<TraceContext>,
    /// The permit of the load shedder, returned once its commit is acknowledged.
    pub permit: Permit,
    /// The submitted lead.
    pub lead: Lead,
}

impl Submission {
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
            earlier_digests: Vec::new(),
            experiments: BTreeMap::new(),
            defaults: None,
            lead,
        }
    }
}

/// A merge into an existing lead.
#[derive(Debug, Clone, Copy)]
pub struct Merge<'a> {
    /// The caller.
    pub viewer: Viewer,
    /// The lead.
    pub lead: Uuid,
    /// The attributes to merge.
    pub attributes: &'a Lead,
    /// Whether the client declares that it knows values beyond the specification.
    pub newer_values: bool,
    /// Leads older than this, Unix milliseconds, are treated as missing.
    pub made_since: Option<i64>,
}
