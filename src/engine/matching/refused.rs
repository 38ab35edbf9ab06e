//! Why a lead is not taken in.

use metrics::counter;
use tracing::debug;
use uuid::Uuid;

use offerd_base::telemetry::metrics::SUBMITS_REFUSED;
use offerd_store::entities::LeadRecord;
use offerd_store::{CommitError, Tree};

/// Why a lead was not taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It duplicates this lead.
    Duplicate(Uuid),
    /// A lead of this uuid is erased.
    Erased(Uuid),
    /// It would be longer than this many bytes with what was to be merged into it.
    TooLarge(usize),
    /// Its key came with another body before.
    OtherBody,
    /// Its key is that of a submit under way.
    UnderWay,
    /// As many rate tables as there may be are being built, or as many changes of the lead wait for each other.
    Full,
    /// There is hardly room on the disk.
    DiskFull,
    /// The store cannot take it, or has failed since.
    StoreFailed,
    /// The store's disk does not answer. What was given to it before that was seen may be there later.
    StoreStalled,
}

impl Refused {
    /// The disk has not taken a lead, or all of its table, by the deadline.
    pub(super) fn late() -> Self {
        Self::StoreStalled.counted("store_stalled")
    }

    /// Counts it under a reason.
    pub(super) fn counted(self, reason: &'static str) -> Self {
        counter!(SUBMITS_REFUSED, "reason" => reason).increment(1);
        self
    }

    /// What a failed commit means to who sent the lead.
    pub(super) fn by(record: &LeadRecord, failure: CommitError) -> Self {
        let (reason, refused) = match failure {
            CommitError::Guard { found, .. } => {
                // What is known of an identity is eight bytes of time, then the lead; else the lead itself is in the way.
                let known = <[u8; 24]>::try_from(found).ok();
                let lead = known.and_then(|known| Uuid::from_slice(&known[8..]).ok());
                return Self::Duplicate(lead.unwrap_or(record.uuid));
            }
            // A lead that was erased is not taken in again under its uuid.
            CommitError::Erased => return Self::Erased(record.uuid),
            CommitError::Late => ("store_stalled", Self::StoreStalled),
            CommitError::Busy => ("store_busy", Self::Full),
            CommitError::Crowded => ("lead_busy", Self::Full),
            failure => {
                // That the store failed is told once by itself, and these are counted.
                debug!(lead = %record.uuid, %failure, tree = Tree::Leads.name(), "a lead could not be stored");
                ("store_failed", Self::StoreFailed)
            }
        };
        refused.counted(reason)
    }
}
