//! Leads in, rate tables out.

use hyper::{Method, StatusCode};
use utoipa::openapi::Required;
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use uuid::Uuid;

use super::draft::Draft;
use super::examples;
use crate::http::current::submission::KEY_BYTES;
use crate::model::{ApiError, Components, ErrorType, Lead};
use crate::web::Failure;

/// The section of the document.
pub const TAG: &str = "Rate tables";

/// Leads to try.
pub(super) const LEADS: &[(&str, &str)] = &[
    ("minimal", include_str!("../../../tests/leads/minimal.json")),
    ("personal loan", include_str!("../../../tests/leads/personal_loan.json")),
    ("credit card", include_str!("../../../tests/leads/credit_card.json")),
    ("savings", include_str!("../../../tests/leads/savings.json")),
];

/// What the service takes as an `Idempotency-Key`: visible characters, blanks between them.
const KEY: &str = "^[!-~]([ -~]*[!-~])?$";

/// The operations.
pub fn operations(components: &mut Components) -> Vec<Draft> {
    vec![
        submit("/leads/rateTables", "submitLead", components),
        submit("/blocking/leads/rateTables", "submitLeadAndWait", components)
            .about("`pendingResponses` of the answer is always empty."),
        again(components),
        show(components),
        Draft::new(Method::GET, "/originator/rateTables/{uuid}/events", TAG, "streamRateTable")
            .about("Each event `rateTable` holds the whole table; its id is the table's version.")
            .header("Last-Event-ID", "The version that the client holds already.")
            .answers_events("The rate table, whenever it changes.", &["event", "id", "data"])
            .answers_empty(
                StatusCode::NO_CONTENT,
                "The table is complete, and the client has seen it: an `EventSource` stops.",
            )
            .refuses(unknown("RateTable"), "The company has no such rate table."),
    ]
}

fn submit(path: &'static str, id: &'static str, components: &mut Components) -> Draft {
    let key = ObjectBuilder::new().schema_type(Type::String).pattern(Some(KEY)).max_length(Some(KEY_BYTES));
    let about =
        "A name for this submit: sent again under it, the same body is taken once and answered alike.";
    let draft = Draft::new(Method::POST, path, TAG, id)
        .parameter(ParameterIn::Header, "Idempotency-Key", Required::False, about, key)
        .newer_values()
        .body::<Lead>(Required::True, LEADS, components);
    let duplicate = Failure::conflict(Uuid::nil());
    answers_table(draft, components)
        .refuses(duplicate, "The lead exists already.")
        .refuses(unfit(), "Not a lead.")
}

fn again(components: &mut Components) -> Draft {
    let draft = Draft::new(Method::POST, "/leads/{leadUuid}/rateTables", TAG, "submitLeadAgain")
        .about(
            "By a publishable token for 24 hours after the lead was made (a setting of the operator); then the lead is unknown \
             to it.",
        )
        .newer_values()
        .body::<Lead>(Required::False, LEADS, components);
    answers_table(draft, components)
        .refuses(
            unknown("Lead"),
            "The company has no such lead, or it was made too long ago for a publishable token.",
        )
        .refuses(unfit(), "Not a lead.")
}

fn show(components: &mut Components) -> Draft {
    let draft = Draft::new(Method::GET, "/originator/rateTables/{uuid}", TAG, "getRateTable")
        .header("Prefer", "`wait=10` answers as soon as the table is not what `If-None-Match` names, at most that many seconds later.")
        .header("If-None-Match", "The `ETag` of the table that the client holds.");
    answers_table(draft, components)
        .answers_empty(StatusCode::NOT_MODIFIED, "The table is what the client holds.")
        .with_header("ETag")
        .refuses(unknown("RateTable"), "The company has no such rate table.")
}

fn answers_table(draft: Draft, components: &mut Components) -> Draft {
    draft
        .answers(StatusCode::OK, "The rate table.", &examples::rate_table(), components)
        .with_header("ETag")
        .with_header("Retry-After")
        .with_header("Table-Deadline")
}

/// A lead that does not fit.
pub(super) fn unfit() -> Failure {
    let message = "must be an integer, got a string";
    Failure::malformed(vec![ApiError::at("loanInformation.loanAmount", ErrorType::Malformed, message)])
}

/// A uuid that names nothing of the company's.
pub(super) fn unknown(noun: &str) -> Failure {
    Failure::unknown_uuid(noun, Uuid::nil())
}
