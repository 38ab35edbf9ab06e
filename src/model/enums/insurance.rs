//! Life insurance; none of these sets is in the specification.

use crate::model::enumeration::enumeration;

enumeration! {
    /// How long an insurer takes to decide.
    CarrierDecisionType {
        Instant, NonInstant,
    }

    /// Whether a doctor looks at who is to be insured.
    MedicalExam {
        /// None for who answers the questions on health well.
        NoExamIfQualified,
        NoExamGuaranteed, ExamRequired,
    }

    /// How much a policy covers beside death.
    PackageType {
        Basic, Essential, Elite,
    }
}
