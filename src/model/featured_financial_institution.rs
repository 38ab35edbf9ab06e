//! Institutions that a page may show before it asks for anything personal.

use uuid::Uuid;

use super::record::record;

record! {
    /// An institution to show.
    FeaturedFinancialInstitution {
        required {
            /// The institution's id; the one to group by.
            uuid: Uuid,
            /// Its name, which may change.
            name: String,
            /// Where its logo is.
            logo_url: String,
        }
    }
}
