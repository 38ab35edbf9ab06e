//! A vehicle; the specification defines it, and no endpoint refers to it.

use super::enums::State;
use super::record::record;

record! {
    /// A vehicle that a loan is about.
    VehicleInformation {
        required {}
        optional {
            /// The present instalment of a month, in dollars.
            monthly_payment: i32,
            /// How far it has gone, in miles.
            #[serde(serialize_with = "super::plain_number::optional")]
            estimated_mileage: f64,
            /// The number that its maker gave it.
            vehicle_identification_number: String,
            /// The number on its plate.
            license_plate_number: String,
            /// The state on its plate.
            license_plate_state: State,
        }
    }
}
