//! Look-ups: featured institutions, vehicles, and prefills of leads.

use uuid::Uuid;

use super::enums::ProductType;
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

    /// A prefill: lead data that a returning person picks up again.
    PrefillResponse {
        /// The products that the lead asks for; the seven up to `other` if it names none.
        product_types: Vec<ProductType>,
        /// Reads the prefill, together with any token of the company.
        prefill_token: Uuid,
        /// Seconds until the prefill expires.
        expires_in_seconds: i32,
        /// How often the prefill can be read.
        max_uses: i32,
    }
}
