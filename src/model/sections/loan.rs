//! The loan wanted.

use crate::model::enums::LoanPurpose;
use crate::model::section::section;

section! {
    /// What a loan is wanted for, and how much of it.
    LeadLoanInformation at lead.loan_information = "loanInformation" {
        /// What the money is for.
        purpose: LoanPurpose = "purpose",
        /// How many dollars to borrow.
        loan_amount: i32 = "loanAmount" within DOLLARS,
    }
}
