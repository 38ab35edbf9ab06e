//! What a client's pages report and look up.

use hyper::{Method, StatusCode};
use utoipa::openapi::Required;
use utoipa::openapi::path::ParameterIn;
use uuid::Uuid;

use super::draft::{Draft, integer, text};
use super::examples;
use crate::http::current::universities::LIMIT_MAX;
use crate::model::{
    ApiError, Components, ErrorType, FeaturedFinancialInstitution, OfferDisplayNew, SessionInitNew, schema,
};
use crate::web::Failure;

/// The section of what pages report.
pub const EVENTS: &str = "UI events";

/// The section of what pages look up.
pub const UTILITIES: &str = "UI utilities";

/// The operations.
pub fn operations(components: &mut Components) -> Vec<Draft> {
    let display = examples::offer_display();
    let seen = OfferDisplayNew {
        lead_uuid: display.lead_uuid,
        rate_table_uuid: display.rate_table_uuid,
        offer_uuid: display.offer_uuid,
    };
    let seen = serde_json::to_string(&seen).expect("the nouns are JSON");
    let nothing =
        ApiError::at("offerUuid", ErrorType::InvalidUuidReference, "Offer for UUID … does not exist");
    let nothing = Failure::malformed(vec![nothing]).with_status(StatusCode::BAD_REQUEST);
    vec![
        Draft::new(Method::POST, "/uiEvent/sessionInits", EVENTS, "initSession")
            .about("Put the answer's `sessionUuid` into every lead of the visit.")
            .body::<SessionInitNew>(Required::False, &[("a new session", "{}")], components)
            .answers(StatusCode::CREATED, "The visit.", &examples::session_init(), components),
        Draft::new(Method::POST, "/uiEvent/offerDisplays", EVENTS, "recordOfferDisplay")
            .body::<OfferDisplayNew>(Required::True, &[("an offer", &seen)], components)
            .answers(StatusCode::CREATED, "The display.", &display, components)
            .refuses(nothing, "Not the three ids, or one that names nothing of the company's."),
        universities(),
        Draft::new(
            Method::GET,
            "/uiUtil/featuredFinancialInstitutions",
            UTILITIES,
            "listFeaturedInstitutions",
        )
        .answers_all(
            "The institutions.",
            schema::reference::<FeaturedFinancialInstitution>(components),
            &[FeaturedFinancialInstitution {
                uuid: Uuid::from_u128(0x5c0f_5f0e_6f0d_4a53_9a59_0d1f_9d1c_8a11),
                name: "Northquill Lending".to_owned(),
                logo_url: "https://images.northquill.example/logo.png".to_owned(),
            }],
        ),
    ]
}

fn universities() -> Draft {
    let message = "Query parameter limit must be specified";
    let missing = Failure::malformed(vec![ApiError::at("limit", ErrorType::Missing, message)]);
    Draft::new(Method::GET, "/leads/universities", UTILITIES, "listUniversities")
        .query("name", "A fragment of the name, in any case, with or without diacritics.", text())
        .query("offset", "How many names to pass over.", integer(0, i64::MAX))
        .parameter(
            ParameterIn::Query,
            "limit",
            Required::True,
            "How many names at most.",
            integer(1, LIMIT_MAX),
        )
        .answers_all("Names, as leads are to spell them.", text(), &["University of Washington"])
        .refuses(missing, "A parameter is missing or does not fit.")
}
