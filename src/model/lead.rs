//! What a client submits: a person and what they look for.

use chrono::NaiveDate;
use uuid::Uuid;

use super::enums::ProductType;
use super::free_form::ClientTags;
use super::input::{self, Unreadable};
use super::section::section;
use super::sections::*;

section! {
    /// A lead as it is submitted (specification: LeadCreateData). No field is ever required.
    Lead at lead as "LeadCreateData" {
        /// The products wanted; none means all of them that the specification has.
        product_types: Vec<ProductType> = "productTypes",
        /// The id that the client gives the lead.
        uuid: Uuid = "uuid",
        /// Links the leads of one user's visit, across products; comes from a session start.
        session_uuid: Uuid = "sessionUuid",
        /// Who the lead is and where to reach them.
        personal_information: LeadPersonalInformation = "personalInformation",
        /// Someone who knows the lead.
        personal_reference_information: PersonalReferenceInformation = "personalReferenceInformation",
        /// The loan wanted.
        loan_information: LeadLoanInformation = "loanInformation",
        /// The mortgage wanted and the property behind it.
        mortgage_information: Box<LeadMortgageInformation> = "mortgageInformation",
        /// What a credit card should be good for.
        credit_card_information: LeadCreditCardInformation = "creditCardInformation",
        /// What the lead would save.
        savings_information: LeadSavingsInformation = "savingsInformation",
        /// How good the lead's credit is.
        credit_information: LeadCreditInformation = "creditInformation",
        /// Income, debt, assets and the bank.
        financial_information: LeadFinancialInformation = "financialInformation",
        /// The employer and the job.
        employment_information: Box<LeadEmploymentInformation> = "employmentInformation",
        /// What the lead has agreed to.
        legal_information: LeadLegalInformation = "legalInformation",
        /// Schools and degrees.
        education_information: LeadEducationInformation = "educationInformation",
        /// The person who borrows together with the lead.
        co_applicant_information: Box<LeadCoApplicantInformation> = "coApplicantInformation",
        /// What life insurers ask about the body.
        health_information: LeadHealthInformation = "healthInformation",
        /// The document that identifies the lead.
        identification_information: LeadIdentificationInformation = "identificationInformation",
        /// Loans to be refinanced or put together.
        refinance_loans: Vec<RefinanceLoanInformation> = "refinanceLoans",
        /// The client's own marks on the lead.
        client_tags: ClientTags = "clientTags",
        /// The browser in which the form was filled in.
        session_information: LeadSessionInformation = "sessionInformation",
        /// Whether the lead filled in an application form to its end.
        form_completed: bool = "formCompleted",
        /// The company that referred the lead.
        referral_company_uuid: Uuid = "referralCompanyUuid",
        /// Internal tracking; clients leave it alone.
        tracking_uuid: Uuid = "trackingUuid",
        /// The device, as today's clients name it; not in the specification.
        device_id: String = "deviceId" as personal,
        /// The user, as today's clients name them; not in the specification.
        partner_user_id: String = "partnerUserId" as personal,
        /// The FCRA consent text, where clients sent it before it stood with the other consents; not in the specification.
        fcra_language: String = "fcraLanguage",
        /// The car insurance wanted; not in the specification.
        auto_insurance_information: Box<LeadAutoInsuranceInformation> = "autoInsuranceInformation",
        /// The vehicle that a loan is about.
        vehicle_information: Box<VehicleInformation> = "vehicleInformation",
    }
}

impl Lead {
    /// Reads a request body; a refusal names every fault.
    pub fn read(body: &[u8]) -> Result<Self, Unreadable> {
        input::read(body)
    }

    /// Reads a request body that came on this day; nobody was born after it.
    pub fn read_on(today: NaiveDate, body: &[u8]) -> Result<Self, Unreadable> {
        input::read_on(today, body)
    }

    /// Whether it asks for a product type; one that names none asks for all that the specification has.
    pub fn asks_for(&self, product_type: ProductType) -> bool {
        let named = self.product_types.as_deref().unwrap_or_default();
        if named.is_empty() { product_type.is_specified() } else { named.contains(&product_type) }
    }

    /// Whether it has a value that the specification lacks, of an enumeration that the specification has.
    pub fn has_newer_values(&self) -> bool {
        let types = self.product_types.iter().flatten();
        let terms =
            self.mortgage_information.as_ref().and_then(|mortgage| mortgage.requested_loan_terms.as_ref());
        types.into_iter().any(|product_type| !product_type.is_specified())
            || terms.into_iter().flatten().any(|term| !term.is_specified())
    }
}

/// A lead as clients send it.
#[cfg(test)]
pub(super) const SAMPLE: &[u8] = include_bytes!("testdata/lead.json");

/// A lead that gives every attribute there is.
#[cfg(test)]
pub(super) const FULL_SAMPLE: &[u8] = include_bytes!("testdata/full_lead.json");

#[cfg(test)]
mod tests;
