//! Offers of everything that has no array of its own.

use uuid::Uuid;

use super::money::Money;
use super::record::record;

record! {
    /// An offer for insurance, debt relief and other products, told in words.
    SpecialOffer {
        required {
            /// The offer's id.
            uuid: Uuid,
            /// What is offered.
            name: String,
            /// What it is, in a sentence or two.
            desc: String,
            /// Where a click on the offer leads.
            url: String,
            /// Who makes the offer.
            partner_name: String,
            /// Where their logo is.
            partner_image_url: String,
        }
        optional {
            /// The value of showing the offer; compares with that of loan offers.
            #[serde(serialize_with = "super::plain_number::optional")]
            recommendation_score: f64,
            /// What a conversion earns.
            payout: Money,
        }
    }
}
