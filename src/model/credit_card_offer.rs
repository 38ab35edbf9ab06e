//! Credit card offers and card benefits.

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
        /// The address of a picture of the card.
        card_image_url: String,
        /// The network of the card.
        card_type: CardType,
        /// Whether approval is likely (four in five).
        pre_qualified: bool,
        /// Whether approval is nearly certain (nineteen in twenty).
        pre_approved: bool,
        /// Whether the service itself predicts a better than usual chance of approval.
        pre_selected: bool,
        /// The name to show.
        card_name?: String,
        /// The purposes of the card.
        card_purposes?: Vec<CardPurpose>,
        /// The address of rates and terms.
        rates_url?: String,
        /// Features that must be shown with the offer at once.
        details?: Vec<String>,
        /// Features that must be shown, though possibly after another click.
        additional_details?: Vec<String>,
        /// The benefits of the card.
        card_benefits?: Vec<CardBenefit>,
        /// The credit ratings that usually lead to approval.
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
        /// The length of the introductory period, in `purchaseIntroAprTermUnit`.
        purchase_intro_apr_term?: i32,
        /// The unit of that period.
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
        /// The length of the introductory period, in `cashAdvanceIntroAprTermUnit`.
        cash_advance_intro_apr_term?: i32,
        /// The unit of that period.
        cash_advance_intro_apr_term_unit?: TermUnit,
        /// The introductory rate on cash advances in words.
        cash_advance_intro_apr_text?: String,
        /// The highest rate on balance transfers.
        max_balance_transfer_apr?: Percent,
        /// The lowest rate on balance transfers.
        min_balance_transfer_apr?: Percent,
        /// The rate on balance transfers in words.
        balance_transfer_apr_text?: String,
        /// The highest introductory rate on balance transfers.
        max_balance_transfer_intro_apr?: Percent,
        /// The lowest introductory rate on balance transfers.
        min_balance_transfer_intro_apr?: Percent,
        /// The length of the introductory period, in `balanceTransferIntroAprTermUnit`.
        balance_transfer_intro_apr_term?: i32,
        /// The unit of that period.
        balance_transfer_intro_apr_term_unit?: TermUnit,
        /// The introductory rate on balance transfers in words.
        balance_transfer_intro_apr_text?: String,
        /// The highest annual fee.
        max_annual_fee?: Money,
        /// The lowest annual fee.
        min_annual_fee?: Money,
        /// The annual fee in introductory years.
        annual_intro_fee?: Money,
        /// The number of introductory years.
        annual_intro_fee_term?: i32,
        /// The welcome bonus, in its currency.
        #[serde(serialize_with = "super::plain_number::optional")]
        intro_offer_amount?: f64,
        /// The minimum credit line.
        minimum_credit_line?: Money,
        /// The lowest penalty rate, after a late payment.
        minimum_penalty_apr?: Percent,
        /// The highest penalty rate, after a late payment.
        maximum_penalty_apr?: Percent,
        /// The fee for a balance transfer.
        balance_transfer_fee?: Money,
        /// The fee for a cash advance.
        cash_advance_fee?: Money,
        /// The fee for a late payment.
        late_fee?: Money,
        /// The fee for foreign exchange.
        foreign_exchange_fee?: Money,
        /// The fee for opening the account.
        account_opening_fee?: Money,
        /// The fee for a returned payment.
        return_payment_fee?: Money,
        /// The monthly fee.
        monthly_service_fee?: Money,
        /// The fee for a purchase abroad, as a fraction of it: `0.03` is three percent.
        #[serde(serialize_with = "super::plain_number::optional")]
        foreign_transaction_fee?: f64,
        /// The small print on the purchase rate; not in the specification.
        purchase_apr_disclaimer?: String,
        /// Regular and introductory rates together, in words; not in the specification.
        regular_intro_apr_combined_text?: String,
        /// The small print on the fee for a balance transfer; not in the specification.
        balance_transfer_fee_disclaimer?: String,
        /// The small print on the annual fee; not in the specification.
        annual_fee_disclaimer?: String,
        /// The annual fee in words; not in the specification.
        annual_fee_text?: String,
        /// The small print on the welcome bonus; not in the specification.
        intro_offer_disclaimer?: String,
        /// The welcome bonus as a heading; not in the specification.
        intro_offer_title?: String,
        /// Features to show where space is limited; not in the specification.
        preview_details?: Vec<PreviewDetail>,
        /// The type of the purchase rate; not in the specification.
        apr_type?: AprType,
        /// The small print on the recommended credit ratings; not in the specification.
        recommended_credit_ratings_disclaimer?: String,
        /// The recommended credit ratings in words; not in the specification.
        recommended_credit_ratings_text?: String,
        /// How points or miles are earned, without fixed fields; not in the specification.
        #[schema(value_type = Object)]
        earning_program?: serde_json::Map<String, serde_json::Value>,
        /// The rewards in words; not in the specification.
        rewards_description?: String,
        /// The small print on the rewards; not in the specification.
        rewards_disclaimer?: String,
        /// The rewards as a heading; not in the specification.
        rewards_title?: String,
        /// The minimum deposit of a secured card; not in the specification.
        min_deposit_amount?: Money,
        /// The small print on that deposit; not in the specification.
        min_deposit_disclaimer?: String,
        /// Whether the offer is an invitation to apply; not in the specification.
        #[serde(rename = "isITA")]
        is_ita?: bool,
        /// Badges to show with the card; not in the specification.
        badges?: Vec<String>,
    }

    /// A feature of a card in a few words; not in the specification.
    PreviewDetail {
        /// The feature.
        description: String,
        /// The small print on the feature.
        disclaimer?: String,
    }
}

/// The texts of [`CardBenefit::GENERIC`].
static KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| CardBenefit::GENERIC.lines().collect());

/// A card benefit, by its display text.
///
/// The set is open: some texts are generic, others name a company's programme.
// Generic texts are shared, not copied, since every card offer carries many of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(from = "String")]
#[schema(value_type = String)]
pub struct CardBenefit(Cow<'static, str>);

impl CardBenefit {
    /// The texts that name no company, one per line, in the order of the specification.
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
