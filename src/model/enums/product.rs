//! What is asked for and offered: products, loans, terms, accounts.

use crate::model::enumeration::enumeration;

enumeration! {
    /// A kind of financial product that a lead can ask for. Those after `other` are asked for only by who names them.
    ProductType {
        CreditCard, Insurance, LifeInsurance, Loan, Mortgage, Savings, Other,
    } beyond the specification {
        Generic, AutoInsurance, Unknown,
    }

    /// The finer kind of an offered product. Those after `whole_life` stand at special offers; at others, for who knows them.
    ProductSubType {
        CreditCard, SecuredCard, PersonalLoan, SecuredLoan, StudentLoanRefinance, CoApplicantLoan,
        LineOfCredit, Purchase, Refinance, SavingsAccount, MoneyMarketAccount, CertificateOfDeposit,
        IndividualRetirementAccount, CashManagementAccount, HighInterestChecking, AccidentalDeathBenefits,
        TermLife, TermLifeInstant, WholeLife,
    } beyond the specification {
        AutomobileRefinance, HomeEquityLineOfCredit, Checking, DebtRelief, InstallmentLoans, CreditBuilder,
        CashAdvance, CreditRepair, EducationOffers, EmploymentOpportunity, FinancialWellness, DirectAffiliate,
        OverdraftProtection, RevenueBasedFinancing, Uncategorized, StudentCard, BillReduction,
        InstallmentLoanMoreOffers, CreditCardMoreOffers, CreditRepairMoreOffers, StudentLoan, Health,
        AutoAndVehicle, Games, Home, Rewards, LifeInsurance, AutoInsurance, SpecialtyVehicleInsurance,
        HomeOwnersInsurance, RentersInsurance, BuyNowPayLater, HomeEquityAgreements, CashAdvanceMoneylion,
        Unknown,
    }

    /// What the borrowed money is for.
    LoanPurpose {
        AutoPurchase, AutoRefinance, Baby, Boat, Business, CarRepair, Cosmetic, CreditCardRefi,
        DebtConsolidation, Emergency, Engagement, Green, HomeImprovement, HomePurchase, HomeRefi,
        HouseholdExpenses, LargePurchases, LifeEvent, MedicalDental, Motorcycle, MovingRelocation, Rv,
        SpecialOccasion, StudentLoan, StudentLoanRefi, Taxes, Vacation, Wedding, Other,
    }

    /// Who stands behind a student loan that is to be refinanced.
    RefinanceLoanType {
        FederalStudentLoan, PrivateStudentLoan,
    }

    /// How the annual rate of a loan behaves over its term.
    AprType {
        Variable, Regular, Fixed,
    }

    /// The unit in which a term is counted.
    TermUnit {
        Day, Month, Year,
        /// The term has no fixed end, as with a line of credit.
        Open,
    }

    /// The kind of account that a lead has with a bank.
    BankAccountType {
        Checking, Savings, Other,
    }

    /// How often earned interest is added to the balance.
    CompoundingMethod {
        Annually, Continuous, Daily, Monthly, Quarterly, SemiAnnually = "semiAnnually", Simple, Weekly,
    }

    /// Who insures deposits, by federal law; not in the specification.
    FederalInsuranceType {
        /// Of banks.
        Fdic,
        /// Of credit unions.
        Ncua,
    }

    /// What an incentive is counted in; not in the specification.
    IncentiveUnit {
        Usd, Other,
    }

    /// What is given for opening an account; not in the specification.
    IncentiveType {
        CashBack, Other,
    }
}

impl ProductType {
    /// Whether its offers are special offers.
    pub const fn is_special(self) -> bool {
        !matches!(self, Self::CreditCard | Self::Loan | Self::Mortgage | Self::Savings)
    }
}
