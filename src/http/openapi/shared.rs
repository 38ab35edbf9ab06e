//! Parts that several operations share.

use serde::Serialize;
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::draft::{OperationDraft, integer, one_of, text, uuid};
use super::examples::{Example, LEADS};
use crate::current::api_version::{API_VERSION, PROMPT_VERSION};
use crate::current::offer_previews::LIMIT_MAX;
use crate::current::vehicles::LIMIT_TAKEN;
use offerd_insight::analytics::{PAGINATION_TOKEN, bounds};
use offerd_model::ErrorType::{Duplicate, Malformed, Missing};
use offerd_model::{
    Components, Lead, LeadView, PartnerEventReceipt, ProvidedCreditRating, RateTable, Zipcode, schema,
};
use offerd_web::Failure;

/// Input attributes that an output lead lacks (specification, Lead).
const INPUT_ONLY: [&str; 2] = ["productTypes", "formCompleted"];

/// Description of a parameter that narrows a list to one name.
pub const THIS_ONE: &str = "Only this one, spelt as listed, in any case.";

const FEED: &str = "Come back to `nextUrl` an hour later (newer form: five minutes), or at once while `shouldContinuePolling` is true.\n\nWithout \
    `API-Version`, the hourly form: `timestamp` is required. With `API-Version: 2025-04-01`, the newer form: \
    `sinceTimestamp` or `paginationToken` is required.";

/// How long most idempotency keys are remembered.
pub const FOR_A_DAY: &str = "for 24 hours";

/// Submits a lead for a rate table.
pub fn submit(draft: OperationDraft<'_>) -> OperationDraft<'_> {
    draft
        .repeatable(FOR_A_DAY)
        .newer_values()
        .with(lead)
        .with(rate_table)
        .with_header("Table-Events")
        .refuses(Failure::conflict(Uuid::nil()), "The lead exists already.")
}

/// Waits for a rate table to be complete.
pub const WAIT: &str = "`wait=20` answers once no partner is outstanding, after at most that many seconds (60, and the table's deadline).";

/// Takes a lead as the body.
pub fn lead(draft: OperationDraft<'_>) -> OperationDraft<'_> {
    let message = "must be an integer, got a string";
    draft.body::<Lead>(LEADS).faults("loanInformation.loanAmount", Malformed, message, "Not a lead.")
}

/// Answers with a rate table.
pub fn rate_table(draft: OperationDraft<'_>) -> OperationDraft<'_> {
    let draft = draft.answers::<RateTable>(200, "The rate table.");
    draft.with_header("ETag").with_header("Retry-After").with_header("Table-Deadline")
}

/// Answers with an offer page.
pub fn offer_page(draft: OperationDraft<'_>) -> OperationDraft<'_> {
    let busy = "A page that asks to retry: the service is at a limit, or its store does not answer.";
    draft
        .path("page", "The value from the address in a rate table.", uuid())
        .query(
            "return",
            "A URL that the page links back to, on one of the operator's `offer_pages.frame_ancestors`.",
            text(),
        )
        .answers_page(200, "The page.")
        .answers_page(404, "A page without offers: unknown or removed.")
        .answers_page(410, "A page that says that the offers have expired.")
        .answers_page(503, busy)
        .with_header("Retry-After")
        .answers_page(429, "A page that asks to wait: the address opens pages too often.")
        .with_header("Retry-After")
}

/// Previews offers.
pub fn preview(draft: OperationDraft<'_>) -> OperationDraft<'_> {
    let rating = "The person's own statement of their credit.";
    let message = "Query parameter zipCode must be a zipcode of five digits, or ZIP+4";
    draft
        .query_of::<ProvidedCreditRating>("providedCreditRating", rating)
        .query_of::<Zipcode>("zipCode", "Where the person lives.")
        .query("limit", "The maximum number of offers; all by default.", integer(1, LIMIT_MAX))
        .lenient()
        .newer_values()
        .header("If-None-Match", "The `ETag` of the client's copy.")
        .answers_empty(304, "The client's copy is current.")
        .with_header("ETag")
        .faults("zipCode", Malformed, message, "A parameter is invalid.")
}

/// Requests a part of a vehicle list.
pub fn part(draft: OperationDraft<'_>) -> OperationDraft<'_> {
    let fault = "Query parameter year must narrow the 4711 results to at most 2000, or use limit and offset";
    draft
        .query("offset", "How many entries to skip.", integer(0, i64::MAX))
        .query("limit", "The maximum number of entries; all by default.", integer(1, LIMIT_TAKEN))
        .refuses(unfit("year", fault), "A parameter is invalid, or more are needed.")
}

/// A model year.
pub fn year() -> RefOr<Schema> {
    integer(i32::MIN, i32::MAX)
}

/// The refusal of a parameter of a vehicle list.
pub fn unfit(parameter: &str, message: &str) -> Failure {
    let mut failure =
        Failure::fault(parameter, Malformed, message).with_status(hyper::StatusCode::BAD_REQUEST);
    failure.errors = failure.errors.into_iter().map(|error| error.with("specified", "MMXX")).collect();
    failure
}

/// Reads a feed page by page.
pub fn feed<P: Example + ToSchema + Serialize>(draft: OperationDraft<'_>) -> OperationDraft<'_> {
    let moment = || schema::text("date-time");
    let timestamp = "Hourly form: only records that arrived then or later; at least an hour ago.";
    let since =
        "Newer form: start of the first page, at least five minutes ago; with a test token until now.";
    let until = "Newer form: end of the last page, exclusive.";
    let token = "Newer form: the next page, from `nextUrl`; other parameters are ignored.";
    let faulty = "The time is missing, invalid, or less than an hour (newer form: five minutes, with a test token none) ago.";
    draft
        .about(FEED)
        .query("timestamp", timestamp, moment())
        .parameter(ParameterIn::Header, API_VERSION, "Asks for the newer form.", one_of(&[PROMPT_VERSION]))
        .query("sinceTimestamp", since, moment())
        .query("untilTimestamp", until, moment())
        .query(PAGINATION_TOKEN, token, schema::text("byte"))
        .answers::<P>(200, "A page.")
        .faults("timestamp", Missing, &bounds::missing("timestamp"), faulty)
}

/// Takes a partner's report.
pub fn report(draft: OperationDraft<'_>) -> OperationDraft<'_> {
    let other = Failure::fault("transactionId", Duplicate, "was reported with other content before");
    let other = other.with_status(hyper::StatusCode::CONFLICT);
    let invalid = "Not a valid report on a lead that the partner received.";
    draft
        .answers::<PartnerEventReceipt>(200, "The result of the report: known already, or reversed.")
        .unknown("Report", "There is nothing to reverse.")
        .refuses(other, "The transaction id belongs to another report.")
        .faults("eventType", Missing, "must be given", invalid)
}

/// The schema `Lead`: the service's own attributes and, flattened into it, the submitted sections.
pub fn complete_lead_view(components: &mut Components) {
    let (RefOr::T(Schema::Object(mut view)), RefOr::T(Schema::Object(sent))) =
        (LeadView::schema(), Lead::schema())
    else {
        return;
    };
    for (name, schema) in sent.properties.into_iter().filter(|(name, _)| !INPUT_ONLY.contains(&&**name)) {
        view.properties.entry(name).or_insert(schema);
    }
    components.push((LeadView::name().into_owned(), view.into()));
    LeadView::schemas(components);
}
