//! Leads: a person, and the products they look for.

use uuid::Uuid;

use super::enums::ProductType;
use super::fault::Arrival;
use super::free_form::ClientTags;
use super::input::{self, UnreadableBody};
use super::leniency::Leniency;
use super::section::section;
use super::sections::*;

section! {
    /// A lead as clients submit it (specification: LeadCreateData). All fields are optional.
    Lead at lead as "LeadCreateData" {
        /// The products that the lead asks for; none means the seven up to `other`.
        product_types: Vec<ProductType> = "productTypes",
        /// The lead's id, chosen by the client.
        uuid: Uuid = "uuid",
        /// Links the leads of one visit across products; comes from a session start.
        session_uuid: Uuid = "sessionUuid",
        /// The person and their contact data.
        personal_information: LeadPersonalInformation = "personalInformation",
        /// A personal reference.
        personal_reference_information: PersonalReferenceInformation = "personalReferenceInformation",
        /// The requested loan.
        loan_information: LeadLoanInformation = "loanInformation",
        /// The requested mortgage and its property.
        mortgage_information: Box<LeadMortgageInformation> = "mortgageInformation",
        /// The preferred features of a credit card.
        credit_card_information: LeadCreditCardInformation = "creditCardInformation",
        /// The requested savings product.
        savings_information: LeadSavingsInformation = "savingsInformation",
        /// The person's credit.
        credit_information: LeadCreditInformation = "creditInformation",
        /// Income, debt, assets and bank account.
        financial_information: LeadFinancialInformation = "financialInformation",
        /// The employer and the job.
        employment_information: Box<LeadEmploymentInformation> = "employmentInformation",
        /// The person's consents.
        legal_information: LeadLegalInformation = "legalInformation",
        /// Schools and degrees.
        education_information: LeadEducationInformation = "educationInformation",
        /// The co-applicant.
        co_applicant_information: Box<LeadCoApplicantInformation> = "coApplicantInformation",
        /// Health data for life insurers.
        health_information: LeadHealthInformation = "healthInformation",
        /// An identity document.
        identification_information: LeadIdentificationInformation = "identificationInformation",
        /// Loans to refinance or consolidate.
        refinance_loans: Vec<RefinanceLoanInformation> = "refinanceLoans",
        /// Tags that the client chooses.
        client_tags: ClientTags = "clientTags",
        /// The browser in which the form was filled in.
        session_information: LeadSessionInformation = "sessionInformation",
        /// Whether the person completed an application form.
        form_completed: bool = "formCompleted",
        /// The company that referred the lead.
        referral_company_uuid: Uuid = "referralCompanyUuid",
        /// Internal tracking; clients leave it alone.
        tracking_uuid: Uuid = "trackingUuid",
        /// The device, as current clients call it; not in the specification.
        device_id: String = "deviceId" as personal,
        /// The user, as current clients call them; not in the specification.
        partner_user_id: String = "partnerUserId" as personal,
        /// The FCRA consent text, where older clients put it before it joined the other consents; not in the
        /// specification.
        fcra_language: String = "fcraLanguage",
        /// The requested car insurance; not in the specification.
        auto_insurance_information: Box<LeadAutoInsuranceInformation> = "autoInsuranceInformation",
        /// The vehicle of a loan.
        vehicle_information: Box<VehicleInformation> = "vehicleInformation",
    }
}

impl Lead {
    /// Reads a request body; an error names every fault.
    pub fn read(body: &[u8]) -> Result<Self, UnreadableBody> {
        input::read(body)
    }

    /// Reads a request body by its arrival; returns also how many of its values were changed.
    ///
    /// # Errors
    /// Every fault of the body.
    pub fn read_leniently(
        arrival: Arrival,
        leniency: Leniency,
        body: &[u8],
    ) -> Result<(Self, usize), UnreadableBody> {
        input::read_leniently(arrival, leniency, body)
    }

    /// Whether it asks for a product type; a lead that names none asks for all of the specification.
    pub fn asks_for(&self, product_type: ProductType) -> bool {
        let named = self.product_types.as_deref().unwrap_or_default();
        if named.is_empty() { product_type.is_specified() } else { named.contains(&product_type) }
    }

    /// Whether it uses a value that we added to an enumeration of the specification.
    pub fn has_newer_values(&self) -> bool {
        let types = self.product_types.iter().flatten();
        let terms =
            self.mortgage_information.as_ref().and_then(|mortgage| mortgage.requested_loan_terms.as_ref());
        types.into_iter().any(|product_type| !product_type.is_specified())
            || terms.into_iter().flatten().any(|term| !term.is_specified())
    }
}

#[cfg(test)]
pub(super) const SAMPLE: &[u8] = include_bytes!("testdata/lead.json");

#[cfg(test)]
pub(super) const FULL_SAMPLE: &[u8] = include_bytes!("testdata/full_lead.json");

#[cfg(test)]
mod tests;
