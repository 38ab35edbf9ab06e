//! The document that identifies the lead.

use crate::model::enums::IdType;
use crate::model::section::section;

section! {
    /// A document that proves who the lead is.
    LeadIdentificationInformation at lead.identification_information = "identificationInformation" {
        /// Number of the document.
        id_number: String = "idNumber" as personal,
        /// State that issued it.
        id_state: String = "idState",
        /// Kind of document.
        id_type: IdType = "idType",
    }
}
