//! What leads ask for and partners offer: products, loans, terms, accounts, credit cards, mortgages, and life
//! insurance, whose sets are not in the specification.

use crate::enumeration::enumeration;

enumeration! {
    /// A type of financial product that a lead can ask for. Those after `other` are included only if the lead
    /// names them.
    ProductType {
        CreditCard, Insurance, LifeInsurance, Loan, Mortgage, Savings, Other,
    } beyond the specification {
        Generic, AutoInsurance, Unknown,
    }

    /// A product subtype. Those after `whole_life` occur only with `API-Version` or a newer value in the lead;
    /// special offers have those up to `uncategorized` without it too.
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

    /// The purpose of a loan.
    LoanPurpose {
        AutoPurchase, AutoRefinance, Baby, Boat, Business, CarRepair, Cosmetic, CreditCardRefi,
        DebtConsolidation, Emergency, Engagement, Green, HomeImprovement, HomePurchase, HomeRefi,
        HouseholdExpenses, LargePurchases, LifeEvent, MedicalDental, Motorcycle, MovingRelocation, Rv,
        SpecialOccasion, StudentLoan, StudentLoanRefi, Taxes, Vacation, Wedding, Other,
    }

    /// The type of a student loan to refinance.
    RefinanceLoanType {
        FederalStudentLoan, PrivateStudentLoan,
    }

    /// The type of a loan's annual rate.
    AprType {
        Variable, Regular, Fixed,
    }

    /// The unit of a term.
    TermUnit {
        Day, Month, Year,
        /// A term without a fixed end, as for a line of credit.
        Open,
    }

    /// The type of a bank account.
    BankAccountType {
        Checking, Savings, Other,
    }

    /// How often interest is compounded.
    CompoundingMethod {
        Annually, Continuous, Daily, Monthly, Quarterly, SemiAnnually = "semiAnnually", Simple, Weekly,
    }

    /// The federal insurer of deposits; not in the specification.
    FederalInsuranceType {
        /// Insures banks.
        Fdic,
        /// Insures credit unions.
        Ncua,
    }

    /// The unit of an incentive; not in the specification.
    IncentiveUnit {
        Usd, Other,
    }

    /// The kind of an incentive for opening an account; not in the specification.
    IncentiveType {
        CashBack, Other,
    }

    /// The purpose of a credit card.
    CardPurpose {
        BalanceTransfer, CashBack, EarningRewards, ImproveCredit, LowInterest, NewToCredit, Student,
        TravelIncentives,
    }

    /// The network of a credit card.
    CardType {
        Visa, Mastercard, AmericanExpress, Discover,
    }

    /// The currency of a welcome bonus.
    IntroOfferType {
        Miles, Points, StatementCredit,
    }

    /// How long an insurer takes to decide.
    CarrierDecisionType {
        Instant, NonInstant,
    }

    /// Whether a medical exam is required.
    MedicalExam {
        /// None if the answers to the health questions qualify.
        NoExamIfQualified,
        NoExamGuaranteed, ExamRequired,
    }

    /// The extent of a policy's cover beyond death.
    PackageType {
        Basic, Essential, Elite,
    }

    /// The purpose of a mortgage.
    MortgageType {
        Purchase, Refinance,
    }

    /// The term and the rate type of a mortgage.
    MortgageLoanType {
        FifteenYearFixed, ThirtyYearFixed, FiveOneAdjustable, SevenOneAdjustable, TenOneAdjustable,
    } beyond the specification {
        TenYearFixed, TwentyYearFixed, FortyYearFixed, ThreeYearIntro = "three_year_intro_30_year_adjustable",
        FiveYearIntro = "five_year_intro_30_year_adjustable",
        SevenYearIntro = "seven_year_intro_30_year_adjustable",
        TenYearIntro = "ten_year_intro_30_year_adjustable",
    }

    /// Whether closing costs are moved into or out of the rate.
    MortgageAdjustmentType {
        /// The lender pays part of the closing costs for a higher rate.
        Credits,
        /// Little or nothing is moved.
        Par,
        /// The borrower pays points for a lower rate.
        Points,
    }

    /// How the borrower uses the property.
    OccupancyType {
        Primary, Secondary, Investment,
    }

    /// Whether a property has been found.
    PropertySearchStatus {
        Found, NotFound,
    }

    /// How a person owns or rents their home.
    PropertyStatus {
        OwnOutright, OwnWithMortgage, Rent,
    }

    /// The kind of building.
    PropertyType {
        Rent, Condo, MultiUnit, SingleFamily, Townhouse,
    }

    /// The state of a purchase of a found property.
    PurchaseStatus {
        NoOffer, OfferAccepted, OfferPending, UnderContract,
    }

    /// The goal of a mortgage refinance: cash, or better terms.
    RefinanceType {
        CashOut, RateTerm,
    }

    /// Credit ratings in the bands of a mortgage pricing engine; not in the specification.
    MortechCreditRating {
        From780 = "Excellent (780-850)", From760 = "Excellent (760-779)", From740 = "Excellent (740-759)",
        From720 = "Good (720-739)", From700 = "Good (700-719)", From680 = "Fair (680-699)",
        From660 = "Fair (660-679)", From640 = "Poor (640-659)", From620 = "Poor (620-639)",
        From580 = "Poor (580-619)", Under580 = "Poor (Under 580)",
    }
}

impl ProductType {
    /// Whether its offers are special offers.
    pub const fn is_special(self) -> bool {
        !matches!(self, Self::CreditCard | Self::Loan | Self::Mortgage | Self::Savings)
    }
}
