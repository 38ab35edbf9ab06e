//! The sections of a lead, in the order of the specification.

mod auto_insurance;
mod co_applicant;
mod credit;
mod credit_card;
mod education;
mod employment;
mod financial;
mod health;
mod identification;
mod legal;
mod loan;
mod mortgage;
mod personal;
mod personal_reference;
mod refinance_loan;
mod savings;
mod session;
mod vehicle;

pub use auto_insurance::LeadAutoInsuranceInformation;
pub use co_applicant::LeadCoApplicantInformation;
pub use credit::LeadCreditInformation;
pub use credit_card::LeadCreditCardInformation;
pub use education::LeadEducationInformation;
pub use employment::LeadEmploymentInformation;
pub use financial::LeadFinancialInformation;
pub use health::LeadHealthInformation;
pub use identification::LeadIdentificationInformation;
pub use legal::LeadLegalInformation;
pub use loan::LeadLoanInformation;
pub use mortgage::LeadMortgageInformation;
pub use personal::LeadPersonalInformation;
pub use personal_reference::PersonalReferenceInformation;
pub use refinance_loan::RefinanceLoanInformation;
pub use savings::LeadSavingsInformation;
pub use session::LeadSessionInformation;
pub use vehicle::VehicleInformation;
