//! Look-ups: featured institutions and vehicles.

use uuid::Uuid;

use crate::record;

record! {
    /// A featured institution.
    FeaturedFinancialInstitution {
        /// The institution's id; group by this.
        uuid: Uuid,
        /// Its name, which may change.
        name: String,
        /// The address of its logo.
        logo_url: String,
    }

    /// A trim of a vehicle model in one model year.
    VehicleDetails {
        /// The model year.
        year: i32,
        /// The make.
        make: String,
        /// The model.
        model: String,
        /// The trim.
        trim: String,
        /// Identifies year, make, model and trim, the same at every look-up; use it as
        /// `vehicleInformation.vehicleUuid` of a lead.
        uuid: Uuid,
        /// Its number in the list; at least 1.
        ucg_vehicle_id: i64,
    }
}
