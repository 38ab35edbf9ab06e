//! Prefills of leads.

use uuid::Uuid;

use super::enums::ProductType;
use crate::record;

record! {
    /// Where a prefill can be read: lead data that a returning person picks up again.
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
