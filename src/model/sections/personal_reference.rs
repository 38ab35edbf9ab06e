//! Someone who knows the lead.

use crate::model::enums::PersonalReferenceRelationType;
use crate::model::phone::Phone;
use crate::model::section::section;

section! {
    /// A person who can be asked about the lead.
    PersonalReferenceInformation at lead.personal_reference_information = "personalReferenceInformation" {
        /// Given name.
        first_name: String = "firstName" as personal,
        /// Family name.
        last_name: String = "lastName" as personal,
        /// Telephone number under which they are best reached.
        primary_phone: Phone = "primaryPhone" as personal,
        /// What they are to the lead.
        relation_type: PersonalReferenceRelationType = "relationType",
    }
}
