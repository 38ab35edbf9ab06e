//! What a partner may answer of a policy of life insurance: LifeInsuranceOfferDetails.

use super::kind::{DOLLARS, Fields, Kind};
use offerd_model::{CarrierDecisionType, MedicalExam, PackageType, TermUnit};

/// The name of what these are the attributes of.
pub(super) const NOUN: &str = "LifeInsuranceOfferDetails";

/// Its attributes, by what they must be.
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
