//! What a client's pages report and look up.

use hyper::{Method, StatusCode};
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::{RefOr, Required, Schema};
use uuid::Uuid;

use super::draft::{Draft, integer, text};
use super::examples;
use crate::http::current::universities::LIMIT_MAX;
use crate::http::current::vehicles::LIMIT_TAKEN;
use crate::model::{
    ApiError, Components, ErrorType, FeaturedFinancialInstitution, OfferDisplayNew, SessionInitNew,
    VehicleDetails, schema,
};
use crate::reference::YEARS;
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
        years(),
        names("/leads/vehicles/makes", "listVehicleMakes", &["year"], "Toyota"),
        names("/leads/vehicles/models", "listVehicleModels", &["year", "make"], "Camry"),
        trims(components),
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

fn years() -> Draft {
    let message = "Query parameter minYear must be an integer from -2147483648 to 2147483647";
    let draft = Draft::new(Method::GET, "/leads/vehicles/years", UTILITIES, "listVehicleYears");
    ["minYear", "maxYear"]
        .into_iter()
        .fold(draft, |draft, name| draft.query(name, "No year beyond this one.", year()))
        .answers_all(
            "Model years, the earliest first.",
            integer((*YEARS.start()).into(), (*YEARS.end()).into()),
            &[2024],
        )
        .refuses(unfit("minYear", message), "A parameter does not fit; `details` has what was found.")
}

fn names(path: &'static str, id: &'static str, narrowing: &[&str], example: &str) -> Draft {
    narrowed(Draft::new(Method::GET, path, UTILITIES, id), narrowing).answers_all(
        "Names, in alphabetical order.",
        text(),
        &[example],
    )
}

fn trims(components: &mut Components) -> Draft {
    let camry = VehicleDetails {
        year: 2021,
        make: "Toyota".to_owned(),
        model: "Camry".to_owned(),
        trim: "LE".to_owned(),
        uuid: Uuid::from_u128(0x4d0d_1b5a_8d61_8c3e_9f0a_51f7_3d2c_6e11),
        ucg_vehicle_id: 4_711,
    };
    let draft = Draft::new(Method::GET, "/leads/vehicles/trims", UTILITIES, "listVehicleTrims")
        .about("Put the `uuid` into the lead as `vehicleInformation.vehicleUuid`.");
    narrowed(draft, &["year", "make", "model"]).answers_all(
        "Cars, by year, make, model and trim.",
        schema::reference::<VehicleDetails>(components),
        &[camry],
    )
}

fn narrowed(draft: Draft, narrowing: &[&str]) -> Draft {
    let draft = narrowing.iter().fold(draft, |draft, name| match *name {
        "year" => draft.query("year", "Of this model year only.", year()),
        name => draft.query(name, "Of this one only, as it is listed; case does not matter.", text()),
    });
    let draft = draft.query("offset", "How many of the list to pass over.", integer(0, i64::MAX)).query(
        "limit",
        "How many of it at most, if not all.",
        integer(1, LIMIT_TAKEN),
    );
    let message = "Query parameter year must narrow the 4711 that are found to at most 2000, or limit and offset ask for a part";
    draft.refuses(unfit("year", message), "A parameter does not fit, or more has to be given.")
}

fn year() -> RefOr<Schema> {
    integer(i32::MIN.into(), i32::MAX.into())
}

fn unfit(parameter: &str, message: &str) -> Failure {
    let fault = ApiError::at(parameter, ErrorType::Malformed, message).with("specified", "MMXX");
    Failure::malformed(vec![fault]).with_status(StatusCode::BAD_REQUEST)
}
