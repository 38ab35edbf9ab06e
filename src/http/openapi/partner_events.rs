//! What partners report.

use hyper::{Method, StatusCode};
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Required, Schema};
use uuid::Uuid;

use super::draft::{Draft, text};
use super::examples;
use crate::model::{
    ApiError, Components, ErrorType, PartnerEventType, PartnerReportFields, ProductType, RejectReason, schema,
};
use crate::web::{Failure, signature};

/// The section of the document.
pub const TAG: &str = "Partner events";

/// A report to try.
const REPORT: &str = include_str!("examples/partner_report.json");

const PATH: &str = "/partnerEvents";

/// The operations.
pub fn operations(components: &mut Components) -> Vec<Draft> {
    vec![by_body(components), by_query(components), callback()]
}

/// What partners are given to call is their own form, so the body is theirs.
fn callback() -> Draft {
    Draft::new(Method::POST, "/callbacks/{id}", TAG, "answerAsk")
        .about(
            "For partners whose file says that they answer by calling: the address is `callback_url` of their request, the body what the \
             file's `answer` reads.",
        )
        .parameter(ParameterIn::Path, "id", Required::True, "Stands in the address.", schema::text("uuid"))
        .answers_empty(StatusCode::NO_CONTENT, "It was taken in.")
        .refuses(Failure::forbidden("The signature is not that of the partner"), "It is not signed as the partner's file wants it.")
        .refuses(Failure::unknown("Callback does not exist"), "No ask had this address.")
        .refuses(Failure::gone("The ask has ended"), "It came too late, or a second time.")
        .refuses(
            Failure::malformed(vec![ApiError::new(ErrorType::Malformed, "`answer.offers`: finds nothing")]),
            "It cannot be read as the partner's file has it; a call that can is still waited for.",
        )
}

fn by_body(components: &mut Components) -> Draft {
    let draft = Draft::new(Method::POST, PATH, TAG, "reportPartnerEvent")
        .about(
            "A report needs `transactionId` and `revoked`, or `transactionId`, `eventType` and one of `clickId`, \
             `offerUuid`, `leadUuid`. Sent twice, it counts once.",
        )
        .body::<PartnerReportFields>(Required::True, &[("a funded loan", REPORT)], components)
        .answers(StatusCode::CREATED, "What became of the report.", &examples::receipt(), components);
    known(draft, components)
}

fn by_query(components: &mut Components) -> Draft {
    let key = "The id of the partner's signing key.";
    let about = "What happened; left out only when `revoked` is true.";
    let draft = Draft::new(Method::GET, PATH, TAG, "reportPartnerEventByQuery")
        .parameter(ParameterIn::Query, signature::KEY_ID, Required::True, key, schema::text("uuid"))
        .parameter(ParameterIn::Query, "transactionId", Required::True, "The partner's own id of it.", text())
        .query("eventType", about, schema::reference::<PartnerEventType>(components))
        .query("clickId", "The click that led to it.", schema::text("uuid"))
        .query("offerUuid", "The offer.", schema::text("uuid"))
        .query("leadUuid", "The lead, where the partner knows no offer.", schema::text("uuid"))
        .query("productType", "The product, then.", schema::reference::<ProductType>(components))
        .query("occurredAt", "When it happened.", schema::text("date-time"))
        .query("amountInCents", "The amount at stake.", typed(Type::Integer))
        .query("payoutInCents", "What the supply partner earns.", typed(Type::Number))
        .query("rejectReason", "Why it was rejected.", schema::reference::<RejectReason>(components))
        .query("revoked", "Takes back what was reported under this transaction id.", typed(Type::Boolean));
    known(draft, components)
}

fn known(draft: Draft, components: &mut Components) -> Draft {
    let fault = |attribute: &str, error_type, message: &str| {
        Failure::malformed(vec![ApiError::at(attribute, error_type, message)])
    };
    let other = fault("transactionId", ErrorType::Duplicate, "was reported with other content before");
    let nothing = Failure::unknown_uuid("Report", Uuid::nil());
    draft
        .answers(
            StatusCode::OK,
            "What became of the report, known before or taken back.",
            &examples::receipt(),
            components,
        )
        .refuses(nothing, "There is nothing to take back.")
        .refuses(other.with_status(StatusCode::CONFLICT), "The transaction id stands for another report.")
        .refuses(
            fault("eventType", ErrorType::Missing, "must be given"),
            "Not a report of a lead that the partner was sent.",
        )
}

fn typed(kind: Type) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(kind).into()
}
