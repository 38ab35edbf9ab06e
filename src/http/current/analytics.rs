//! `GET /supplyAnalytics/leadEvents`, `GET /supplyAnalytics/leadPayouts`,
//! `GET /supplyAnalytics/leadClientTags`, `GET /supplyAnalytics/leadsInfo/{leadUuid}`
//!
//! The header `API-Version: 2025-04-01`, or a `paginationToken`, selects the newer form of the feeds. The
//! token has all parameters of a page, so the others are ignored.

use serde::Serialize;

use super::api_version::{self, API_VERSION, PROMPT_VERSION};
use crate::prelude::*;
use offerd_insight::analytics::{
    ArrivalTime, ClientTagFeed, EventTypes, Events, Feed, Form, FoundInfo, Horizon, PAGINATION_TOKEN,
    PageCursor, PageRequest, Payouts, bounds,
};
use offerd_model::{AnsweredPage, EventType, LeadInfoResponse};
use offerd_store::Tree;
use offerd_web::query::{self, Query};

const TIMESTAMP: &str = "timestamp";
const SINCE: &str = "sinceTimestamp";
const UNTIL: &str = "untilTimestamp";

/// Shows a page of the events of the company's leads.
pub async fn lead_events(context: Context<ApiState>) -> Answer {
    Ok(page::<Events>(context).await?.compressible())
}

/// Shows a page of their payouts.
pub async fn lead_payouts(context: Context<ApiState>) -> Answer {
    Ok(page::<Payouts>(context).await?.compressible())
}

/// Shows a page of their client tags, uncompressed: the length would leak tags of other clients.
pub async fn lead_client_tags(context: Context<ApiState>) -> Answer {
    page::<ClientTagFeed>(context).await
}

/// Reads a page on a blocking thread, since it may be long.
async fn page<F: Feed<Record: Serialize> + 'static>(context: Context<ApiState>) -> Answer {
    let viewer = context.caller()?.viewer();
    let horizon = context.app.feeds.horizon(viewer.test).await.map_err(unreadable)?;
    let asked = page_request::<F>(&context.request, horizon)?;
    let app = Arc::clone(&context.app);
    let reading = move || {
        let page = app.feeds.page::<F>(viewer, asked, horizon).map_err(unreadable)?;
        let token = page.next_url.split_once(&format!("?{PAGINATION_TOKEN}="));
        Reply::json(&AnsweredPage { page: &page, pagination_token: token.map(|(_, token)| token) })
    };
    blocking("feed page could not be read", reading).await?
}

/// Shows everything that the feeds have about one lead, with warnings for missing parts.
pub async fn lead_info(context: Context<ApiState>) -> Answer {
    let uuid = context.params.uuid("leadUuid")?;
    match api_version::named(&context.request.headers)? {
        Some(PROMPT_VERSION) => {}
        None if !context.request.headers.contains_key(API_VERSION) => return Err(no_version()),
        _ => return Err(other_version("")),
    }
    let viewer = context.caller()?.viewer();
    let app = Arc::clone(&context.app);
    blocking("feed records of a lead could not be read", move || info(&app, viewer, uuid)).await?
}

fn info(app: &ApiState, viewer: Viewer, uuid: Uuid) -> Answer {
    let store = &app.engine().records.store;
    let lead = reading::lead(store, uuid).map_err(unreadable)?;
    let lead = lead.filter(|lead| viewer.sees(lead.company, lead.test));
    let lead = lead.ok_or_else(|| Failure::unknown_uuid("Lead", uuid))?;
    // Checked before the feeds are read, so that nothing is missing without a warning.
    let mut warnings: Vec<String> = Vec::new();
    for table in reading::tables_of(store, &lead) {
        let open = store.get(Tree::OpenTables, table).map_err(unreadable)?;
        warnings.extend(
            open.map(|_| {
                format!("events: rate table {table} is pending; its partners' decisions are missing")
            }),
        );
    }
    let since = ArrivalTime(reading::made_since_us(lead.created_at));
    let FoundInfo { info, cut_at } = app.feeds.of_lead(&lead, since).map_err(unreadable)?;
    warnings.extend(
        cut_at.map(|at| format!("events, payouts, clientTags: arrivals since {at} are in the feeds only")),
    );
    let status = if warnings.is_empty() { StatusCode::OK } else { StatusCode::PARTIAL_CONTENT };
    Ok(Reply::json(&LeadInfoResponse { data: info, warnings })?.status(status))
}

fn page_request<F: Feed>(request: &Request, horizon: Horizon) -> Result<PageRequest, Failure> {
    let form = form(&request.headers)?;
    query::read(request, |query| match (query.optional(PAGINATION_TOKEN, query::text), form) {
        (Some(token), _) => query.accept(PageCursor::read::<F>(token)),
        (None, Form::Hourly) => hourly::<F>(query, horizon),
        (None, Form::Prompt) => prompt::<F>(query, horizon),
    })
}

fn form(headers: &HeaderMap) -> Result<Form, Failure> {
    match api_version::named(headers)? {
        None => Ok(Form::Hourly),
        Some(PROMPT_VERSION) => Ok(Form::Prompt),
        Some(_) => Err(other_version(", or absent")),
    }
}

/// 422: the version header is required, as this path has only the newer form.
pub fn no_version() -> Failure {
    let message = format!("Header {API_VERSION} must be specified: {PROMPT_VERSION}");
    Failure::fault(API_VERSION, ErrorType::Missing, message)
}

fn other_version(or: &str) -> Failure {
    let message = format!("Header {API_VERSION} must be {PROMPT_VERSION}{or}");
    Failure::fault(API_VERSION, ErrorType::Malformed, message)
}

fn no_version_for_since() -> ApiError {
    let message =
        format!("{}; {SINCE} needs the header {API_VERSION}: {PROMPT_VERSION}", bounds::missing(TIMESTAMP));
    ApiError::at(TIMESTAMP, ErrorType::Missing, message)
}

/// Validates the newer parameters even here, so that they are never ignored silently.
fn hourly<F: Feed>(query: &mut Query<'_>, horizon: Horizon) -> Option<PageRequest> {
    let has_since = query.optional(SINCE, query::text).is_some();
    let start = match query.optional(TIMESTAMP, query::text) {
        None if has_since => query.accept(Err(no_version_for_since())),
        _ => start(query, TIMESTAMP, horizon.latest(Form::Hourly)),
    };
    let since = has_since.then(|| since(query, horizon)).flatten();
    until(query, since);
    event_types::<F>(query);
    start.map(PageRequest::hourly)
}

fn since(query: &mut Query<'_>, horizon: Horizon) -> Option<ArrivalTime> {
    start(query, SINCE, horizon.latest(Form::Prompt))
}

fn event_types<F: Feed>(query: &mut Query<'_>) -> Option<EventTypes> {
    let some = F::HAS_EVENT_TYPES.then(|| query.choices::<EventType>("eventType")).flatten();
    some.map(EventTypes::from_iter)
}

fn prompt<F: Feed>(query: &mut Query<'_>, horizon: Horizon) -> Option<PageRequest> {
    let start = since(query, horizon);
    let until = until(query, start);
    let event_types = event_types::<F>(query);
    let asked = PageRequest::prompt(start?);
    Some(PageRequest { until, event_types: event_types.unwrap_or(asked.event_types), ..asked })
}

fn start(query: &mut Query<'_>, name: &str, latest: ArrivalTime) -> Option<ArrivalTime> {
    let given = query.optional(name, query::text);
    query.accept(bounds::start(name, given, latest))
}

fn until(query: &mut Query<'_>, start: Option<ArrivalTime>) -> Option<ArrivalTime> {
    let given = query.optional(UNTIL, query::text)?;
    query.accept(bounds::until(UNTIL, given, start.unwrap_or(ArrivalTime::FIRST)))
}
