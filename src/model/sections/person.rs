//! The person: identity, income and debts, consents.

use chrono::NaiveDate;

use crate::enums::{
    BankAccountType, BatchConsentVersion, CitizenshipStatus, EducationLevel, EmploymentPayFrequency,
    EmploymentStatus, Gender, GraduateDegreeType, IdType, LeadBestTimeToCall, PersonalReferenceRelationType,
    ProvidedCreditRating, State,
};
use crate::section::section;
use crate::text_format::{Email, IpAddress, JornayaLeadId, OpeId, Phone, Ssn, TrustedFormUrl, Zipcode};

section! {
    /// The person who looks for offers.
    LeadPersonalInformation at lead.personal_information = "personalInformation" {
        /// Given name.
        first_name: String = "firstName" within NAME as personal,
        /// Family name.
        last_name: String = "lastName" within NAME as personal,
        /// Alternative given name.
        alias_first_name: String = "aliasFirstName" within NAME as personal,
        /// Alternative family name.
        alias_last_name: String = "aliasLastName" within NAME as personal,
        /// Email address.
        email: Email = "email" as personal,
        /// City of residence.
        city: String = "city",
        /// State of residence.
        state: State = "state",
        /// Work phone number.
        work_phone: Phone = "workPhone" as personal,
        /// Primary phone number.
        primary_phone: Phone = "primaryPhone" as personal,
        /// The best time for a call.
        best_time_to_call: LeadBestTimeToCall = "bestTimeToCall",
        /// Street and house number.
        address1: String = "address1" as personal,
        /// The second address line, such as flat or floor.
        address2: String = "address2" as personal,
        /// When the person moved to the address.
        address_move_in_date: NaiveDate = "addressMoveInDate",
        /// Postal code of residence.
        zipcode: Zipcode = "zipcode",
        /// Months at the address.
        months_at_address: i32 = "monthsAtAddress" within COUNT,
        /// Driving licence number.
        drivers_license_number: String = "driversLicenseNumber" as personal,
        /// State that issued the driving licence.
        drivers_license_state: String = "driversLicenseState",
        /// The person's IP address, checked as one; never filled in by the service.
        ip_address: IpAddress = "ipAddress" as personal,
        /// Whether the person is in active military service; not a veteran.
        active_military: bool = "activeMilitary",
        /// Whether the person is a veteran; not together with active service.
        military_veteran: bool = "militaryVeteran",
        /// Date of birth.
        date_of_birth: NaiveDate = "dateOfBirth" within BIRTH as personal,
        /// Highest level of education, free text; v1 accepts only some values of `EducationLevel`.
        education_level: String = "educationLevel",
        /// Social security number.
        ssn: Ssn = "ssn" as personal,
        /// Immigration status.
        citizenship_status: CitizenshipStatus = "citizenshipStatus",
    }

    /// A personal reference: someone who knows the person.
    PersonalReferenceInformation at lead.personal_reference_information = "personalReferenceInformation" {
        /// Given name.
        first_name: String = "firstName" within NAME as personal,
        /// Family name.
        last_name: String = "lastName" within NAME as personal,
        /// Primary phone number.
        primary_phone: Phone = "primaryPhone" as personal,
        /// The relation to the person.
        relation_type: PersonalReferenceRelationType = "relationType",
    }

    /// Credit as the person states it.
    LeadCreditInformation at lead.credit_information = "creditInformation" {
        /// The credit rating.
        provided_credit_rating: ProvidedCreditRating = "providedCreditRating",
        /// The FICO score.
        provided_numeric_credit_score: i32 = "providedNumericCreditScore" within SCORE,
    }

    /// Income, debts and assets. Amounts are in dollars.
    LeadFinancialInformation at lead.financial_information = "financialInformation" {
        /// Employment status.
        employment_status: EmploymentStatus = "employmentStatus",
        /// How often income is paid.
        employment_pay_frequency: EmploymentPayFrequency = "employmentPayFrequency",
        /// The type of the bank account; v1 clients misspell the field.
        bank_account_type: BankAccountType = "bankAccountType" | "backAccountType",
        /// How often additional income is paid.
        additional_income_frequency: EmploymentPayFrequency = "additionalIncomeFrequency",
        /// Annual income before taxes.
        annual_income: i32 = "annualIncome" within DOLLARS,
        /// Monthly income after taxes.
        monthly_net_income: i32 = "monthlyNetIncome" within DOLLARS,
        /// Credit card debt.
        credit_card_debt: i32 = "creditCardDebt" within DOLLARS,
        /// Months with the bank.
        months_at_bank: i32 = "monthsAtBank" within COUNT,
        /// Monthly debt payments.
        monthly_debt: i32 = "monthlyDebt" within DOLLARS,
        /// Total assets.
        total_assets: i32 = "totalAssets" within DOLLARS,
        /// Monthly rent or mortgage payment.
        monthly_housing_payment: i32 = "monthlyHousingPayment" within DOLLARS,
        /// Assets that can be turned into cash at once.
        available_assets: i32 = "availableAssets" within DOLLARS,
        /// Additional income.
        additional_income: i32 = "additionalIncome" within DOLLARS,
        /// Name of the bank.
        bank_name: String = "bankName",
        /// Routing number of the bank.
        bank_routing_number: String = "bankRoutingNumber" as personal,
        /// Account number.
        bank_account_number: String = "bankAccountNumber" as personal,
        /// Whether any income is paid by direct deposit; not in the specification.
        has_direct_deposit: bool = "hasDirectDeposit",
        /// Total unsecured debt; not in the specification.
        total_unsecured_debt: i32 = "totalUnsecuredDebt" within DOLLARS,
    }

    /// The employer, the job and the pay days.
    LeadEmploymentInformation at lead.employment_information = "employmentInformation" {
        /// Name of the employer.
        employer_name: String = "employerName",
        /// Street and house number of the employer.
        employer_address: String = "employerAddress" as personal,
        /// The second address line.
        employer_address2: String = "employerAddress2" as personal,
        /// City of the employer.
        employer_city: String = "employerCity",
        /// Telephone number of the employer.
        employer_phone: Phone = "employerPhone" as personal,
        /// State of the employer.
        employer_state: String = "employerState",
        /// Postal code of the employer.
        employer_zip: Zipcode = "employerZip",
        /// Job title.
        job_title: String = "jobTitle",
        /// Months in the job.
        months_employed: i32 = "monthsEmployed" within COUNT,
        /// Whether the wage is paid by direct deposit.
        direct_deposit: bool = "directDeposit",
        /// The next pay day.
        pay_date1: NaiveDate = "payDate1",
        /// The pay day after it.
        pay_date2: NaiveDate = "payDate2",
        /// The first day with this employer.
        start_date: NaiveDate = "startDate",
    }

    /// Consents that institutions require before they read a credit report or call.
    LeadLegalInformation at lead.legal_information = "legalInformation" {
        /// Whether the person consents to a credit report (Fair Credit Reporting Act).
        consents_to_fcra: bool = "consentsToFcra",
        /// Whether the person consents to calls (Telephone Consumer Protection Act).
        consents_to_tcpa: bool = "consentsToTcpa",
        /// Whether the person consents to text messages.
        consents_to_sms: bool = "consentsToSms",
        /// The TCPA consent text, verbatim as shown.
        tcpa_language: String = "tcpaLanguage",
        /// The FCRA consent text, verbatim as shown; not in the specification.
        fcra_language: String = "fcraLanguage",
        /// The version of the consent text for all partners at once; not in the specification.
        batch_consent_version: BatchConsentVersion = "batchConsentVersion",
        /// The consent text for all partners at once, verbatim as shown; not in the specification.
        batch_consent_language: String = "batchConsentLanguage",
        /// The TrustedForm certificate of these consents; not in the specification.
        trusted_form_cert_url: TrustedFormUrl = "trustedFormCertUrl" as personal,
        /// The Jornaya (Verisk) LeadiD of these consents; not in the specification.
        jornaya_lead_id: JornayaLeadId = "jornayaLeadId" as personal,
    }

    /// Education. Institutions use the names of the university look-up.
    LeadEducationInformation at lead.education_information = "educationInformation" {
        /// Highest level of education.
        education_level: EducationLevel = "educationLevel",
        /// The type of the graduate degree.
        graduate_degree_type: GraduateDegreeType = "graduateDegreeType",
        /// The university, of any degree.
        university_attended: String = "universityAttended",
        /// University of the graduate degree.
        graduate_university_attended: String = "graduateUniversityAttended",
        /// University of the undergraduate degree.
        undergraduate_university_attended: String = "undergraduateUniversityAttended",
        /// The graduation date, past or future.
        graduation_date: NaiveDate = "graduationDate",
        /// The graduation date of the graduate degree.
        graduate_graduation_date: NaiveDate = "graduateGraduationDate",
        /// The last day at graduate school.
        graduate_last_attended_date: NaiveDate = "graduateLastAttendedDate",
        /// The graduation date of the undergraduate degree.
        undergraduate_graduation_date: NaiveDate = "undergraduateGraduationDate",
        /// The last day as an undergraduate.
        undergraduate_last_attended_date: NaiveDate = "undergraduateLastAttendedDate",
        /// The OPE ID of `universityAttended`; not in the specification.
        university_ope_id: OpeId = "universityOpeId",
        /// The OPE ID of `graduateUniversityAttended`; not in the specification.
        graduate_university_ope_id: OpeId = "graduateUniversityOpeId",
        /// The OPE ID of `undergraduateUniversityAttended`; not in the specification.
        undergraduate_university_ope_id: OpeId = "undergraduateUniversityOpeId",
    }

    /// A co-applicant, who is liable for the loan too.
    LeadCoApplicantInformation at lead.co_applicant_information = "coApplicantInformation" {
        /// Given name.
        first_name: String = "firstName" within NAME as personal,
        /// Family name.
        last_name: String = "lastName" within NAME as personal,
        /// Street and house number.
        street_address1: String = "streetAddress1" as personal,
        /// The second address line.
        street_address2: String = "streetAddress2" as personal,
        /// City of residence.
        city: String = "city",
        /// Postal code of residence; some clients spell it without the capital.
        zip_code: Zipcode = "zipCode" | "zipcode",
        /// Date of birth.
        date_of_birth: NaiveDate = "dateOfBirth" within BIRTH as personal,
        /// Annual income before taxes, in dollars.
        annual_income: i32 = "annualIncome" within DOLLARS,
        /// State of residence.
        state: State = "state",
    }

    /// Health data that insurance prices depend on.
    LeadHealthInformation at lead.health_information = "healthInformation" {
        /// Gender.
        gender: Gender = "gender",
        /// Height.
        height_in_inches: i32 = "heightInInches" within COUNT,
        /// Weight.
        weight_in_pounds: i32 = "weightInPounds" within COUNT,
        /// Whether the person smokes.
        tobacco_smoker: bool = "tobaccoSmoker",
    }

    /// An identity document.
    LeadIdentificationInformation at lead.identification_information = "identificationInformation" {
        /// Number of the document.
        id_number: String = "idNumber" as personal,
        /// The issuing state.
        id_state: String = "idState",
        /// Kind of document.
        id_type: IdType = "idType",
    }

    /// The person's browser session.
    LeadSessionInformation at lead.session_information = "sessionInformation" {
        /// The address from which the session came, as free text; never filled in by the service.
        ip_address: String = "ipAddress" as personal,
        /// The browser's user agent.
        user_agent: String = "userAgent",
        /// The browser's fingerprint; not in the specification.
        browser_fingerprint: String = "browserFingerprint" as personal,
    }
}
