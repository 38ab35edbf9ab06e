//! Leads as they are kept.

use hyper::{Method, StatusCode};
use utoipa::openapi::{RefOr, Required, Schema};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::draft::Draft;
use super::examples;
use super::rate_tables::{LEADS, unfit, unknown};
use crate::model::{Components, Lead, LeadView, PrefillResponse, ProductType};
use crate::web::Failure;

/// The section of the document.
pub const TAG: &str = "Leads";

/// What an output lead does not have of what was sent (specification, Lead).
const INPUT_ONLY: [&str; 2] = ["productTypes", "formCompleted"];

/// The operations.
pub fn operations(components: &mut Components) -> Vec<Draft> {
    complete_view(components);
    let [keep, read] = prefills(components);
    vec![
        keep,
        read,
        Draft::new(Method::GET, "/leads/{uuid}", TAG, "getLead")
            .answers(StatusCode::OK, "The lead.", &examples::lead(), components)
            .refuses(unknown("Lead"), "The company has no such lead."),
        Draft::new(Method::GET, "/leads/{uuid}/explanation", TAG, "explainLead")
            .about(
                "What was asked and answered is told as it was; conditions are those of now, and `changedSince` \
                 tells when they may have been others. What keeps a partner from leads of any kind is told by its \
                 kind only.",
            )
            .answers(StatusCode::OK, "The explanation.", &examples::lead_explanation(), components)
            .refuses(unknown("Lead"), "The company has no such lead."),
        Draft::new(Method::PATCH, "/leads/{uuid}", TAG, "growLead")
            .newer_values()
            .body::<Lead>(Required::True, LEADS, components)
            .answers(StatusCode::OK, "The lead as it is now.", &examples::lead(), components)
            .refuses(unknown("Lead"), "The company has no such lead.")
            .refuses(Failure::conflict(Uuid::nil()), "The lead would be another that exists already.")
            .refuses(unfit(), "Not a lead."),
        Draft::new(Method::POST, "/leads", TAG, "createLead")
            .about("A publishable token is answered with ids, times and status only, not with what was sent.")
            .newer_values()
            .body::<Lead>(Required::False, LEADS, components)
            .answers(StatusCode::CREATED, "The lead.", &examples::lead(), components)
            .with_header("Location")
            .refuses(Failure::conflict(Uuid::nil()), "The lead exists already.")
            .refuses(unfit(), "Not a lead."),
    ]
}

fn prefills(components: &mut Components) -> [Draft; 2] {
    let kept = PrefillResponse {
        product_types: vec![ProductType::Loan],
        prefill_token: Uuid::from_u128(0x4a1f_9c0e_5d3b_4f6a_8c27_91e0_b3d5_6a48),
        expires_in_seconds: 180,
        max_uses: 3,
    };
    let loan = include_bytes!("../../../tests/leads/personal_loan.json");
    let loan = Lead::read(loan).expect("the sample leads are leads");
    [
        Draft::new(Method::POST, "/originator/prefills", TAG, "createPrefill")
            .about(
                "They are checked as a lead's are, and no lead is made of them. They are gone after `expiresInSeconds`, and after \
                 they were read `maxUses` times.",
            )
            .body::<Lead>(Required::True, LEADS, components)
            .answers(StatusCode::OK, "The token to read them by.", &kept, components)
            .refuses(unfit(), "Not a lead."),
        Draft::new(Method::GET, "/originator/prefills/{prefillToken}", TAG, "getPrefill")
            .about("`HEAD` is not taken, since each reading counts. A publishable token reads them too: the prefill token is the permission.")
            .answers(StatusCode::OK, "What was given.", &loan, components)
            .refuses(unknown("Prefill"), "Unknown to the company, over, or used up."),
    ]
}

/// The noun `Lead` is what the service adds and, flattened into it, the sections that were sent.
fn complete_view(components: &mut Components) {
    let (RefOr::T(Schema::Object(mut view)), RefOr::T(Schema::Object(sent))) =
        (LeadView::schema(), Lead::schema())
    else {
        return;
    };
    for (name, schema) in sent.properties {
        if !INPUT_ONLY.contains(&name.as_str()) {
            view.properties.entry(name).or_insert(schema);
        }
    }
    components.push((LeadView::name().into_owned(), view.into()));
    LeadView::schemas(components);
}
