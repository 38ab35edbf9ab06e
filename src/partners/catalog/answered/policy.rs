//! Attributes of a life insurance policy that a partner may answer: LifeInsuranceOfferDetails.

use super::kind::{FigureKind, ObjectFields, PAID};
use offerd_model::{CarrierDecisionType, MedicalExam, PackageType, TermUnit};

/// Name of the type with these attributes.
pub(super) const NOUN: &str = "LifeInsuranceOfferDetails";

#[rustfmt::skip]
pub(super) const FIELDS: ObjectFields = ObjectFields(&[
    (FigureKind::Whole(1, 1_000_000_000), &["policyAmount"]),
    (PAID, &["monthlyPremiumAmount", "annualPremiumAmount", "semiAnnualPremiumAmount"]),
    (FigureKind::Whole(1, 600), &["termLength"]),
    (FigureKind::Word(TermUnit::WIRE), &["termUnit"]),
    (FigureKind::Flag, &[
        "onlineAppAvailable", "noMedicalTest", "recommended", "convertToPermanent",
        "acceleratedDeathBenefit", "isOnlineApplication",
    ]),
    (FigureKind::Word(PackageType::WIRE), &["packageType"]),
    (FigureKind::Word(MedicalExam::WIRE), &["medicalExam"]),
    (FigureKind::Text, &[
        "policyName", "partnerQuoteId", "childRider", "waiverOfPremium", "deliveryMethod", "examRequired",
    ]),
    (FigureKind::Word(CarrierDecisionType::WIRE), &["carrierDecisionType"]),
]);
