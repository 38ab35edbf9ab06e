//! What a partner may answer of a credit card: CreditCardOfferDetails, but for what is decided for each lead.

use super::kind::{Field, Kind};
use super::scales::{DOLLARS, PERCENT, TEXTS};
use crate::model::{AprType, CardPurpose, CardType, IntroOfferType, ProvidedCreditRating, TermUnit};

/// The name of what these are the attributes of.
pub(super) const NOUN: &str = "CreditCardOfferDetails";

/// A feature of a card in a few words.
const PREVIEW_DETAIL: Kind = Kind::Object(
    "PreviewDetail",
    &[Field { name: "description", kind: Kind::Text }, Field { name: "disclaimer", kind: Kind::Text }],
);

/// Each attribute.
#[rustfmt::skip]
pub(super) const FIELDS: &[Field] = &[
    Field { name: "cardImageUrl", kind: Kind::Url },
    Field { name: "cardType", kind: Kind::Word(CardType::WIRE) },
    Field { name: "cardName", kind: Kind::Text },
    Field { name: "cardPurposes", kind: Kind::List(&Kind::Word(CardPurpose::WIRE)) },
    Field { name: "ratesUrl", kind: Kind::Url },
    Field { name: "details", kind: TEXTS },
    Field { name: "additionalDetails", kind: TEXTS },
    Field { name: "cardBenefits", kind: TEXTS },
    Field { name: "recommendedCreditRatings", kind: Kind::List(&Kind::Word(ProvidedCreditRating::WIRE)) },
    Field { name: "introOfferText", kind: Kind::Text },
    Field { name: "introOfferType", kind: Kind::Word(IntroOfferType::WIRE) },
    Field { name: "maxPurchaseApr", kind: PERCENT },
    Field { name: "minPurchaseApr", kind: PERCENT },
    Field { name: "purchaseAprText", kind: Kind::Text },
    Field { name: "maxPurchaseIntroApr", kind: PERCENT },
    Field { name: "minPurchaseIntroApr", kind: PERCENT },
    Field { name: "purchaseIntroAprTerm", kind: Kind::Whole(0, 600) },
    Field { name: "purchaseIntroAprTermUnit", kind: Kind::Word(TermUnit::WIRE) },
    Field { name: "purchaseIntroAprText", kind: Kind::Text },
    Field { name: "maxCashAdvanceApr", kind: PERCENT },
    Field { name: "minCashAdvanceApr", kind: PERCENT },
    Field { name: "cashAdvanceAprText", kind: Kind::Text },
    Field { name: "maxCashAdvanceIntroApr", kind: PERCENT },
    Field { name: "minCashAdvanceIntroApr", kind: PERCENT },
    Field { name: "cashAdvanceIntroAprTerm", kind: Kind::Whole(0, 600) },
    Field { name: "cashAdvanceIntroAprTermUnit", kind: Kind::Word(TermUnit::WIRE) },
    Field { name: "cashAdvanceIntroAprText", kind: Kind::Text },
    Field { name: "maxBalanceTransferApr", kind: PERCENT },
    Field { name: "minBalanceTransferApr", kind: PERCENT },
    Field { name: "balanceTransferAprText", kind: Kind::Text },
    Field { name: "maxBalanceTransferIntroApr", kind: PERCENT },
    Field { name: "minBalanceTransferIntroApr", kind: PERCENT },
    Field { name: "balanceTransferIntroAprTerm", kind: Kind::Whole(0, 600) },
    Field { name: "balanceTransferIntroAprTermUnit", kind: Kind::Word(TermUnit::WIRE) },
    Field { name: "balanceTransferIntroAprText", kind: Kind::Text },
    Field { name: "maxAnnualFee", kind: DOLLARS },
    Field { name: "minAnnualFee", kind: DOLLARS },
    Field { name: "annualIntroFee", kind: DOLLARS },
    Field { name: "annualIntroFeeTerm", kind: Kind::Whole(0, 600) },
    Field { name: "introOfferAmount", kind: DOLLARS },
    Field { name: "minimumCreditLine", kind: DOLLARS },
    Field { name: "minimumPenaltyApr", kind: PERCENT },
    Field { name: "maximumPenaltyApr", kind: PERCENT },
    Field { name: "balanceTransferFee", kind: DOLLARS },
    Field { name: "cashAdvanceFee", kind: DOLLARS },
    Field { name: "lateFee", kind: DOLLARS },
    Field { name: "foreignExchangeFee", kind: DOLLARS },
    Field { name: "accountOpeningFee", kind: DOLLARS },
    Field { name: "returnPaymentFee", kind: DOLLARS },
    Field { name: "monthlyServiceFee", kind: DOLLARS },
    Field { name: "foreignTransactionFee", kind: Kind::Number(0.0, 1.0) },
    Field { name: "purchaseAprDisclaimer", kind: Kind::Text },
    Field { name: "regularIntroAprCombinedText", kind: Kind::Text },
    Field { name: "balanceTransferFeeDisclaimer", kind: Kind::Text },
    Field { name: "annualFeeDisclaimer", kind: Kind::Text },
    Field { name: "annualFeeText", kind: Kind::Text },
    Field { name: "introOfferDisclaimer", kind: Kind::Text },
    Field { name: "introOfferTitle", kind: Kind::Text },
    Field { name: "previewDetails", kind: Kind::List(&PREVIEW_DETAIL) },
    Field { name: "aprType", kind: Kind::Word(AprType::WIRE) },
    Field { name: "recommendedCreditRatingsDisclaimer", kind: Kind::Text },
    Field { name: "recommendedCreditRatingsText", kind: Kind::Text },
    Field { name: "earningProgram", kind: Kind::Free },
    Field { name: "rewardsDescription", kind: Kind::Text },
    Field { name: "rewardsDisclaimer", kind: Kind::Text },
    Field { name: "rewardsTitle", kind: Kind::Text },
    Field { name: "minDepositAmount", kind: DOLLARS },
    Field { name: "minDepositDisclaimer", kind: Kind::Text },
    Field { name: "isITA", kind: Kind::Flag },
    Field { name: "badges", kind: TEXTS },
];
