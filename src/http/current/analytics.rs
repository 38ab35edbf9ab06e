//! `GET /supplyAnalytics/leadEvents`, `GET /supplyAnalytics/leadPayouts`, `GET /supplyAnalytics/leadClientTags`,
//! `GET /supplyAnalytics/leadsInfo/{leadUuid}`
//!
//! The header `API-Version: 2025-04-01`, or a `paginationToken`, asks for the newer form of the feeds; without either the
//! specification's form answers. A `paginationToken` carries all that a page is asked for by, so what stands beside it is
//! ignored.

use hyper::HeaderMap;
use serde::Serialize;

use super::api_version::{self, API_VERSION, PROMPT_VERSION};
use crate::prelude::*;
use offerd_engine::records::reading;
use offerd_insight::analytics::{
    ArrivalTime, ClientTags, Cursor, EventTypes, Events, Feed, Form, FoundInfo, Horizon, PAGINATION_TOKEN,
    PageRequest, Payouts, bounds,
};
use offerd_model::{AnsweredPage, EventType, LeadInfoResponse, Viewer};
use offerd_store::Tree;
use offerd_web::Request;
use offerd_web::query::{self, Query};

/// Where the first page of the newer form starts.
const SINCE: &str = "sinceTimestamp";
/// Where its last page ends.
const UNTIL: &str = "untilTimestamp";

/// Shows a page of what happened to the leads of the caller's company.
pub async fn lead_events(context: Context<App>) -> Result<Reply, Failure> {
    Ok(page::<Events>(context).await?.compressible())
}

/// Shows a page of what they earned.
pub async fn lead_payouts(context: Context<App>) -> Result<Reply, Failure> {
    Ok(page::<Payouts>(context).await?.compressible())
}

/// Shows a page of how they were tagged. It is not compressed, since tags are text that whoever submits leads chooses, and its
/// length would tell of those of others.
pub async fn lead_client_tags(context: Context<App>) -> Result<Reply, Failure> {
    page::<ClientTags>(context).await
}

/// Reads on a thread that may block: a page can be long.
async fn page<F: Feed<Record: Serialize> + 'static>(context: Context<App>) -> Result<Reply, Failure> {
    let viewer = context.caller()?.viewer();
    let horizon = context.app.feeds.horizon().await.map_err(unreadable)?;
    let asked = page_request::<F>(&context.request, horizon)?;
    let app = Arc::clone(&context.app);
    let reading = move || {
        let page = app.feeds.page::<F>(viewer, asked, horizon).map_err(unreadable)?;
        let token = page.next_url.split_once(&format!("?{PAGINATION_TOKEN}="));
        Reply::json(&AnsweredPage { page: &page, pagination_token: token.map(|(_, token)| token) })
    };
    blocking("feed page could not be read", reading).await?
}

/// Shows what the feeds tell of one lead, with a sentence for what is not there yet. It is not compressed, as tags are not.
pub async fn lead_info(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("leadUuid")?;
    match api_version::named(&context.request.headers)? {
        Some(PROMPT_VERSION) => {}
        None if !context.request.headers.contains_key(API_VERSION) => return Err(no_version()),
        _ => return Err(other_version("")),
    }
    let viewer = context.caller()?.viewer();
    let app = Arc::clone(&context.app);
    blocking("what the feeds tell of a lead could not be read", move || info(&app, viewer, uuid)).await?
}

fn info(app: &App, viewer: Viewer, uuid: Uuid) -> Result<Reply, Failure> {
    let store = &app.matchmaker.engine().records.store;
    let lead = reading::lead(store, uuid).map_err(unreadable)?;
    let lead = lead.filter(|lead| viewer.sees(lead.company, lead.test));
    let lead = lead.ok_or_else(|| Failure::unknown_uuid("Lead", uuid))?;
    // Before the feeds are read: what completes meanwhile is told, and nobody is told to wait for it in vain.
    let mut warnings: Vec<String> = Vec::new();
    for table in reading::tables_of(store, &lead) {
        let open = store.get(Tree::OpenTables, table).map_err(unreadable)?;
        warnings.extend(open.map(|_| {
            format!("events: rate table {table} is pending; what its partners decide is not there yet")
        }));
    }
    let since = ArrivalTime(reading::made_since_us(lead.created_at));
    let FoundInfo { info, cut_at } = app.feeds.of_lead(&lead, since).map_err(unreadable)?;
    warnings.extend(cut_at.map(|at| {
        format!("events, payouts, clientTags: what arrived from {at} on is told by the feeds only")
    }));
    let status = if warnings.is_empty() { StatusCode::OK } else { StatusCode::PARTIAL_CONTENT };
    Ok(Reply::json(&LeadInfoResponse { data: info, warnings })?.status(status))
}

fn page_request<F: Feed>(request: &Request, horizon: Horizon) -> Result<PageRequest, Failure> {
    let form = form(&request.headers)?;
    query::read(request, |query| match (query.optional(PAGINATION_TOKEN, query::text), form) {
        (Some(token), _) => query.accept(Cursor::read::<F>(token)),
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

/// 422: what is told has one form only, and its version is not named.
pub fn no_version() -> Failure {
    let message = format!("Header {API_VERSION} must be specified: {PROMPT_VERSION}");
    Failure::fault(API_VERSION, ErrorType::Missing, message)
}

/// 422: a version of the interface is named that the feeds do not have.
fn other_version(or: &str) -> Failure {
    let message = format!("Header {API_VERSION} must be {PROMPT_VERSION}{or}");
    Failure::fault(API_VERSION, ErrorType::Malformed, message)
}

/// What only the newer form goes by must be right here too: who sends it believes to be heard.
fn hourly<F: Feed>(query: &mut Query<'_>, horizon: Horizon) -> Option<PageRequest> {
    let start = start(query, "timestamp", horizon.latest(Form::Hourly));
    let since = query.optional(SINCE, query::text).and_then(|_| since(query, horizon));
    until(query, since);
    event_types::<F>(query);
    start.map(PageRequest::hourly)
}

fn since(query: &mut Query<'_>, horizon: Horizon) -> Option<ArrivalTime> {
    start(query, SINCE, horizon.latest(Form::Prompt))
}

fn event_types<F: Feed>(query: &mut Query<'_>) -> Option<EventTypes> {
    let chosen =
        F::HAS_EVENT_TYPES.then(|| query.optional("eventType", query::choices::<EventType>)).flatten();
    chosen.map(EventTypes::from_iter)
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

/// The end is looked at even if the start is faulty, so that both are told at once.
fn until(query: &mut Query<'_>, start: Option<ArrivalTime>) -> Option<ArrivalTime> {
    let given = query.optional(UNTIL, query::text)?;
    query.accept(bounds::until(UNTIL, given, start.unwrap_or(ArrivalTime::FIRST)))
}
