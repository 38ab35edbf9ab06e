//! What life insurers ask about the body.

use crate::model::enums::Gender;
use crate::model::section::section;

section! {
    /// What the price of an insurance depends on.
    LeadHealthInformation at lead.health_information = "healthInformation" {
        /// Gender to rate by.
        gender: Gender = "gender",
        /// Height.
        height_in_inches: i32 = "heightInInches" within COUNT,
        /// Weight.
        weight_in_pounds: i32 = "weightInPounds" within COUNT,
        /// Whether the lead smokes.
        tobacco_smoker: bool = "tobaccoSmoker",
    }
}
