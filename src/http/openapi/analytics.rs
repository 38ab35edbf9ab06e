//! The feeds.

use hyper::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Required, Schema};

use super::draft::Draft;
use super::examples;
use super::rate_tables::unknown;
use crate::analytics::PAGINATION_TOKEN;
use crate::http::current::analytics::no_version;
use crate::http::current::api_version::{API_VERSION, PROMPT_VERSION};
use crate::model::{
    ApiError, Components, ErrorType, EventType, LeadClientTagsResponse, LeadEventResponse, LeadInfoResponse,
    LeadPayoutResponse, schema,
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
        )
        .query_list(
            "eventType",
            "The newer form: only events of these types.",
            schema::reference::<EventType>(components),
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
        info(components),
    ]
}

fn info(components: &mut Components) -> Draft {
    let example: LeadInfoResponse = examples::read(include_str!("examples/lead_info.json"));
    Draft::new(Method::GET, "/supplyAnalytics/leadsInfo/{leadUuid}", TAG, "getLeadInfo")
        .about(
            "In the newer form of the feeds, and without waiting for any age. 206 with `warnings` while a rate table of the lead is \
             pending, so that decisions are to come, or where more arrived since the lead came than is read at once.",
        )
        .parameter(
            ParameterIn::Header,
            API_VERSION,
            Required::True,
            "The version of the form.",
            version(),
        )
        .answers(StatusCode::OK, "All that there is.", &example, components)
        .answers(
            StatusCode::PARTIAL_CONTENT,
            "What there is so far; `warnings` tell what is to come.",
            &example,
            components,
        )
        .refuses(unknown("Lead"), "The company has no such lead.")
        .refuses(no_version(), "The header is missing, or names another version.")
}

/// What a client of either form should know.
const ABOUT: &str = "Come back to `nextUrl` an hour later, or at once while `shouldContinuePolling` is true.\n\nOf the two \
    forms `timestamp` asks for the older one, in which it is required. The header `API-Version: 2025-04-01` asks for the \
    newer one, in which `sinceTimestamp` is, unless there is a `paginationToken`.";

/// The one value of the header.
fn version() -> Schema {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some([PROMPT_VERSION])).into()
}

fn feed<P: ToSchema + Serialize + DeserializeOwned>(
    path: &'static str,
    id: &'static str,
    example: &str,
    components: &mut Components,
) -> Draft {
    let missing =
        ApiError::at("timestamp", ErrorType::Missing, "Query parameter timestamp must be specified");
    let timestamp = "Where the page starts: when its first record reached the service, at least an hour ago.";
    let since = "The newer form: where its first page starts, at least five minutes ago.";
    let until = "The newer form: where its last page ends, this instant not included.";
    let token = "The newer form: the next page, as `nextUrl` carries it; all else is ignored beside it.";
    Draft::new(Method::GET, path, TAG, id)
        .about(ABOUT)
        .parameter(ParameterIn::Query, "timestamp", Required::False, timestamp, schema::text("date-time"))
        .parameter(ParameterIn::Header, API_VERSION, Required::False, "Asks for the newer form.", version())
        .query("sinceTimestamp", since, schema::text("date-time"))
        .query("untilTimestamp", until, schema::text("date-time"))
        .query(PAGINATION_TOKEN, token, schema::text("byte"))
        .answers(StatusCode::OK, "A page.", &examples::read::<P>(example), components)
        .refuses(Failure::malformed(vec![missing]), "No time, no time at all, or one less than an hour ago.")
}
