//! What pages look up: institutions, and cars.

use uuid::Uuid;

use super::record::record;

record! {
    /// An institution to show.
    FeaturedFinancialInstitution {
        /// The institution's id; the one to group by.
        uuid: Uuid,
        /// Its name, which may change.
        name: String,
        /// Where its logo is.
        logo_url: String,
    }

    /// A version of a car of one model year.
    VehicleDetails {
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
