//! What a lead asks for, and what it is about: loans, cards, accounts, the house, the car.

use chrono::NaiveDate;
use uuid::Uuid;

use crate::enums::{
    CardPurpose, LoanPurpose, MortechCreditRating, MortgageLoanType, MortgageType, OccupancyType,
    PropertySearchStatus, PropertyStatus, PropertyType, PurchaseStatus, RefinanceLoanType, RefinanceType,
    State,
};
use crate::free_form::JsonObject;
use crate::input_kinds::Element;
use crate::section::section;
use crate::text_format::Zipcode;

section! {
    /// What a loan is wanted for, and how much of it.
    LeadLoanInformation at lead.loan_information = "loanInformation" {
        /// What the money is for.
        purpose: LoanPurpose = "purpose",
        /// How many dollars to borrow.
        loan_amount: i32 = "loanAmount" within DOLLARS,
    }

    /// A purchase or refinance that a mortgage is wanted for. Amounts are dollars.
    LeadMortgageInformation at lead.mortgage_information = "mortgageInformation" {
        /// The kind of building.
        property_type: PropertyType = "propertyType",
        /// How the lead holds their home.
        property_status: PropertyStatus = "propertyStatus",
        /// Purchase or refinance.
        mortgage_type: MortgageType = "mortgageType",
        /// How the property is to be used.
        occupancy_type: OccupancyType = "occupancyType",
        /// What a refinance is after.
        refinance_type: RefinanceType = "refinanceType",
        /// Whether a property has been found.
        property_search_status: PropertySearchStatus = "propertySearchStatus",
        /// How far the purchase has come.
        purchase_status: PurchaseStatus = "purchaseStatus",
        /// What the property is worth.
        property_value: i32 = "propertyValue" within DOLLARS,
        /// What is still owed on it.
        mortgage_balance: i32 = "mortgageBalance" within DOLLARS,
        /// What is to be borrowed.
        mortgage_amount: i32 = "mortgageAmount" within DOLLARS,
        /// What the lead pays themselves.
        down_payment_amount: i32 = "downPaymentAmount" within DOLLARS,
        /// How much of the present mortgage is to be replaced.
        refinance_amount: i32 = "refinanceAmount" within DOLLARS,
        /// What is borrowed on top against equity.
        cash_out_amount: i32 = "cashOutAmount" within DOLLARS,
        /// How many legal units the property has.
        num_units: i32 = "numUnits" within COUNT,
        /// Who lent the present mortgage.
        lender_name: String = "lenderName",
        /// State in which the property lies.
        property_state: String = "propertyState",
        /// County in which the property lies.
        property_county: String = "propertyCounty",
        /// Street and house number of the property.
        property_address1: String = "propertyAddress1" as personal,
        /// What the street line leaves out.
        property_address2: String = "propertyAddress2" as personal,
        /// Postal code of the property.
        property_zipcode: Zipcode = "propertyZipcode",
        /// Town in which the property lies.
        property_city: String = "propertyCity",
        /// Who services the present mortgage.
        mortgage_company: String = "mortgageCompany",
        /// Whether the present mortgage is insured by the FHA.
        has_fha_loan: bool = "hasFHALoan",
        /// Whether all instalments so far are paid.
        current_with_loan: bool = "currentWithLoan",
        /// When the purchase closes.
        closing_date: NaiveDate = "closingDate",
        /// When the property was bought.
        purchase_date: NaiveDate = "purchaseDate",
        /// What the owners' association takes each month.
        monthly_hoa_fee: f64 = "monthlyHoaFee" within DOLLARS_AND_CENTS,
        /// What goes into escrow each month.
        mortgage_escrow_amount: f64 = "mortgageEscrowAmount" within DOLLARS_AND_CENTS,
        /// Whether loans insured by the FHA are welcome; not in the specification, as all that follows.
        include_fha_loans: bool = "includeFhaLoans",
        /// Whether loans guaranteed by the VA are welcome.
        include_va_loans: bool = "includeVaLoans",
        /// The terms wanted.
        requested_loan_terms: Vec<MortgageLoanType> = "requestedLoanTerms",
        /// Credit in the bands of a pricing engine.
        mortech_credit_rating: MortechCreditRating = "mortechCreditRating",
    }

    /// What the lead looks for in a credit card.
    LeadCreditCardInformation at lead.credit_card_information = "creditCardInformation" {
        /// Whether a card with an annual fee is welcome.
        allow_annual_fee: bool = "allowAnnualFee",
        /// What the card is wanted for; v1 calls the field `cardBenefits`.
        card_purposes: Vec<CardPurpose> = "cardPurposes",
    }

    /// What the lead looks for in a savings product.
    LeadSavingsInformation at lead.savings_information = "savingsInformation" {
        /// The least number of dollars that the lead would deposit.
        min_deposit_amount: i64 = "minDepositAmount" within SAVINGS,
        /// The greatest number of them; not in the specification.
        max_deposit_amount: i64 = "maxDepositAmount" within SAVINGS,
    }

    /// One present loan of the lead.
    RefinanceLoanInformation {
        /// Number of the loan account.
        account_number: String = "accountNumber" as personal,
        /// Whether instalments follow the income.
        income_based_repayment: bool = "incomeBasedRepayment",
        /// Present interest rate, in percent.
        interest_rate: f64 = "interestRate" within RATE,
        /// How many dollars are still owed.
        loan_amount: i32 = "loanAmount" within DOLLARS,
        /// Who collects the instalments.
        loan_servicer: String = "loanServicer",
        /// Who stands behind the loan.
        loan_type: RefinanceLoanType = "loanType",
        /// The next instalment, in dollars.
        next_payment_amount: f64 = "nextPaymentAmount" within DOLLARS_AND_CENTS,
        /// When it is due.
        next_payment_date: NaiveDate = "nextPaymentDate",
    }

    /// The cars to be insured, and who drives them. What nobody has settled the fields of is kept as it comes.
    LeadAutoInsuranceInformation at lead.auto_insurance_information = "autoInsuranceInformation" {
        /// How many cars.
        number_of_vehicles: i32 = "numberOfVehicles" within COUNT,
        /// Whether they are insured now.
        has_auto_insurance: bool = "hasAutoInsurance",
        /// Who insures them now.
        prior_carrier_information: JsonObject = "priorCarrierInformation",
        /// When the new policy starts.
        policy_effective_date: NaiveDate = "policyEffectiveDate",
        /// What is to be covered.
        coverage_information: JsonObject = "coverageInformation",
        /// Where the cars stand.
        garage_information: JsonObject = "garageInformation",
        /// The cars.
        vehicles_information: Vec<JsonObject> = "vehiclesInformation",
        /// Who drives them.
        drivers_information: Vec<JsonObject> = "driversInformation",
    }

    // The specification defines it; that a lead has it stands in newer editions only.
    /// The vehicle that a loan is about.
    VehicleInformation at lead.vehicle_information = "vehicleInformation" {
        /// The present instalment of a month, in dollars.
        monthly_payment: i32 = "monthlyPayment" within DOLLARS,
        /// How far it has gone, in miles.
        estimated_mileage: i32 = "estimatedMileage" within MILES,
        /// The number that its maker gave it.
        vehicle_identification_number: String = "vehicleIdentificationNumber" within VIN as personal,
        /// The number on its plate.
        license_plate_number: String = "licensePlateNumber" within PLATE as personal,
        /// The state on its plate.
        license_plate_state: State = "licensePlateState",
        /// Which it is, as the look-up of trims names it.
        vehicle_uuid: Uuid = "vehicleUuid",
    }
}

impl Element for RefinanceLoanInformation {}
