//! Schools and degrees.

use chrono::NaiveDate;

use crate::model::enums::{EducationLevel, GraduateDegreeType};
use crate::model::ope_id::OpeId;
use crate::model::section::section;

section! {
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
}
