//! The closed sets of values, grouped by the noun they describe.

mod funnel;
mod person;
mod product;

pub use funnel::*;
pub use person::*;
pub use product::*;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enumeration::Enumeration;

    fn check<E: Enumeration + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned>() {
        assert_eq!(E::ALL.len(), E::WIRE.len());
        for (position, (&value, &wire)) in E::ALL.iter().zip(E::WIRE).enumerate() {
            assert_eq!(usize::from(value.ordinal()), position);
            assert_eq!(E::from_wire(wire), Some(value));
            let json = serde_json::to_string(&value).unwrap();
            assert_eq!(json, format!("{wire:?}"));
            assert_eq!(serde_json::from_str::<E>(&json).unwrap(), value);
        }
        let refusal = serde_json::from_str::<E>("\"Jane Roe\"").unwrap_err().to_string();
        assert!(refusal.contains(E::WIRE[0]) && !refusal.contains("Jane"), "{refusal}");
    }

    #[test]
    fn every_value_round_trips_and_an_unknown_one_is_refused() {
        macro_rules! check_all { ($($name:ident)+) => { $(check::<$name>();)+ } }
        check_all! {
            ProductType ProductSubType ProvidedCreditRating AprType BankAccountType CardPurpose CardType
            CitizenshipStatus CompoundingMethod EducationLevel EmploymentPayFrequency EmploymentStatus EventType
            Gender GraduateDegreeType IdType IntroOfferType LeadBestTimeToCall LeadActionType LoanPurpose
            MortgageAdjustmentType MortgageLoanType MortgageType OccupancyType PersonalReferenceRelationType
            PropertySearchStatus PropertyStatus PropertyType PurchaseStatus RefinanceLoanType RefinanceType
            RejectReason State TermUnit BatchConsentVersion MortechCreditRating PartnerResult OfferResult
            ConversionSource
            FederalInsuranceType IncentiveUnit IncentiveType CarrierDecisionType MedicalExam PackageType
        }
    }

    #[test]
    fn the_lists_have_the_length_of_the_specification() {
        assert_eq!(State::ALL.len(), 53);
        assert_eq!(LoanPurpose::ALL.len(), 29);
        assert_eq!(ProductSubType::ALL.len(), 19 + 35, "those of special offers with them");
        assert_eq!(GraduateDegreeType::ALL.len(), 27);
        assert_eq!(LeadActionType::ALL.len(), 16 + 2, "those of the newer form with them");
    }
}
