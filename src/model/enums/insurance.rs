//! Life insurance; none of these sets is in the specification.

use crate::model::enumeration::enumeration;

enumeration! {
    /// How long an insurer takes to decide.
    CarrierDecisionType {
        Instant = "instant",
        NonInstant = "non_instant",
    }
}

enumeration! {
    /// Whether a doctor looks at who is to be insured.
    MedicalExam {
        /// None for who answers the questions on health well.
        NoExamIfQualified = "no_exam_if_qualified",
        NoExamGuaranteed = "no_exam_guaranteed",
        ExamRequired = "exam_required",
    }
}

enumeration! {
    /// How much a policy covers beside death.
    PackageType {
        Basic = "basic",
        Essential = "essential",
        Elite = "elite",
    }
}
