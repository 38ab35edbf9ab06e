//! What a credit card should be good for.

use crate::model::enums::CardPurpose;
use crate::model::section::section;

section! {
    /// What the lead looks for in a credit card.
    LeadCreditCardInformation at lead.credit_card_information = "creditCardInformation" {
        /// Whether a card with an annual fee is welcome.
        allow_annual_fee: bool = "allowAnnualFee",
        /// What the card is wanted for; v1 calls the field `cardBenefits`.
        card_purposes: Vec<CardPurpose> = "cardPurposes",
    }
}
