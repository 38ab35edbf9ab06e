//! Who a partner is.

use uuid::Uuid;

use crate::model::{Originator, Partner};

/// Who a partner is.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Name of its file.
    pub key: String,
    /// As clients see it.
    pub partner: Partner,
    /// As clients of loan offers see it.
    pub originator: Originator,
    /// `demandSubAccountId` of the lead actions it causes.
    pub sub_account_id: i64,
    /// Institution in lead events.
    pub institution: Uuid,
    /// Whether it stands among the featured institutions.
    pub featured: bool,
}
