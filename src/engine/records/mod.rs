//! The records of leads and rate tables: what is written of them when, and how it is read again.
//!
//! [`writing`] has the commits of a lead and of its tables, [`reading`] folds them; tables are shown with their [`templates`],
//! their offers and pages by [`public_ids`], which a keyed permutation makes. A [`posting`](postings) is a payout
//! as it counts towards a budget, an [`identity`] who a lead is for the look-back. [`history`] finds what became of a lead, [`shown`]
//! whether an offer that is named was ever shown. [`transcripts`] are kept for a time of their own and read as [`shown_transcript`]s, [`loan_reports`] are of no lead.
//! [`contacts`] are what leads are found by, [`projection`] how something is made of the feeds in the background.

pub mod consents;
pub mod contacts;
pub mod history;
pub mod identity;
pub mod loan_reports;
pub mod open_tables;
mod permutation;
pub mod postings;
pub mod projection;
pub mod public_ids;
pub mod reading;
pub mod shown;
pub mod shown_transcript;
pub mod templates;
pub mod transcripts;
pub mod writing;

use self::templates::Templates;
use offerd_store::Store;

/// Where the records are: the store, and the templates that tables are shown with. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Records {
    /// The store.
    pub store: Store,
    /// Prepared templates, and the uuids of offers and pages.
    pub templates: Templates,
}

impl Records {
    /// The records of a store, no template of them in memory yet.
    pub fn of(store: Store) -> Self {
        Self { templates: Templates::new(store.clone()), store }
    }
}

/// A record exists but cannot be read now, or not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable;
