//! Why a lead is not accepted.

use metrics::counter;
use tracing::debug;
use uuid::Uuid;

use offerd_base::telemetry::metrics::SUBMITS_REFUSED;
use offerd_store::entities::LeadRecord;
use offerd_store::{CommitError, Tree};

/// Why a lead is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeadRefusal {
    /// It duplicates this lead.
    Duplicate(Uuid),
    /// A lead with this UUID is erased.
    Erased(Uuid),
    /// The merged lead would exceed this many bytes.
    TooLarge(usize),
    /// The idempotency key was used with other content, or for another call.
    OtherContent,
    /// A request with the same idempotency key is in flight.
    UnderWay,
    /// The limit of pending rate tables, or of concurrent changes to the lead, is reached.
    Full,
    /// The disk is nearly full.
    DiskFull,
    /// The store cannot take it, or has failed since.
    StoreFailed,
    /// The disk does not respond. Earlier writes may still succeed.
    StoreStalled,
}

impl LeadRefusal {
    /// The disk did not take the lead, or its whole table, by the deadline.
    pub(super) fn stalled() -> Self {
        Self::StoreStalled.counted("store_stalled")
    }

    pub(super) fn counted(self, reason: &'static str) -> Self {
        counter!(SUBMITS_REFUSED, "reason" => reason).increment(1);
        self
    }

    pub(super) fn of_commit(failure: CommitError, record: &LeadRecord) -> Self {
        let (reason, refused) = match failure {
            CommitError::Guard { found, .. } => {
                // An identity record is eight bytes of time and the lead; otherwise the lead conflicts.
                let known = <[u8; 24]>::try_from(found).ok();
                let lead = known.and_then(|known| Uuid::from_slice(&known[8..]).ok());
                return Self::Duplicate(lead.unwrap_or(record.uuid));
            }
            // An erased lead cannot be submitted again under its UUID.
            CommitError::Erased => return Self::Erased(record.uuid),
            CommitError::Late => ("store_stalled", Self::StoreStalled),
            CommitError::Busy => ("store_busy", Self::Full),
            CommitError::Crowded => ("lead_busy", Self::Full),
            failure => {
                // The store logs its failure once; these are only counted.
                debug!(lead = %record.uuid, %failure, tree = Tree::Leads.name(), "could not store a lead");
                ("store_failed", Self::StoreFailed)
            }
        };
        refused.counted(reason)
    }
}
