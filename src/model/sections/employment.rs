//! The employer and the job.

use chrono::NaiveDate;

use crate::model::phone::Phone;
use crate::model::section::section;
use crate::model::zipcode::Zipcode;

section! {
    /// Where the lead works and when they are paid.
    LeadEmploymentInformation at lead.employment_information = "employmentInformation" {
        /// Name of the employer.
        employer_name: String = "employerName",
        /// Street and house number of the employer.
        employer_address: String = "employerAddress" as personal,
        /// What the street line leaves out.
        employer_address2: String = "employerAddress2" as personal,
        /// Town of the employer.
        employer_city: String = "employerCity",
        /// Telephone number of the employer.
        employer_phone: Phone = "employerPhone" as personal,
        /// State of the employer.
        employer_state: String = "employerState",
        /// Postal code of the employer.
        employer_zip: Zipcode = "employerZip",
        /// What the lead is called there.
        job_title: String = "jobTitle",
        /// How many months the lead has worked there.
        months_employed: i32 = "monthsEmployed" within COUNT,
        /// Whether the wage goes straight to the bank account.
        direct_deposit: bool = "directDeposit",
        /// The next pay day.
        pay_date1: NaiveDate = "payDate1",
        /// The pay day after it.
        pay_date2: NaiveDate = "payDate2",
        /// The first day with this employer.
        start_date: NaiveDate = "startDate",
    }
}
