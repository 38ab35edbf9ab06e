//! The car insurance wanted; not in the specification.

use chrono::NaiveDate;

use crate::model::json_object::JsonObject;
use crate::model::section::section;

section! {
    /// The cars to be insured, and who drives them. What nobody has settled the fields of is kept as it comes.
    LeadAutoInsuranceInformation at lead.auto_insurance_information = "autoInsuranceInformation" {
        /// How many cars.
        number_of_vehicles: i32 = "numberOfVehicles" within COUNT,
        /// Whether they are insured now.
        has_auto_insurance: bool = "hasAutoInsurance",
        /// Who insures them now.
        prior_carrier_information: JsonObject = "priorCarrierInformation",
        /// When the new policy starts.
        policy_effective_date: NaiveDate = "policyEffectiveDate",
        /// What is to be covered.
        coverage_information: JsonObject = "coverageInformation",
        /// Where the cars stand.
        garage_information: JsonObject = "garageInformation",
        /// The cars.
        vehicles_information: Vec<JsonObject> = "vehiclesInformation",
        /// Who drives them.
        drivers_information: Vec<JsonObject> = "driversInformation",
    }
}
