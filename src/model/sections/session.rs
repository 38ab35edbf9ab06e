//! The browser in which the form was filled in.

use crate::model::section::section;

section! {
    /// What the client saw of the lead's browser.
    LeadSessionInformation at lead.session_information = "sessionInformation" {
        /// Internet address, as the client wrote it.
        ip_address: String = "ipAddress" as personal,
        /// What the browser calls itself.
        user_agent: String = "userAgent",
        /// What tells the browser apart from others; not in the specification.
        browser_fingerprint: String = "browserFingerprint" as personal,
    }
}
