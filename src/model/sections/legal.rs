//! What the lead has agreed to.

use crate::model::enums::BatchConsentVersion;
use crate::model::section::section;

section! {
    /// Consents that institutions need before they look or call.
    LeadLegalInformation at lead.legal_information = "legalInformation" {
        /// Whether the lead lets their credit report be read (Fair Credit Reporting Act).
        consents_to_fcra: bool = "consentsToFcra",
        /// Whether the lead lets themselves be called (Telephone Consumer Protection Act).
        consents_to_tcpa: bool = "consentsToTcpa",
        /// Whether the lead lets themselves be texted.
        consents_to_sms: bool = "consentsToSms",
        /// The consent text, word for word as it was shown.
        tcpa_language: String = "tcpaLanguage",
        /// The FCRA consent text, word for word as it was shown; not in the specification, as all that follows.
        fcra_language: String = "fcraLanguage",
        /// Which wording of the consent for all partners at once was shown.
        batch_consent_version: BatchConsentVersion = "batchConsentVersion",
        /// The consent text for all partners at once, word for word as it was shown.
        batch_consent_language: String = "batchConsentLanguage",
    }
}
