//! Attributes of a credit card that a partner may answer: CreditCardOfferDetails without per-lead ones.

use super::kind::{DOLLARS, FigureKind, ObjectFields, PERCENT, TEXTS};
use offerd_model::{AprType, CardPurpose, CardType, IntroOfferType, ProvidedCreditRating, TermUnit};

/// Name of the type with these attributes.
pub(super) const NOUN: &str = "CreditCardOfferDetails";

const PREVIEW_DETAIL: FigureKind =
    FigureKind::Object("PreviewDetail", ObjectFields(&[(FigureKind::Text, &["description", "disclaimer"])]));

#[rustfmt::skip]
pub(super) const FIELDS: ObjectFields = ObjectFields(&[
    (FigureKind::Url, &["cardImageUrl", "ratesUrl"]),
    (FigureKind::Word(CardType::WIRE), &["cardType"]),
    (FigureKind::Text, &[
        "cardName", "introOfferText", "purchaseAprText", "purchaseIntroAprText", "cashAdvanceAprText",
        "cashAdvanceIntroAprText", "balanceTransferAprText", "balanceTransferIntroAprText",
        "purchaseAprDisclaimer", "regularIntroAprCombinedText", "balanceTransferFeeDisclaimer",
        "annualFeeDisclaimer", "annualFeeText", "introOfferDisclaimer", "introOfferTitle",
        "recommendedCreditRatingsDisclaimer", "recommendedCreditRatingsText", "rewardsDescription",
        "rewardsDisclaimer", "rewardsTitle", "minDepositDisclaimer",
    ]),
    (FigureKind::List(&FigureKind::Word(CardPurpose::WIRE)), &["cardPurposes"]),
    (TEXTS, &["details", "additionalDetails", "cardBenefits", "badges"]),
    (FigureKind::List(&FigureKind::Word(ProvidedCreditRating::WIRE)), &["recommendedCreditRatings"]),
    (FigureKind::Word(IntroOfferType::WIRE), &["introOfferType"]),
    (PERCENT, &[
        "maxPurchaseApr", "minPurchaseApr", "maxPurchaseIntroApr", "minPurchaseIntroApr",
        "maxCashAdvanceApr", "minCashAdvanceApr", "maxCashAdvanceIntroApr", "minCashAdvanceIntroApr",
        "maxBalanceTransferApr", "minBalanceTransferApr", "maxBalanceTransferIntroApr",
        "minBalanceTransferIntroApr", "minimumPenaltyApr", "maximumPenaltyApr",
    ]),
    (FigureKind::Whole(0, 600), &[
        "purchaseIntroAprTerm", "cashAdvanceIntroAprTerm", "balanceTransferIntroAprTerm",
        "annualIntroFeeTerm",
    ]),
    (FigureKind::Word(TermUnit::WIRE), &[
        "purchaseIntroAprTermUnit", "cashAdvanceIntroAprTermUnit", "balanceTransferIntroAprTermUnit",
    ]),
    (DOLLARS, &[
        "maxAnnualFee", "minAnnualFee", "annualIntroFee", "introOfferAmount", "minimumCreditLine",
        "balanceTransferFee", "cashAdvanceFee", "lateFee", "foreignExchangeFee", "accountOpeningFee",
        "returnPaymentFee", "monthlyServiceFee", "minDepositAmount",
    ]),
    (FigureKind::Number(0.0, 1.0), &["foreignTransactionFee"]),
    (FigureKind::List(&PREVIEW_DETAIL), &["previewDetails"]),
    (FigureKind::Word(AprType::WIRE), &["aprType"]),
    (FigureKind::Free, &["earningProgram"]),
    (FigureKind::Flag, &["isITA"]),
]);
