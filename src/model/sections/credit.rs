//! How good the lead's credit is.

use crate::model::enums::ProvidedCreditRating;
use crate::model::section::section;

section! {
    /// Credit as the lead states it.
    LeadCreditInformation at lead.credit_information = "creditInformation" {
        /// Credit in a word.
        provided_credit_rating: ProvidedCreditRating = "providedCreditRating",
        /// Credit as a FICO score.
        provided_numeric_credit_score: i32 = "providedNumericCreditScore" within SCORE,
    }
}
