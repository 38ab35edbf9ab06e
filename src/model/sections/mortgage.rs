//! The mortgage wanted and the property behind it.

use chrono::NaiveDate;

use crate::model::enums::{
    MortechCreditRating, MortgageLoanType, MortgageType, OccupancyType, PropertySearchStatus, PropertyStatus,
    PropertyType, PurchaseStatus, RefinanceType,
};
use crate::model::section::section;
use crate::model::zipcode::Zipcode;

section! {
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
}
