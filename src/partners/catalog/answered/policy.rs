//! What a partner may answer of a policy of life insurance: LifeInsuranceOfferDetails.

use super::kind::{Field, Kind};
use super::scales::DOLLARS;
use crate::model::{CarrierDecisionType, MedicalExam, PackageType, TermUnit};

/// The name of what these are the attributes of.
pub(super) const NOUN: &str = "LifeInsuranceOfferDetails";

/// Each attribute.
#[rustfmt::skip]
pub(super) const FIELDS: &[Field] = &[
    Field { name: "policyAmount", kind: Kind::Whole(1, 1_000_000_000) },
    Field { name: "monthlyPremiumAmount", kind: DOLLARS },
    Field { name: "termLength", kind: Kind::Whole(1, 600) },
    Field { name: "termUnit", kind: Kind::Word(TermUnit::WIRE) },
    Field { name: "annualPremiumAmount", kind: DOLLARS },
    Field { name: "semiAnnualPremiumAmount", kind: DOLLARS },
    Field { name: "onlineAppAvailable", kind: Kind::Flag },
    Field { name: "noMedicalTest", kind: Kind::Flag },
    Field { name: "packageType", kind: Kind::Word(PackageType::WIRE) },
    Field { name: "recommended", kind: Kind::Flag },
    Field { name: "medicalExam", kind: Kind::Word(MedicalExam::WIRE) },
    Field { name: "policyName", kind: Kind::Text },
    Field { name: "carrierDecisionType", kind: Kind::Word(CarrierDecisionType::WIRE) },
    Field { name: "partnerQuoteId", kind: Kind::Text },
    Field { name: "convertToPermanent", kind: Kind::Flag },
    Field { name: "childRider", kind: Kind::Text },
    Field { name: "acceleratedDeathBenefit", kind: Kind::Flag },
    Field { name: "waiverOfPremium", kind: Kind::Text },
    Field { name: "isOnlineApplication", kind: Kind::Flag },
    Field { name: "deliveryMethod", kind: Kind::Text },
    Field { name: "examRequired", kind: Kind::Text },
];
