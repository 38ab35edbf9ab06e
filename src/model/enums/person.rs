//! The person behind a lead: credit, work, education, identity.

use crate::enumeration::enumeration;

enumeration! {
    /// The person's own statement of their credit.
    ///
    /// Scores: `excellent` from 720, `good` from 660, `fair` from 620 (v1: 600), `poor` below.
    ProvidedCreditRating {
        Excellent, Good, Fair, Poor,
        /// Hardly any credit history.
        Limited,
        /// The person does not know.
        Unknown,
    }

    /// Immigration status.
    CitizenshipStatus {
        Citizen, PermanentResident, Other,
    }

    /// The highest level of education reached, or its state.
    EducationLevel {
        HighSchool, Associate, Bachelors, Masters, Doctorate, OtherGradDegree, Certificate, DidNotGraduate,
        StillEnrolled, Other,
    }

    /// How often income is paid.
    EmploymentPayFrequency {
        Weekly, Biweekly, TwiceMonthly, Monthly,
    }

    /// Employment status.
    EmploymentStatus {
        Employed, EmployedFullTime, EmployedPartTime, Military, NotEmployed, SelfEmployed, Retired, Other,
    }

    /// Gender, as insurers rate by it.
    Gender {
        Male, Female,
    }

    /// The degree that a graduate school awarded.
    GraduateDegreeType {
        DoctorOfMedicine, DoctorOfOsteopathicMedicine, DoctorOfOptometry, DoctorOfDentalMedicine,
        DentariaeMedicinaeDoctoris, DoctorOfDentalSurgery, DoctorOfVeterinaryMedicine, DoctorOfPharmacy,
        VeterinariaeMedicinaeDoctoris, MasterOfArts, MasterOfScience, MasterOfResearch,
        MasterOfResearchProject, MasterOfStudies, MasterOfBusinessAdministration, MasterOfLibraryScience,
        MasterOfPublicAdministration, MasterOfPublicHealth, MasterOfLaws, MasterOfArtsLiberalStudies,
        MasterOfFineArts, MasterOfMusic, MasterOfEducation, MasterOfEngineering, MasterOfArchitecture,
        JurisDoctor, Other,
    }

    /// The kind of an identity document.
    IdType {
        DriverLicense, StateId, Passport,
    }

    /// The part of the day for calls.
    LeadBestTimeToCall {
        Morning, Afternoon, Evening, Night,
    }

    /// The relation of a personal reference to the person.
    PersonalReferenceRelationType {
        Parent, Employer, Spouse, Guardian, Sibling, Relative, Friend, Other,
    }

    /// A state or territory of the United States, by its postal code.
    State {
        Ak = "AK", Al = "AL", Ar = "AR", Az = "AZ", Ca = "CA", Co = "CO", Ct = "CT", Dc = "DC", De = "DE",
        Fl = "FL", Ga = "GA", Hi = "HI", Ia = "IA", Id = "ID", Il = "IL", In = "IN", Ks = "KS", Ky = "KY",
        La = "LA", Ma = "MA", Md = "MD", Me = "ME", Mi = "MI", Mn = "MN", Mo = "MO", Ms = "MS", Mt = "MT",
        Nc = "NC", Nd = "ND", Ne = "NE", Nh = "NH", Nj = "NJ", Nm = "NM", Nv = "NV", Ny = "NY", Oh = "OH",
        Ok = "OK", Or = "OR", Pa = "PA", Pr = "PR", Ri = "RI", Sc = "SC", Sd = "SD", Tn = "TN", Tx = "TX",
        Ut = "UT", Va = "VA", Vi = "VI", Vt = "VT", Wa = "WA", Wi = "WI", Wv = "WV", Wy = "WY",
    }

    /// Versions of the consent text for all partners at once; not in the specification.
    BatchConsentVersion {
        V1, V2,
    }
}
