//! The person behind a lead: credit, work, education, identity.

use crate::model::enumeration::enumeration;

enumeration! {
    /// The lead's own statement of their credit.
    ///
    /// The first four stand for bands of scores: see `CreditBands`.
    ProvidedCreditRating {
        Excellent = "excellent",
        Good = "good",
        Fair = "fair",
        Poor = "poor",
        /// There is hardly any credit history.
        Limited = "limited",
        /// The lead does not know.
        Unknown = "unknown",
    }
}

enumeration! {
    /// Standing with the immigration authority.
    CitizenshipStatus {
        Citizen = "citizen",
        PermanentResident = "permanent_resident",
        Other = "other",
    }
}

enumeration! {
    /// The highest level of education reached, or the state of it.
    EducationLevel {
        HighSchool = "high_school",
        Associate = "associate",
        Bachelors = "bachelors",
        Masters = "masters",
        Doctorate = "doctorate",
        OtherGradDegree = "other_grad_degree",
        Certificate = "certificate",
        DidNotGraduate = "did_not_graduate",
        StillEnrolled = "still_enrolled",
        Other = "other",
    }
}

enumeration! {
    /// How often income is paid.
    EmploymentPayFrequency {
        Weekly = "weekly",
        Biweekly = "biweekly",
        TwiceMonthly = "twice_monthly",
        Monthly = "monthly",
    }
}

enumeration! {
    /// How the lead earns a living.
    EmploymentStatus {
        Employed = "employed",
        EmployedFullTime = "employed_full_time",
        EmployedPartTime = "employed_part_time",
        Military = "military",
        NotEmployed = "not_employed",
        SelfEmployed = "self_employed",
        Retired = "retired",
        Other = "other",
    }
}

enumeration! {
    /// The gender that insurers rate by.
    Gender {
        Male = "male",
        Female = "female",
    }
}

enumeration! {
    /// The degree that a graduate school awarded.
    GraduateDegreeType {
        DoctorOfMedicine = "doctor_of_medicine",
        DoctorOfOsteopathicMedicine = "doctor_of_osteopathic_medicine",
        DoctorOfOptometry = "doctor_of_optometry",
        DoctorOfDentalMedicine = "doctor_of_dental_medicine",
        DentariaeMedicinaeDoctoris = "dentariae_medicinae_doctoris",
        DoctorOfDentalSurgery = "doctor_of_dental_surgery",
        DoctorOfVeterinaryMedicine = "doctor_of_veterinary_medicine",
        DoctorOfPharmacy = "doctor_of_pharmacy",
        VeterinariaeMedicinaeDoctoris = "veterinariae_medicinae_doctoris",
        MasterOfArts = "master_of_arts",
        MasterOfScience = "master_of_science",
        MasterOfResearch = "master_of_research",
        MasterOfResearchProject = "master_of_research_project",
        MasterOfStudies = "master_of_studies",
        MasterOfBusinessAdministration = "master_of_business_administration",
        MasterOfLibraryScience = "master_of_library_science",
        MasterOfPublicAdministration = "master_of_public_administration",
        MasterOfPublicHealth = "master_of_public_health",
        MasterOfLaws = "master_of_laws",
        MasterOfArtsLiberalStudies = "master_of_arts_liberal_studies",
        MasterOfFineArts = "master_of_fine_arts",
        MasterOfMusic = "master_of_music",
        MasterOfEducation = "master_of_education",
        MasterOfEngineering = "master_of_engineering",
        MasterOfArchitecture = "master_of_architecture",
        JurisDoctor = "juris_doctor",
        Other = "other",
    }
}

enumeration! {
    /// The kind of document that identifies a person.
    IdType {
        DriverLicense = "driver_license",
        StateId = "state_id",
        Passport = "passport",
    }
}

enumeration! {
    /// The part of the day in which a call is welcome.
    LeadBestTimeToCall {
        Morning = "morning",
        Afternoon = "afternoon",
        Evening = "evening",
        Night = "night",
    }
}

enumeration! {
    /// What a personal reference is to the lead.
    PersonalReferenceRelationType {
        Parent = "parent",
        Employer = "employer",
        Spouse = "spouse",
        Guardian = "guardian",
        Sibling = "sibling",
        Relative = "relative",
        Friend = "friend",
        Other = "other",
    }
}

enumeration! {
    /// A state or territory of the United States, by its postal code.
    State {
        Ak = "AK",
        Al = "AL",
        Ar = "AR",
        Az = "AZ",
        Ca = "CA",
        Co = "CO",
        Ct = "CT",
        Dc = "DC",
        De = "DE",
        Fl = "FL",
        Ga = "GA",
        Hi = "HI",
        Ia = "IA",
        Id = "ID",
        Il = "IL",
        In = "IN",
        Ks = "KS",
        Ky = "KY",
        La = "LA",
        Ma = "MA",
        Md = "MD",
        Me = "ME",
        Mi = "MI",
        Mn = "MN",
        Mo = "MO",
        Ms = "MS",
        Mt = "MT",
        Nc = "NC",
        Nd = "ND",
        Ne = "NE",
        Nh = "NH",
        Nj = "NJ",
        Nm = "NM",
        Nv = "NV",
        Ny = "NY",
        Oh = "OH",
        Ok = "OK",
        Or = "OR",
        Pa = "PA",
        Pr = "PR",
        Ri = "RI",
        Sc = "SC",
        Sd = "SD",
        Tn = "TN",
        Tx = "TX",
        Ut = "UT",
        Va = "VA",
        Vi = "VI",
        Vt = "VT",
        Wa = "WA",
        Wi = "WI",
        Wv = "WV",
        Wy = "WY",
    }
}

enumeration! {
    /// Wordings of the consent for all partners at once; not in the specification.
    BatchConsentVersion {
        V1 = "v1",
        V2 = "v2",
    }
}
