//! The smaller sets of values of the v1 edition.

use super::api_error::{ApiError, ErrorType};
use super::enumeration::{Enumeration, one_of};
use super::enums::{CardPurpose, EducationLevel, EmploymentStatus, LoanPurpose, ProductType, TermUnit};
use super::lead::Lead;

impl ProductType {
    /// The product types that a v1 lead can ask for.
    pub const V1: &'static [Self] = &[Self::CreditCard, Self::Loan, Self::Mortgage, Self::Savings];
}

impl LoanPurpose {
    /// The purposes that both editions write alike: all but the two for cars, which lead the list.
    pub const V1: &'static [Self] = Self::ALL.split_at(2).1;
    /// How v1 writes the two purposes for cars.
    pub const V1_AUTO: &'static str = "auto";

    /// Tells how v1 writes the purpose.
    pub const fn as_v1_str(self) -> &'static str {
        match self {
            Self::AutoPurchase | Self::AutoRefinance => Self::V1_AUTO,
            other => other.as_str(),
        }
    }

    /// Finds the purpose that v1 writes `text`; `auto` means a purchase.
    pub fn from_v1_wire(text: &str) -> Option<Self> {
        match text {
            Self::V1_AUTO => Some(Self::AutoPurchase),
            other => Self::from_wire(other).filter(|purpose| Self::V1.contains(purpose)),
        }
    }
}

impl EducationLevel {
    /// The levels that v1 has.
    pub const V1: &'static [Self] = &[
        Self::Associate,
        Self::Bachelors,
        Self::HighSchool,
        Self::Masters,
        Self::Other,
        Self::OtherGradDegree,
    ];
}

impl EmploymentStatus {
    /// The ways to earn a living that v1 has.
    pub const V1: &'static [Self] =
        &[Self::Employed, Self::Military, Self::NotEmployed, Self::SelfEmployed, Self::Retired, Self::Other];
}

impl TermUnit {
    /// The units that v1 has.
    pub const V1: &'static [Self] = &[Self::Day, Self::Month, Self::Year];
}

impl CardPurpose {
    /// The purposes that v1 has, there called benefits.
    pub const V1: &'static [Self] =
        &[Self::BalanceTransfer, Self::EarningRewards, Self::ImproveCredit, Self::TravelIncentives];
}

/// Names every value of a lead that v1 does not have, by v1's attribute names.
///
/// `auto_purchase` passes, since that is what v1's `auto` is read as.
pub(super) fn faults(lead: &Lead) -> Vec<ApiError> {
    let mut faults = Vec::new();
    check_each("productTypes", lead.product_types.as_deref(), ProductType::V1, &mut faults);
    if let Some(person) = &lead.personal_information {
        let known = |level: &String| {
            EducationLevel::from_wire(level).is_some_and(|level| EducationLevel::V1.contains(&level))
        };
        if person.education_level.as_ref().is_some_and(|level| !known(level)) {
            faults.push(fault("personalInformation.educationLevel".to_owned(), EducationLevel::V1));
        }
    }
    let loan_purpose = lead.loan_information.as_ref().and_then(|loan| loan.purpose);
    if loan_purpose == Some(LoanPurpose::AutoRefinance) {
        let known: Vec<_> = LoanPurpose::V1.iter().map(|purpose| purpose.as_str()).collect();
        let wanted = one_of(&[&[LoanPurpose::V1_AUTO], known.as_slice()].concat());
        faults.push(ApiError::at(
            "loanInformation.purpose",
            ErrorType::Malformed,
            format!("must be {wanted}"),
        ));
    }
    let card_purposes = lead.credit_card_information.as_ref().and_then(|card| card.card_purposes.as_deref());
    check_each("creditCardInformation.cardBenefits", card_purposes, CardPurpose::V1, &mut faults);
    let employment = lead.financial_information.as_ref().and_then(|finances| finances.employment_status);
    check("financialInformation.employmentStatus", employment, EmploymentStatus::V1, &mut faults);
    let education = lead.education_information.as_ref().and_then(|education| education.education_level);
    check("educationInformation.educationLevel", education, EducationLevel::V1, &mut faults);
    faults
}

fn check<E: Enumeration>(path: &str, value: Option<E>, known: &[E], faults: &mut Vec<ApiError>) {
    if value.is_some_and(|value| !known.contains(&value)) {
        faults.push(fault(path.to_owned(), known));
    }
}

fn check_each<E: Enumeration>(path: &str, values: Option<&[E]>, known: &[E], faults: &mut Vec<ApiError>) {
    let unknown = values.unwrap_or_default().iter().enumerate().filter(|(_, value)| !known.contains(value));
    faults.extend(unknown.map(|(index, _)| fault(format!("{path}[{index}]"), known)));
}

fn fault<E: Enumeration>(path: String, known: &[E]) -> ApiError {
    let wire: Vec<_> = known.iter().map(|value| value.as_str()).collect();
    ApiError::at(path, ErrorType::Malformed, format!("must be {}", one_of(&wire)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_writes_both_purposes_for_cars_as_auto() {
        assert_eq!(LoanPurpose::ALL[..2], [LoanPurpose::AutoPurchase, LoanPurpose::AutoRefinance]);
        assert_eq!(LoanPurpose::AutoRefinance.as_v1_str(), "auto");
        assert_eq!(LoanPurpose::from_v1_wire("auto"), Some(LoanPurpose::AutoPurchase));
        assert_eq!(LoanPurpose::from_v1_wire("auto_refinance"), None);
        for &purpose in LoanPurpose::V1 {
            assert_eq!(LoanPurpose::from_v1_wire(purpose.as_v1_str()), Some(purpose));
        }
    }

    #[test]
    fn every_value_that_v1_lacks_is_named() {
        let body = br#"{
            "productTypes": ["loan", "insurance", "other"],
            "personalInformation": {"educationLevel": "PhD"},
            "loanInformation": {"purpose": "auto_refinance"},
            "creditCardInformation": {"cardPurposes": ["cash_back", "improve_credit"]},
            "financialInformation": {"employmentStatus": "employed_full_time"},
            "educationInformation": {"educationLevel": "doctorate"}
        }"#;
        let faults = Lead::read(body).unwrap().v1_faults();
        let paths: Vec<_> = faults.iter().filter_map(|fault| fault.attribute.as_deref()).collect();
        let expected = [
            "productTypes[1]",
            "productTypes[2]",
            "personalInformation.educationLevel",
            "loanInformation.purpose",
            "creditCardInformation.cardBenefits[0]",
            "financialInformation.employmentStatus",
            "educationInformation.educationLevel",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn a_v1_lead_has_no_faults() {
        let body = br#"{
            "productTypes": ["loan", "savings"],
            "personalInformation": {"educationLevel": "bachelors"},
            "loanInformation": {"purpose": "auto_purchase"}
        }"#;
        assert_eq!(Lead::read(body).unwrap().v1_faults(), []);
    }
}
