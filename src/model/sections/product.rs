//! The requested products: loans, cards, savings accounts, mortgages, car insurance and vehicles.

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
    /// The purpose and amount of the requested loan.
    LeadLoanInformation at lead.loan_information = "loanInformation" {
        /// The purpose of the loan.
        purpose: LoanPurpose = "purpose",
        /// The requested amount, in dollars.
        loan_amount: i32 = "loanAmount" within DOLLARS,
    }

    /// The purchase or refinance behind a mortgage. Amounts are in dollars.
    LeadMortgageInformation at lead.mortgage_information = "mortgageInformation" {
        /// The kind of building.
        property_type: PropertyType = "propertyType",
        /// How the person owns or rents their home.
        property_status: PropertyStatus = "propertyStatus",
        /// Purchase or refinance.
        mortgage_type: MortgageType = "mortgageType",
        /// The intended use of the property.
        occupancy_type: OccupancyType = "occupancyType",
        /// The goal of a refinance.
        refinance_type: RefinanceType = "refinanceType",
        /// Whether the person has found a property.
        property_search_status: PropertySearchStatus = "propertySearchStatus",
        /// The state of the purchase.
        purchase_status: PurchaseStatus = "purchaseStatus",
        /// The value of the property.
        property_value: i32 = "propertyValue" within DOLLARS,
        /// The balance of the current mortgage.
        mortgage_balance: i32 = "mortgageBalance" within DOLLARS,
        /// The requested mortgage amount.
        mortgage_amount: i32 = "mortgageAmount" within DOLLARS,
        /// The down payment.
        down_payment_amount: i32 = "downPaymentAmount" within DOLLARS,
        /// How much of the current mortgage to replace.
        refinance_amount: i32 = "refinanceAmount" within DOLLARS,
        /// The cash to take out against equity.
        cash_out_amount: i32 = "cashOutAmount" within DOLLARS,
        /// The number of legal units of the property.
        num_units: i32 = "numUnits" within COUNT,
        /// The lender of the current mortgage.
        lender_name: String = "lenderName",
        /// The state of the property.
        property_state: String = "propertyState",
        /// The county of the property.
        property_county: String = "propertyCounty",
        /// The street and house number of the property.
        property_address1: String = "propertyAddress1" as personal,
        /// The second address line.
        property_address2: String = "propertyAddress2" as personal,
        /// The postal code of the property.
        property_zipcode: Zipcode = "propertyZipcode",
        /// The city of the property.
        property_city: String = "propertyCity",
        /// The servicer of the current mortgage.
        mortgage_company: String = "mortgageCompany",
        /// Whether the current mortgage is insured by the FHA.
        has_fha_loan: bool = "hasFHALoan",
        /// Whether all payments so far have been made.
        current_with_loan: bool = "currentWithLoan",
        /// When the purchase closes.
        closing_date: NaiveDate = "closingDate",
        /// When the property was bought.
        purchase_date: NaiveDate = "purchaseDate",
        /// The monthly fee of the owners' association.
        monthly_hoa_fee: f64 = "monthlyHoaFee" within DOLLARS_AND_CENTS,
        /// The monthly escrow payment.
        mortgage_escrow_amount: f64 = "mortgageEscrowAmount" within DOLLARS_AND_CENTS,
        /// Whether to include FHA loans; not in the specification.
        include_fha_loans: bool = "includeFhaLoans",
        /// Whether to include VA loans; not in the specification.
        include_va_loans: bool = "includeVaLoans",
        /// The requested loan types; not in the specification.
        requested_loan_terms: Vec<MortgageLoanType> = "requestedLoanTerms",
        /// The credit rating, in the bands of a pricing engine; not in the specification.
        mortech_credit_rating: MortechCreditRating = "mortechCreditRating",
    }

    /// The preferred features of a credit card.
    LeadCreditCardInformation at lead.credit_card_information = "creditCardInformation" {
        /// Whether an annual fee is acceptable.
        allow_annual_fee: bool = "allowAnnualFee",
        /// The purposes of the card; v1 calls the field `cardBenefits`.
        card_purposes: Vec<CardPurpose> = "cardPurposes",
    }

    /// The requested savings product.
    LeadSavingsInformation at lead.savings_information = "savingsInformation" {
        /// The lowest amount that the person would deposit, in dollars.
        min_deposit_amount: i64 = "minDepositAmount" within SAVINGS,
        /// The highest amount, in dollars; not in the specification.
        max_deposit_amount: i64 = "maxDepositAmount" within SAVINGS,
    }

    /// One current loan of the person.
    RefinanceLoanInformation {
        /// The number of the loan account.
        account_number: String = "accountNumber" as personal,
        /// Whether repayment depends on income.
        income_based_repayment: bool = "incomeBasedRepayment",
        /// The current interest rate, in percent.
        interest_rate: f64 = "interestRate" within RATE,
        /// The balance, in dollars.
        loan_amount: i32 = "loanAmount" within DOLLARS,
        /// The servicer of the loan.
        loan_servicer: String = "loanServicer",
        /// The type of the loan.
        loan_type: RefinanceLoanType = "loanType",
        /// The next payment, in dollars.
        next_payment_amount: f64 = "nextPaymentAmount" within DOLLARS_AND_CENTS,
        /// When the next payment is due.
        next_payment_date: NaiveDate = "nextPaymentDate",
    }

    /// The cars to insure and their drivers. Objects without fixed fields are stored as sent.
    LeadAutoInsuranceInformation at lead.auto_insurance_information = "autoInsuranceInformation" {
        /// The number of cars.
        number_of_vehicles: i32 = "numberOfVehicles" within COUNT,
        /// Whether the cars are insured now.
        has_auto_insurance: bool = "hasAutoInsurance",
        /// The current insurer.
        prior_carrier_information: JsonObject = "priorCarrierInformation",
        /// When the new policy starts.
        policy_effective_date: NaiveDate = "policyEffectiveDate",
        /// The requested cover.
        coverage_information: JsonObject = "coverageInformation",
        /// Where the cars are kept.
        garage_information: JsonObject = "garageInformation",
        /// The cars.
        vehicles_information: Vec<JsonObject> = "vehiclesInformation",
        /// The drivers.
        drivers_information: Vec<JsonObject> = "driversInformation",
    }

    // The specification defines it, but only newer editions make it part of a lead.
    /// The vehicle of a loan.
    VehicleInformation at lead.vehicle_information = "vehicleInformation" {
        /// The current monthly payment, in dollars.
        monthly_payment: i32 = "monthlyPayment" within DOLLARS,
        /// The mileage, in miles.
        estimated_mileage: i32 = "estimatedMileage" within MILES,
        /// The vehicle identification number (VIN).
        vehicle_identification_number: String = "vehicleIdentificationNumber" within VIN as personal,
        /// The licence plate number.
        license_plate_number: String = "licensePlateNumber" within PLATE as personal,
        /// The state of the licence plate.
        license_plate_state: State = "licensePlateState",
        /// The vehicle's id from the look-up of trims.
        vehicle_uuid: Uuid = "vehicleUuid",
    }
}

impl Element for RefinanceLoanInformation {}
