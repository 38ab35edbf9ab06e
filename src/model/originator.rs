//! Institutions in the form that loan offers show them.

use uuid::Uuid;

use super::record::record;

record! {
    /// The institution behind a loan offer.
    Originator {
        /// A short name for programs, never changed.
        key: String,
        /// The name to show.
        name: String,
        /// Who they are, in a sentence or two.
        description?: String,
        /// The logo, in one size or more; clients break when there is none.
        images: Vec<OriginatorImage>,
        /// What must be said beside any of their offers.
        disclaimer?: String,
        /// The company's id.
        company_uuid?: Uuid,
        /// The institution's id, the one that events are grouped by.
        financial_institution_uuid?: Uuid,
    }

    /// A logo in one size.
    #[derive(Eq)]
    OriginatorImage {
        /// The name of the size.
        size_key: String,
        /// Where the image is.
        url: String,
    }
}
