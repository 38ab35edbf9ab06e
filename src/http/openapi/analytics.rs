//! The feeds.

use hyper::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;
use utoipa::openapi::Required;
use utoipa::openapi::path::ParameterIn;

use super::draft::Draft;
use super::examples;
use crate::model::{
    ApiError, Components, ErrorType, LeadClientTagsResponse, LeadEventResponse, LeadPayoutResponse, schema,
};
use crate::web::Failure;

/// The section of the document.
pub const TAG: &str = "Analytics";

/// The operations.
pub fn operations(components: &mut Components) -> Vec<Draft> {
    vec![
        feed::<LeadEventResponse>(
            "/supplyAnalytics/leadEvents",
            "listLeadEvents",
            include_str!("examples/lead_events.json"),
            components,
        ),
        feed::<LeadPayoutResponse>(
            "/supplyAnalytics/leadPayouts",
            "listLeadPayouts",
            include_str!("examples/lead_payouts.json"),
            components,
        ),
        feed::<LeadClientTagsResponse>(
            "/supplyAnalytics/leadClientTags",
            "listLeadClientTags",
            include_str!("examples/lead_client_tags.json"),
            components,
        ),
    ]
}

fn feed<P: ToSchema + Serialize + DeserializeOwned>(
    path: &'static str,
    id: &'static str,
    example: &str,
    components: &mut Components,
) -> Draft {
    let missing =
        ApiError::at("timestamp", ErrorType::Missing, "Query parameter timestamp must be specified");
    let about = "Where the page starts: when its first record reached the service, at least an hour ago.";
    Draft::new(Method::GET, path, TAG, id)
        .about("Come back to `nextUrl` an hour later, or at once while `shouldContinuePolling` is true.")
        .parameter(ParameterIn::Query, "timestamp", Required::True, about, schema::text("date-time"))
        .answers(StatusCode::OK, "A page.", &examples::read::<P>(example), components)
        .refuses(Failure::malformed(vec![missing]), "No time, no time at all, or one less than an hour ago.")
}
