//! Attributes of a life insurance policy that a partner may answer: LifeInsuranceOfferDetails.

use super::kind::{DOLLARS, Fields, Kind};
use offerd_model::{CarrierDecisionType, MedicalExam, PackageType, TermUnit};

/// Name of the type with these attributes.
pub(super) const NOUN: &str = "LifeInsuranceOfferDetails";

#[rustfmt::skip]
pub(super) const FIELDS: Fields = Fields(&[
    (Kind::Whole(1, 1_000_000_000), &["policyAmount"]),
    (DOLLARS, &["monthlyPremiumAmount", "annualPremiumAmount", "semiAnnualPremiumAmount"]),
    (Kind::Whole(1, 600), &["termLength"]),
    (Kind::Word(TermUnit::WIRE), &["termUnit"]),
    (Kind::Flag, &[
        "onlineAppAvailable", "noMedicalTest", "recommended", "convertToPermanent",
        "acceleratedDeathBenefit", "isOnlineApplication",
    ]),
    (Kind::Word(PackageType::WIRE), &["packageType"]),
    (Kind::Word(MedicalExam::WIRE), &["medicalExam"]),
    (Kind::Text, &[
        "policyName", "partnerQuoteId", "childRider", "waiverOfPremium", "deliveryMethod", "examRequired",
    ]),
    (Kind::Word(CarrierDecisionType::WIRE), &["carrierDecisionType"]),
]);
