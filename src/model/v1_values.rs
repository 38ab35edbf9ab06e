//! The smaller sets of values of the v1 edition, and the nearest v1 value of each value that v1 lacks.

use super::enums::{CardPurpose, EducationLevel, EmploymentStatus, LoanPurpose, ProductType, TermUnit};

impl ProductType {
    /// The product types that a v1 lead can ask for.
    pub const V1: &'static [Self] = &[Self::CreditCard, Self::Loan, Self::Mortgage, Self::Savings];
}

impl LoanPurpose {
    /// The purposes that both editions write the same: all but the first two, which are for cars.
    pub const V1: &'static [Self] = Self::ALL.split_at(2).1;
    /// The v1 value of both purposes for cars.
    pub const V1_AUTO: &'static str = "auto";

    /// The v1 value of the purpose.
    pub const fn as_v1_str(self) -> &'static str {
        match self {
            Self::AutoPurchase | Self::AutoRefinance => Self::V1_AUTO,
            other => other.as_str(),
        }
    }
}

impl EducationLevel {
    /// The levels of v1.
    pub const V1: &'static [Self] = &[
        Self::Associate,
        Self::Bachelors,
        Self::HighSchool,
        Self::Masters,
        Self::Other,
        Self::OtherGradDegree,
    ];

    /// The nearest v1 level.
    pub const fn nearest_in_v1(self) -> Self {
        match self {
            Self::Doctorate => Self::OtherGradDegree,
            Self::Certificate | Self::DidNotGraduate | Self::StillEnrolled => Self::Other,
            known => known,
        }
    }
}

impl EmploymentStatus {
    /// The employment statuses of v1.
    pub const V1: &'static [Self] =
        &[Self::Employed, Self::Military, Self::NotEmployed, Self::SelfEmployed, Self::Retired, Self::Other];

    /// The nearest v1 status: v1 does not distinguish full-time from part-time.
    pub const fn nearest_in_v1(self) -> Self {
        match self {
            Self::EmployedFullTime | Self::EmployedPartTime => Self::Employed,
            known => known,
        }
    }
}

impl TermUnit {
    /// The units of v1.
    pub const V1: &'static [Self] = &[Self::Day, Self::Month, Self::Year];

    /// The nearest v1 unit: an open term is paid monthly.
    pub const fn nearest_in_v1(self) -> Self {
        match self {
            Self::Open => Self::Month,
            known => known,
        }
    }
}

impl CardPurpose {
    /// The purposes of v1, which calls them benefits.
    pub const V1: &'static [Self] =
        &[Self::BalanceTransfer, Self::EarningRewards, Self::ImproveCredit, Self::TravelIncentives];

    /// The nearest v1 purpose, if any.
    pub const fn nearest_in_v1(self) -> Option<Self> {
        match self {
            Self::CashBack => Some(Self::EarningRewards),
            Self::NewToCredit => Some(Self::ImproveCredit),
            Self::LowInterest | Self::Student => None,
            known => Some(known),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_writes_both_purposes_for_cars_as_auto() {
        assert_eq!(LoanPurpose::ALL[..2], [LoanPurpose::AutoPurchase, LoanPurpose::AutoRefinance]);
        for &purpose in LoanPurpose::ALL {
            let alike = LoanPurpose::V1.contains(&purpose);
            assert_eq!(purpose.as_v1_str(), if alike { purpose.as_str() } else { "auto" });
        }
    }

    #[test]
    fn the_nearest_value_is_one_of_v1_and_its_own_nearest() {
        for level in EducationLevel::ALL.iter().map(|level| level.nearest_in_v1()) {
            assert!(EducationLevel::V1.contains(&level) && level.nearest_in_v1() == level, "{level}");
        }
        for status in EmploymentStatus::ALL.iter().map(|status| status.nearest_in_v1()) {
            assert!(EmploymentStatus::V1.contains(&status) && status.nearest_in_v1() == status, "{status}");
        }
        for unit in TermUnit::ALL.iter().map(|unit| unit.nearest_in_v1()) {
            assert!(TermUnit::V1.contains(&unit) && unit.nearest_in_v1() == unit, "{unit}");
        }
        for purpose in CardPurpose::ALL.iter().filter_map(|purpose| purpose.nearest_in_v1()) {
            assert!(
                CardPurpose::V1.contains(&purpose) && purpose.nearest_in_v1() == Some(purpose),
                "{purpose}"
            );
        }
    }
}
