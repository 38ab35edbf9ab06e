//! What pages look up: institutions, cars, and data of a lead that wait to be taken up.

use uuid::Uuid;

use super::enums::ProductType;
use crate::record;

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

    /// Where data of a lead wait that somebody comes back for.
    PrefillResponse {
        /// The products that the lead asks for; all of them where it names none.
        product_types: Vec<ProductType>,
        /// What they are read by, by any token of the company.
        prefill_token: Uuid,
        /// How long they can be read.
        expires_in_seconds: i32,
        /// How often they can be read.
        max_uses: i32,
    }
}
