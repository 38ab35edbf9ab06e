//! What is asked for and offered: products, loans, terms, accounts, credit cards, mortgages, and life insurance, whose sets are not in the
//! specification.

use crate::enumeration::enumeration;

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

    /// What a credit card is wanted for, or good for.
    CardPurpose {
        BalanceTransfer, CashBack, EarningRewards, ImproveCredit, LowInterest, NewToCredit, Student,
        TravelIncentives,
    }

    /// The network that a credit card belongs to.
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

    /// Whether a doctor looks at who is to be insured.
    MedicalExam {
        /// None for who answers the questions on health well.
        NoExamIfQualified,
        NoExamGuaranteed, ExamRequired,
    }

    /// How much a policy covers beside death.
    PackageType {
        Basic, Essential, Elite,
    }

    /// What a mortgage pays for.
    MortgageType {
        Purchase, Refinance,
    }

    /// Term and rate behaviour of a mortgage.
    MortgageLoanType {
        FifteenYearFixed, ThirtyYearFixed, FiveOneAdjustable, SevenOneAdjustable, TenOneAdjustable,
    } beyond the specification {
        TenYearFixed, TwentyYearFixed, FortyYearFixed, ThreeYearIntro = "three_year_intro_30_year_adjustable",
        FiveYearIntro = "five_year_intro_30_year_adjustable",
        SevenYearIntro = "seven_year_intro_30_year_adjustable",
        TenYearIntro = "ten_year_intro_30_year_adjustable",
    }

    /// Whether closing costs are shifted into or out of the rate.
    MortgageAdjustmentType {
        /// The lender pays part of the closing costs for a higher rate.
        Credits,
        /// Nothing, or nearly nothing, is shifted.
        Par,
        /// The borrower pays points for a lower rate.
        Points,
    }

    /// How the borrower uses the property.
    OccupancyType {
        Primary, Secondary, Investment,
    }

    /// How far the search for a property has come.
    PropertySearchStatus {
        Found, NotFound,
    }

    /// How the lead holds the home they live in.
    PropertyStatus {
        OwnOutright, OwnWithMortgage, Rent,
    }

    /// The kind of building.
    PropertyType {
        Rent, Condo, MultiUnit, SingleFamily, Townhouse,
    }

    /// How far the purchase of a found property has come.
    PurchaseStatus {
        NoOffer, OfferAccepted, OfferPending, UnderContract,
    }

    /// What a mortgage refinance is after: cash, or better terms.
    RefinanceType {
        CashOut, RateTerm,
    }

    /// Credit in the bands of a pricing engine for mortgages; not in the specification.
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
