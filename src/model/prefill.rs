//! Data of a lead that wait to be taken up.

use uuid::Uuid;

use super::enums::ProductType;
use super::record::record;

record! {
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
