//! The records of leads and rate tables: what is written when, and how it is read.
//!
//! - [`writing`] has the commits of leads and tables; [`reading`] folds them back.
//! - [`templates`] and [`public_ids`] turn tables into what clients see; [`postings`] count payouts.
//! - [`identity`] identifies a lead for the duplicate look-back, and [`contacts`] find it.
//! - [`history`] derives what became of a lead; [`displayed_offer`] checks that a named offer was shown.
//! - [`transcripts`] are of calls to partners; [`loan_reports`] belong to no lead.
//! - [`projection`] keeps views of the feeds up to date.

pub mod consents;
pub mod contacts;
pub mod displayed_offer;
pub mod history;
pub mod identity;
pub mod loan_reports;
pub mod open_tables;
mod permutation;
pub mod postings;
pub mod projection;
pub mod public_ids;
pub mod reading;
pub mod templates;
pub mod transcripts;
pub mod writing;

use self::templates::Templates;
use offerd_store::Store;

/// The store, and the templates of its tables. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Records {
    /// The store.
    pub store: Store,
    /// Templates, and the public UUIDs.
    pub templates: Templates,
}

impl Records {
    /// The records of a store, with no template in memory yet.
    pub fn of(store: Store) -> Self {
        Self { templates: Templates::new(store.clone()), store }
    }
}

/// A record cannot currently be read or written; the cause is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordUnavailable;

/// What was read, unless the records are unavailable.
pub type Found<T> = Result<T, RecordUnavailable>;
