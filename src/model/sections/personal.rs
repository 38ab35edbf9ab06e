//! Who the lead is and where to reach them.

use chrono::NaiveDate;

use crate::model::email::Email;
use crate::model::enums::{CitizenshipStatus, LeadBestTimeToCall, State};
use crate::model::ip_address::IpAddress;
use crate::model::phone::Phone;
use crate::model::section::section;
use crate::model::ssn::Ssn;
use crate::model::zipcode::Zipcode;

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
}
