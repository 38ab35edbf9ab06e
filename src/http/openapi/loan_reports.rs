//! How likely partners are to lend.

use hyper::{Method, StatusCode};
use utoipa::openapi::Required;
use uuid::Uuid;

use super::draft::Draft;
use super::examples;
use crate::model::{ApiError, Components, ErrorType, LoanReportCreateData};
use crate::web::Failure;

/// The section of the document.
pub const TAG: &str = "Approval probability";

const EXAMPLE: &str =
    r#"{"annualIncome": 72000, "creditRating": "good", "totalDebt": 18000, "loanAmount": 10000}"#;

/// The operations.
pub fn operations(components: &mut Components) -> Vec<Draft> {
    let missing = ApiError::at("annualIncome", ErrorType::Missing, "must be given");
    let unknown = Failure::unknown_uuid("LoanReport", Uuid::nil());
    let report = examples::loan_report();
    vec![
        Draft::new(Method::POST, "/approvalProbability/loanReports", TAG, "createLoanReport")
            .about(
                "Experimental. By the rules of the catalogue alone: no partner is asked, no credit file is read. Of an institution's \
                 bands of terms that are for the state, the purpose and the amount, the share that is also for the income, the \
                 rating and the debt, each counted as its offer is firm (0.95 pre-approved, 0.80 pre-qualified, else 0.50); times \
                 1 - min(totalDebt / annualIncome, 1) / 2; times 0.8 for each derogatory mark.",
            )
            .body::<LoanReportCreateData>(Required::True, &[("somebody", EXAMPLE)], components)
            .answers(StatusCode::CREATED, "The report.", &report, components)
            .with_header("Location")
            .refuses(Failure::malformed(vec![missing]), "Something must be given, or does not fit."),
        Draft::new(Method::GET, "/approvalProbability/loanReports/{uuid}", TAG, "getLoanReport")
            .about("Experimental. A report of the company as it was made, for as long as reports are kept.")
            .answers(StatusCode::OK, "The report.", &report, components)
            .refuses(unknown, "Nothing of the company's, or no longer."),
    ]
}
