//! Attributes of a credit card that a partner may answer: CreditCardOfferDetails without per-lead ones.

use super::kind::{DOLLARS, Fields, Kind, PERCENT, TEXTS};
use offerd_model::{AprType, CardPurpose, CardType, IntroOfferType, ProvidedCreditRating, TermUnit};

/// Name of the type with these attributes.
pub(super) const NOUN: &str = "CreditCardOfferDetails";

const PREVIEW_DETAIL: Kind =
    Kind::Object("PreviewDetail", Fields(&[(Kind::Text, &["description", "disclaimer"])]));

#[rustfmt::skip]
pub(super) const FIELDS: Fields = Fields(&[
    (Kind::Url, &["cardImageUrl", "ratesUrl"]),
    (Kind::Word(CardType::WIRE), &["cardType"]),
    (Kind::Text, &[
        "cardName", "introOfferText", "purchaseAprText", "purchaseIntroAprText", "cashAdvanceAprText",
        "cashAdvanceIntroAprText", "balanceTransferAprText", "balanceTransferIntroAprText",
        "purchaseAprDisclaimer", "regularIntroAprCombinedText", "balanceTransferFeeDisclaimer",
        "annualFeeDisclaimer", "annualFeeText", "introOfferDisclaimer", "introOfferTitle",
        "recommendedCreditRatingsDisclaimer", "recommendedCreditRatingsText", "rewardsDescription",
        "rewardsDisclaimer", "rewardsTitle", "minDepositDisclaimer",
    ]),
    (Kind::List(&Kind::Word(CardPurpose::WIRE)), &["cardPurposes"]),
    (TEXTS, &["details", "additionalDetails", "cardBenefits", "badges"]),
    (Kind::List(&Kind::Word(ProvidedCreditRating::WIRE)), &["recommendedCreditRatings"]),
    (Kind::Word(IntroOfferType::WIRE), &["introOfferType"]),
    (PERCENT, &[
        "maxPurchaseApr", "minPurchaseApr", "maxPurchaseIntroApr", "minPurchaseIntroApr",
        "maxCashAdvanceApr", "minCashAdvanceApr", "maxCashAdvanceIntroApr", "minCashAdvanceIntroApr",
        "maxBalanceTransferApr", "minBalanceTransferApr", "maxBalanceTransferIntroApr",
        "minBalanceTransferIntroApr", "minimumPenaltyApr", "maximumPenaltyApr",
    ]),
    (Kind::Whole(0, 600), &[
        "purchaseIntroAprTerm", "cashAdvanceIntroAprTerm", "balanceTransferIntroAprTerm",
        "annualIntroFeeTerm",
    ]),
    (Kind::Word(TermUnit::WIRE), &[
        "purchaseIntroAprTermUnit", "cashAdvanceIntroAprTermUnit", "balanceTransferIntroAprTermUnit",
    ]),
    (DOLLARS, &[
        "maxAnnualFee", "minAnnualFee", "annualIntroFee", "introOfferAmount", "minimumCreditLine",
        "balanceTransferFee", "cashAdvanceFee", "lateFee", "foreignExchangeFee", "accountOpeningFee",
        "returnPaymentFee", "monthlyServiceFee", "minDepositAmount",
    ]),
    (Kind::Number(0.0, 1.0), &["foreignTransactionFee"]),
    (Kind::List(&PREVIEW_DETAIL), &["previewDetails"]),
    (Kind::Word(AprType::WIRE), &["aprType"]),
    (Kind::Free, &["earningProgram"]),
    (Kind::Flag, &["isITA"]),
]);
