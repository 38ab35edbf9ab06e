//! A vehicle as it is looked up.

use uuid::Uuid;

use super::record::record;

record! {
    /// A version of a car of one model year.
    VehicleDetails {
        required {
            /// The model year.
            year: i32,
            /// Who makes it.
            make: String,
            /// What it is sold as.
            model: String,
            /// Which version of that.
            trim: String,
            /// Names the four together, the same at every look-up: the `vehicleInformation.vehicleUuid` of a lead.
            uuid: Uuid,
            /// Its number in the list; at least 1.
            ucg_vehicle_id: i64,
        }
    }
}
