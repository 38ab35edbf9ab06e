//! The person behind a lead: who they are, what they earn and owe, what they have agreed to.

use chrono::NaiveDate;

use crate::enums::{
    BankAccountType, BatchConsentVersion, CitizenshipStatus, EducationLevel, EmploymentPayFrequency,
    EmploymentStatus, Gender, GraduateDegreeType, IdType, LeadBestTimeToCall, PersonalReferenceRelationType,
    ProvidedCreditRating, State,
};
use crate::section::section;
use crate::text_format::{Email, IpAddress, OpeId, Phone, Ssn, Zipcode};

section! {
    /// The person who looks for offers.
    LeadPersonalInformation at lead.personal_information = "personalInformation" {
        /// Given name.
        first_name: String = "firstName" as personal,
        /// Family name.
        last_name: String = "lastName" as personal,
        /// Given name under which the lead is known as well.
        alias_first_name: String = "aliasFirstName" as personal,
        /// Family name under which the lead is known as well.
        alias_last_name: String = "aliasLastName" as personal,
        /// Where offers may be mailed to.
        email: Email = "email" as personal,
        /// Town of residence.
        city: String = "city",
        /// State of residence.
        state: State = "state",
        /// Telephone number at work.
        work_phone: Phone = "workPhone" as personal,
        /// Telephone number under which the lead is best reached.
        primary_phone: Phone = "primaryPhone" as personal,
        /// When a call is welcome.
        best_time_to_call: LeadBestTimeToCall = "bestTimeToCall",
        /// Street and house number.
        address1: String = "address1" as personal,
        /// Flat, floor, or what else the street line leaves out.
        address2: String = "address2" as personal,
        /// When the lead moved in there.
        address_move_in_date: NaiveDate = "addressMoveInDate",
        /// Postal code of residence.
        zipcode: Zipcode = "zipcode",
        /// How many months the lead has lived there.
        months_at_address: i32 = "monthsAtAddress" within COUNT,
        /// Number on the driving licence.
        drivers_license_number: String = "driversLicenseNumber" as personal,
        /// State that issued the driving licence.
        drivers_license_state: String = "driversLicenseState",
        /// Internet address from which the lead came.
        ip_address: IpAddress = "ipAddress" as personal,
        /// Whether the lead serves now; a veteran does not.
        active_military: bool = "activeMilitary",
        /// Whether the lead has served; not given together with active service.
        military_veteran: bool = "militaryVeteran",
        /// Day of birth.
        date_of_birth: NaiveDate = "dateOfBirth" within BIRTH as personal,
        /// Highest level of education, free text; v1 takes only some values of `EducationLevel`.
        education_level: String = "educationLevel",
        /// Social security number.
        ssn: Ssn = "ssn" as personal,
        /// Standing with the immigration authority.
        citizenship_status: CitizenshipStatus = "citizenshipStatus",
    }

    /// A person who can be asked about the lead.
    PersonalReferenceInformation at lead.personal_reference_information = "personalReferenceInformation" {
        /// Given name.
        first_name: String = "firstName" as personal,
        /// Family name.
        last_name: String = "lastName" as personal,
        /// Telephone number under which they are best reached.
        primary_phone: Phone = "primaryPhone" as personal,
        /// What they are to the lead.
        relation_type: PersonalReferenceRelationType = "relationType",
    }

    /// Credit as the lead states it.
    LeadCreditInformation at lead.credit_information = "creditInformation" {
        /// Credit in a word.
        provided_credit_rating: ProvidedCreditRating = "providedCreditRating",
        /// Credit as a FICO score.
        provided_numeric_credit_score: i32 = "providedNumericCreditScore" within SCORE,
    }

    /// What the lead earns, owes and owns. Amounts are dollars.
    LeadFinancialInformation at lead.financial_information = "financialInformation" {
        /// How the lead earns a living.
        employment_status: EmploymentStatus = "employmentStatus",
        /// How often the lead is paid.
        employment_pay_frequency: EmploymentPayFrequency = "employmentPayFrequency",
        /// The kind of bank account; v1 clients misspell the field.
        bank_account_type: BankAccountType = "bankAccountType" | "backAccountType",
        /// How often the additional income comes.
        additional_income_frequency: EmploymentPayFrequency = "additionalIncomeFrequency",
        /// Income of a year before taxes.
        annual_income: i32 = "annualIncome" within DOLLARS,
        /// Income of a month after taxes.
        monthly_net_income: i32 = "monthlyNetIncome" within DOLLARS,
        /// What is owed on credit cards.
        credit_card_debt: i32 = "creditCardDebt" within DOLLARS,
        /// How many months the account has been open.
        months_at_bank: i32 = "monthsAtBank" within COUNT,
        /// What goes to debts each month.
        monthly_debt: i32 = "monthlyDebt" within DOLLARS,
        /// What the lead owns altogether.
        total_assets: i32 = "totalAssets" within DOLLARS,
        /// Rent or mortgage instalment of a month.
        monthly_housing_payment: i32 = "monthlyHousingPayment" within DOLLARS,
        /// What could be turned into cash at once.
        available_assets: i32 = "availableAssets" within DOLLARS,
        /// Income beside the main one.
        additional_income: i32 = "additionalIncome" within DOLLARS,
        /// Name of the bank.
        bank_name: String = "bankName",
        /// Routing number of the bank.
        bank_routing_number: String = "bankRoutingNumber" as personal,
        /// Number of the account.
        bank_account_number: String = "bankAccountNumber" as personal,
        /// Whether any income goes straight to the bank account; not in the specification, as what follows.
        has_direct_deposit: bool = "hasDirectDeposit",
        /// What is owed without anything pledged for it.
        total_unsecured_debt: i32 = "totalUnsecuredDebt" within DOLLARS,
    }

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

    /// Consents that institutions need before they look or call.
    LeadLegalInformation at lead.legal_information = "legalInformation" {
        /// Whether the lead lets their credit report be read (Fair Credit Reporting Act).
        consents_to_fcra: bool = "consentsToFcra",
        /// Whether the lead lets themselves be called (Telephone Consumer Protection Act).
        consents_to_tcpa: bool = "consentsToTcpa",
        /// Whether the lead lets themselves be texted.
        consents_to_sms: bool = "consentsToSms",
        /// The consent text, word for word as it was shown.
        tcpa_language: String = "tcpaLanguage",
        /// The FCRA consent text, word for word as it was shown; not in the specification, as all that follows.
        fcra_language: String = "fcraLanguage",
        /// Which wording of the consent for all partners at once was shown.
        batch_consent_version: BatchConsentVersion = "batchConsentVersion",
        /// The consent text for all partners at once, word for word as it was shown.
        batch_consent_language: String = "batchConsentLanguage",
    }

    /// What the lead studied. Institutions go by the names of the university look-up.
    LeadEducationInformation at lead.education_information = "educationInformation" {
        /// Highest level of education.
        education_level: EducationLevel = "educationLevel",
        /// Degree from a graduate school.
        graduate_degree_type: GraduateDegreeType = "graduateDegreeType",
        /// University of any degree.
        university_attended: String = "universityAttended",
        /// University of the graduate degree.
        graduate_university_attended: String = "graduateUniversityAttended",
        /// University of the first degree.
        undergraduate_university_attended: String = "undergraduateUniversityAttended",
        /// When the lead graduated, or will.
        graduation_date: NaiveDate = "graduationDate",
        /// When the graduate degree was awarded.
        graduate_graduation_date: NaiveDate = "graduateGraduationDate",
        /// The last day at the graduate school.
        graduate_last_attended_date: NaiveDate = "graduateLastAttendedDate",
        /// When the first degree was awarded.
        undergraduate_graduation_date: NaiveDate = "undergraduateGraduationDate",
        /// The last day as an undergraduate.
        undergraduate_last_attended_date: NaiveDate = "undergraduateLastAttendedDate",
        /// The same university as `universityAttended`, by its federal number; not in the specification, as what follows.
        university_ope_id: OpeId = "universityOpeId",
        /// The same university as `graduateUniversityAttended`, by its federal number.
        graduate_university_ope_id: OpeId = "graduateUniversityOpeId",
        /// The same university as `undergraduateUniversityAttended`, by its federal number.
        undergraduate_university_ope_id: OpeId = "undergraduateUniversityOpeId",
    }

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

    /// What the price of an insurance depends on.
    LeadHealthInformation at lead.health_information = "healthInformation" {
        /// Gender to rate by.
        gender: Gender = "gender",
        /// Height.
        height_in_inches: i32 = "heightInInches" within COUNT,
        /// Weight.
        weight_in_pounds: i32 = "weightInPounds" within COUNT,
        /// Whether the lead smokes.
        tobacco_smoker: bool = "tobaccoSmoker",
    }

    /// A document that proves who the lead is.
    LeadIdentificationInformation at lead.identification_information = "identificationInformation" {
        /// Number of the document.
        id_number: String = "idNumber" as personal,
        /// State that issued it.
        id_state: String = "idState",
        /// Kind of document.
        id_type: IdType = "idType",
    }

    /// What the client saw of the lead's browser.
    LeadSessionInformation at lead.session_information = "sessionInformation" {
        /// Internet address, as the client wrote it.
        ip_address: String = "ipAddress" as personal,
        /// What the browser calls itself.
        user_agent: String = "userAgent",
        /// What tells the browser apart from others; not in the specification.
        browser_fingerprint: String = "browserFingerprint" as personal,
    }
}
