//! Offers of credit cards, and what a card brings besides credit.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::enums::{AprType, CardPurpose, CardType, IntroOfferType, ProvidedCreditRating, TermUnit};
use super::fixed_point::{Money, Percent};
use super::offer::Offer;
use crate::record;

/// An offer of a credit card.
pub type CreditCardOffer = Offer<CreditCardOfferDetails>;

record! {
    /// The terms of an offered credit card.
    CreditCardOfferDetails {
        /// Where a picture of the card is.
        card_image_url: String,
        /// The network that the card belongs to.
        card_type: CardType,
        /// Whether approval is likely (four in five).
        pre_qualified: bool,
        /// Whether approval is nearly certain (nineteen in twenty).
        pre_approved: bool,
        /// Whether the service itself takes approval for more likely than usual.
        pre_selected: bool,
        /// The name to show.
        card_name?: String,
        /// What the card is good for.
        card_purposes?: Vec<CardPurpose>,
        /// Where rates and terms are written down.
        rates_url?: String,
        /// Features that must be seen at once with the offer.
        details?: Vec<String>,
        /// Features that must be shown, if only after another click.
        additional_details?: Vec<String>,
        /// What the card brings besides credit.
        card_benefits?: Vec<CardBenefit>,
        /// The ratings that usually lead to approval.
        recommended_credit_ratings?: Vec<ProvidedCreditRating>,
        /// The welcome bonus in words.
        intro_offer_text?: String,
        /// The currency of the welcome bonus.
        intro_offer_type?: IntroOfferType,
        /// The highest rate on purchases.
        max_purchase_apr?: Percent,
        /// The lowest rate on purchases.
        min_purchase_apr?: Percent,
        /// The rate on purchases in words.
        purchase_apr_text?: String,
        /// The highest introductory rate on purchases.
        max_purchase_intro_apr?: Percent,
        /// The lowest introductory rate on purchases.
        min_purchase_intro_apr?: Percent,
        /// How long that rate holds, in the unit below.
        purchase_intro_apr_term?: i32,
        /// The unit of that time.
        purchase_intro_apr_term_unit?: TermUnit,
        /// The introductory rate on purchases in words.
        purchase_intro_apr_text?: String,
        /// The highest rate on cash advances.
        max_cash_advance_apr?: Percent,
        /// The lowest rate on cash advances.
        min_cash_advance_apr?: Percent,
        /// The rate on cash advances in words.
        cash_advance_apr_text?: String,
        /// The highest introductory rate on cash advances.
        max_cash_advance_intro_apr?: Percent,
        /// The lowest introductory rate on cash advances.
        min_cash_advance_intro_apr?: Percent,
        /// How long that rate holds, in the unit below.
        cash_advance_intro_apr_term?: i32,
        /// The unit of that time.
        cash_advance_intro_apr_term_unit?: TermUnit,
        /// The introductory rate on cash advances in words.
        cash_advance_intro_apr_text?: String,
        /// The highest rate on transferred balances.
        max_balance_transfer_apr?: Percent,
        /// The lowest rate on transferred balances.
        min_balance_transfer_apr?: Percent,
        /// The rate on transferred balances in words.
        balance_transfer_apr_text?: String,
        /// The highest introductory rate on transferred balances.
        max_balance_transfer_intro_apr?: Percent,
        /// The lowest introductory rate on transferred balances.
        min_balance_transfer_intro_apr?: Percent,
        /// How long that rate holds, in the unit below.
        balance_transfer_intro_apr_term?: i32,
        /// The unit of that time.
        balance_transfer_intro_apr_term_unit?: TermUnit,
        /// The introductory rate on transferred balances in words.
        balance_transfer_intro_apr_text?: String,
        /// The highest fee of a year.
        max_annual_fee?: Money,
        /// The lowest fee of a year.
        min_annual_fee?: Money,
        /// The fee of each introductory year.
        annual_intro_fee?: Money,
        /// How many years are introductory.
        annual_intro_fee_term?: i32,
        /// The welcome bonus, in its own currency.
        #[serde(serialize_with = "super::plain_number::optional")]
        intro_offer_amount?: f64,
        /// The least credit that is granted.
        minimum_credit_line?: Money,
        /// The lowest rate after a late payment.
        minimum_penalty_apr?: Percent,
        /// The highest rate after a late payment.
        maximum_penalty_apr?: Percent,
        /// What the transfer of a balance costs.
        balance_transfer_fee?: Money,
        /// What a cash advance costs.
        cash_advance_fee?: Money,
        /// What a late payment costs.
        late_fee?: Money,
        /// What changing currency costs.
        foreign_exchange_fee?: Money,
        /// What opening the account costs.
        account_opening_fee?: Money,
        /// What a payment that bounces costs.
        return_payment_fee?: Money,
        /// What the account costs each month.
        monthly_service_fee?: Money,
        /// What a purchase abroad costs, as a fraction of it: `0.03` is three percent.
        #[serde(serialize_with = "super::plain_number::optional")]
        foreign_transaction_fee?: f64,
        /// The small print on the rate on purchases; not in the specification, as all that follows.
        purchase_apr_disclaimer?: String,
        /// Regular and introductory rates together, in words.
        regular_intro_apr_combined_text?: String,
        /// The small print on what the transfer of a balance costs.
        balance_transfer_fee_disclaimer?: String,
        /// The small print on the fee of a year.
        annual_fee_disclaimer?: String,
        /// The fee of a year in words.
        annual_fee_text?: String,
        /// The small print on the welcome bonus.
        intro_offer_disclaimer?: String,
        /// The welcome bonus as a heading.
        intro_offer_title?: String,
        /// What is shown of the card where there is little room.
        preview_details?: Vec<PreviewDetail>,
        /// How the rate on purchases behaves.
        apr_type?: AprType,
        /// The small print on the ratings that usually lead to approval.
        recommended_credit_ratings_disclaimer?: String,
        /// Those ratings in words.
        recommended_credit_ratings_text?: String,
        /// How points or miles are earned, in fields that nobody has settled.
        #[schema(value_type = Object)]
        earning_program?: serde_json::Map<String, serde_json::Value>,
        /// What using the card earns, in words.
        rewards_description?: String,
        /// The small print on it.
        rewards_disclaimer?: String,
        /// The same as a heading.
        rewards_title?: String,
        /// The least deposit of a secured card.
        min_deposit_amount?: Money,
        /// The small print on that deposit.
        min_deposit_disclaimer?: String,
        /// Whether the offer is an invitation to apply.
        #[serde(rename = "isITA")]
        is_ita?: bool,
        /// Distinctions to show beside the card, each in words.
        badges?: Vec<String>,
    }

    /// A feature of a card in a few words; not in the specification.
    PreviewDetail {
        /// The feature.
        description: String,
        /// The small print on it.
        disclaimer?: String,
    }
}

/// The texts of [`CardBenefit::GENERIC`].
static KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| CardBenefit::GENERIC.lines().collect());

/// A card benefit by its display text.
///
/// The set is open: beside the generic texts of `CardBenefit::GENERIC` stand those that name the programme of
/// one company. Generic texts are not copied, since every card offer carries many of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(from = "String")]
#[schema(value_type = String)]
pub struct CardBenefit(Cow<'static, str>);

impl CardBenefit {
    /// The texts that belong to no company, a line each, in the order of the specification.
    pub const GENERIC: &'static str = include_str!("card_benefits.txt");

    /// The display text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for CardBenefit {
    fn from(text: String) -> Self {
        match KNOWN.get(text.as_str()) {
            Some(generic) => Self(Cow::Borrowed(generic)),
            None => Self(Cow::Owned(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_a_round_trip_and_none_stands_twice() {
        assert_eq!(KNOWN.len(), CardBenefit::GENERIC.lines().count());
        for text in CardBenefit::GENERIC.lines() {
            let json = serde_json::to_string(&CardBenefit::from(text.to_owned())).unwrap();
            let benefit: CardBenefit = serde_json::from_str(&json).unwrap();
            assert!(matches!(benefit.0, Cow::Borrowed(_)) && benefit.as_str() == text);
        }
    }

    #[test]
    fn the_programme_of_one_company_is_kept() {
        let benefit: CardBenefit = serde_json::from_str("\"Acme Sky Club\"").unwrap();
        assert!(matches!(benefit.0, Cow::Owned(_)));
        assert_eq!(benefit.as_str(), "Acme Sky Club");
    }
}
