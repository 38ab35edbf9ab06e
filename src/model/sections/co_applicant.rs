//! The person who borrows together with the lead.

use chrono::NaiveDate;

use crate::model::enums::State;
use crate::model::section::section;
use crate::model::zipcode::Zipcode;

section! {
    /// A second borrower who answers for the loan too.
    LeadCoApplicantInformation at lead.co_applicant_information = "coApplicantInformation" {
        /// Given name.
        first_name: String = "firstName" as personal,
        /// Family name.
        last_name: String = "lastName" as personal,
        /// Street and house number.
        street_address1: String = "streetAddress1" as personal,
        /// What the street line leaves out.
        street_address2: String = "streetAddress2" as personal,
        /// Town of residence.
        city: String = "city",
        /// Postal code of residence; some clients spell it without the capital.
        zip_code: Zipcode = "zipCode" | "zipcode",
        /// Day of birth.
        date_of_birth: NaiveDate = "dateOfBirth" within BIRTH as personal,
        /// Income of a year before taxes, in dollars.
        annual_income: i32 = "annualIncome" within DOLLARS,
        /// State of residence.
        state: State = "state",
    }
}
