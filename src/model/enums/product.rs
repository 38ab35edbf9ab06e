//! What is asked for and offered: products, loans, terms, accounts.

use crate::model::enumeration::enumeration;

enumeration! {
    /// A kind of financial product that a lead can ask for. Those after `other` are asked for only by who names them.
    ProductType {
        CreditCard = "credit_card",
        Insurance = "insurance",
        LifeInsurance = "life_insurance",
        Loan = "loan",
        Mortgage = "mortgage",
        Savings = "savings",
        Other = "other",
        // From here on not in the specification.
        Generic = "generic",
        AutoInsurance = "auto_insurance",
        Unknown = "unknown",
    }
}

impl ProductType {
    /// The product types of the specification, which a lead asks for that names none.
    pub const SPECIFIED: &'static [Self] = Self::ALL.split_at(Self::Generic as usize).0;

    /// Whether the specification has it.
    pub const fn is_specified(self) -> bool {
        (self as u16) < Self::Generic as u16
    }

    /// Whether its offers are special offers.
    pub const fn is_special(self) -> bool {
        !matches!(self, Self::CreditCard | Self::Loan | Self::Mortgage | Self::Savings)
    }
}

enumeration! {
    /// The finer kind of an offered product. Those after `whole_life` stand at special offers; at others, for who knows them.
    ProductSubType {
        CreditCard = "credit_card",
        SecuredCard = "secured_card",
        PersonalLoan = "personal_loan",
        SecuredLoan = "secured_loan",
        StudentLoanRefinance = "student_loan_refinance",
        CoApplicantLoan = "co_applicant_loan",
        LineOfCredit = "line_of_credit",
        Purchase = "purchase",
        Refinance = "refinance",
        SavingsAccount = "savings_account",
        MoneyMarketAccount = "money_market_account",
        CertificateOfDeposit = "certificate_of_deposit",
        IndividualRetirementAccount = "individual_retirement_account",
        CashManagementAccount = "cash_management_account",
        HighInterestChecking = "high_interest_checking",
        AccidentalDeathBenefits = "accidental_death_benefits",
        TermLife = "term_life",
        TermLifeInstant = "term_life_instant",
        WholeLife = "whole_life",
        // From here on not in the specification.
        AutomobileRefinance = "automobile_refinance",
        HomeEquityLineOfCredit = "home_equity_line_of_credit",
        Checking = "checking",
        DebtRelief = "debt_relief",
        InstallmentLoans = "installment_loans",
        CreditBuilder = "credit_builder",
        CashAdvance = "cash_advance",
        CreditRepair = "credit_repair",
        EducationOffers = "education_offers",
        EmploymentOpportunity = "employment_opportunity",
        FinancialWellness = "financial_wellness",
        DirectAffiliate = "direct_affiliate",
        OverdraftProtection = "overdraft_protection",
        RevenueBasedFinancing = "revenue_based_financing",
        Uncategorized = "uncategorized",
        StudentCard = "student_card",
        BillReduction = "bill_reduction",
        InstallmentLoanMoreOffers = "installment_loan_more_offers",
        CreditCardMoreOffers = "credit_card_more_offers",
        CreditRepairMoreOffers = "credit_repair_more_offers",
        StudentLoan = "student_loan",
        Health = "health",
        AutoAndVehicle = "auto_and_vehicle",
        Games = "games",
        Home = "home",
        Rewards = "rewards",
        LifeInsurance = "life_insurance",
        AutoInsurance = "auto_insurance",
        SpecialtyVehicleInsurance = "specialty_vehicle_insurance",
        HomeOwnersInsurance = "home_owners_insurance",
        RentersInsurance = "renters_insurance",
        BuyNowPayLater = "buy_now_pay_later",
        HomeEquityAgreements = "home_equity_agreements",
        CashAdvanceMoneylion = "cash_advance_moneylion",
        Unknown = "unknown",
    }
}

impl ProductSubType {
    /// Whether the specification has it.
    pub const fn is_specified(self) -> bool {
        self as u16 <= Self::WholeLife as u16
    }
}

enumeration! {
    /// What the borrowed money is for.
    LoanPurpose {
        AutoPurchase = "auto_purchase",
        AutoRefinance = "auto_refinance",
        Baby = "baby",
        Boat = "boat",
        Business = "business",
        CarRepair = "car_repair",
        Cosmetic = "cosmetic",
        CreditCardRefi = "credit_card_refi",
        DebtConsolidation = "debt_consolidation",
        Emergency = "emergency",
        Engagement = "engagement",
        Green = "green",
        HomeImprovement = "home_improvement",
        HomePurchase = "home_purchase",
        HomeRefi = "home_refi",
        HouseholdExpenses = "household_expenses",
        LargePurchases = "large_purchases",
        LifeEvent = "life_event",
        MedicalDental = "medical_dental",
        Motorcycle = "motorcycle",
        MovingRelocation = "moving_relocation",
        Rv = "rv",
        SpecialOccasion = "special_occasion",
        StudentLoan = "student_loan",
        StudentLoanRefi = "student_loan_refi",
        Taxes = "taxes",
        Vacation = "vacation",
        Wedding = "wedding",
        Other = "other",
    }
}

enumeration! {
    /// Who stands behind a student loan that is to be refinanced.
    RefinanceLoanType {
        FederalStudentLoan = "federal_student_loan",
        PrivateStudentLoan = "private_student_loan",
    }
}

enumeration! {
    /// How the annual rate of a loan behaves over its term.
    AprType {
        Variable = "variable",
        Regular = "regular",
        Fixed = "fixed",
    }
}

enumeration! {
    /// The unit in which a term is counted.
    TermUnit {
        Day = "day",
        Month = "month",
        Year = "year",
        /// The term has no fixed end, as with a line of credit.
        Open = "open",
    }
}

enumeration! {
    /// The kind of account that a lead has with a bank.
    BankAccountType {
        Checking = "checking",
        Savings = "savings",
        Other = "other",
    }
}

enumeration! {
    /// How often earned interest is added to the balance.
    CompoundingMethod {
        Annually = "annually",
        Continuous = "continuous",
        Daily = "daily",
        Monthly = "monthly",
        Quarterly = "quarterly",
        SemiAnnually = "semiAnnually",
        Simple = "simple",
        Weekly = "weekly",
    }
}

enumeration! {
    /// Who insures deposits, by federal law; not in the specification.
    FederalInsuranceType {
        /// Of banks.
        Fdic = "fdic",
        /// Of credit unions.
        Ncua = "ncua",
    }
}

enumeration! {
    /// What an incentive is counted in; not in the specification.
    IncentiveUnit {
        Usd = "usd",
        Other = "other",
    }
}

enumeration! {
    /// What is given for opening an account; not in the specification.
    IncentiveType {
        CashBack = "cash_back",
        Other = "other",
    }
}
