//! The vehicle that a loan is about. The specification defines it; that a lead has it stands in newer editions only.

use uuid::Uuid;

use crate::model::enums::State;
use crate::model::section::section;

section! {
    /// The vehicle that a loan is about.
    VehicleInformation at lead.vehicle_information = "vehicleInformation" {
        /// The present instalment of a month, in dollars.
        monthly_payment: i32 = "monthlyPayment" within DOLLARS,
        /// How far it has gone, in miles.
        estimated_mileage: i32 = "estimatedMileage" within MILES,
        /// The number that its maker gave it.
        vehicle_identification_number: String = "vehicleIdentificationNumber" within VIN as personal,
        /// The number on its plate.
        license_plate_number: String = "licensePlateNumber" within PLATE as personal,
        /// The state on its plate.
        license_plate_state: State = "licensePlateState",
        /// Which it is, as the look-up of trims names it.
        vehicle_uuid: Uuid = "vehicleUuid",
    }
}
