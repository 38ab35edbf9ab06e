//! `GET /offers/{page}`, `GET /offers/{page}/embed`, `GET /offers/{page}/events`,
//! `GET /offers/{page}/{offer}/seen.gif`: the offer page of a rate table, which shows its offers to a person as
//! they arrive.
//!
//! Its address is the only credential ([`public_ids`](offerd_engine::records::public_ids)).

pub mod brand;
mod cards;
mod templates;

use chrono::DateTime;
use futures_util::StreamExt;
use metrics::counter;
use tokio::task::spawn_blocking;

use self::brand::{Brand, WayBack};
use self::cards::{OfferEnds, day};
use self::templates::OfferPage;
pub use self::templates::{PageMessage, SORTING};
use super::table_events::{Followed, STILL_PENDING, follow, last_seen};
use super::ui_events::{record_display, transparent_pixel};
use crate::prelude::*;
use offerd_base::telemetry::metrics::{OFFER_PAGE_DISPLAYS, OFFER_PAGES};
use offerd_engine::conversions::click;
use offerd_engine::matching::showing;
use offerd_engine::records::displayed_offer::DisplayedOffer;
use offerd_web::Params;
use offerd_web::events::EVENT_STREAM;

const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

enum PageLookup {
    /// Unknown: never existed, the lead is erased, or its retention is over.
    Unknown,
    /// An expired page of this company.
    Expired(Uuid),
    Open(OpenPage),
}

#[derive(Debug, Clone, Copy)]
struct OpenPage {
    table: Uuid,
    lead: Uuid,
    /// The company that the offers were made for.
    viewer: Viewer,
    until: DateTime<Utc>,
}

/// Shows the stand-alone page.
pub async fn show(context: Context<ApiState>) -> Answer {
    page(context, false).await
}

/// Shows the page for a frame on another site.
pub async fn embed(context: Context<ApiState>) -> Answer {
    page(context, true).await
}

/// Streams the offers of the page on every change, until the table is complete.
pub async fn events(context: Context<ApiState>) -> Answer {
    let app = &context.app;
    app.click_rates.count_address(&context.request)?;
    let unknown = || Failure::unknown("Page does not exist");
    let opened = match find(app, &context.params)? {
        PageLookup::Open(opened) => opened,
        PageLookup::Expired(_) => return Err(Failure::gone("Page has expired")),
        PageLookup::Unknown => return Err(unknown()),
    };
    let shown = context.request.query_value("seen").and_then(|version| version.parse().ok());
    let seen = last_seen(&context.request.headers).or(shown);
    match follow(Arc::clone(app), opened.viewer, opened.table, seen).await? {
        Followed::Unknown => Err(unknown()),
        Followed::Seen => Ok(Reply::empty(StatusCode::NO_CONTENT).own_site()),
        Followed::Changes(changes) => {
            let (root, app) = (root_of(app, &context.params), Arc::clone(app));
            let events = changes.then(move |change| {
                let (root, app) = (root.clone(), Arc::clone(&app));
                async move {
                    let Some(snapshot) = change else { return Ok(STILL_PENDING) };
                    let event = move || {
                        templates::event(&snapshot, &app.engine().base_url, &root, &ends(&app, &opened)?)
                    };
                    let event = spawn_blocking(event).await;
                    event.map_err(std::io::Error::other)?.map_err(|_| std::io::ErrorKind::InvalidData.into())
                }
            });
            Ok(Reply::stream(EVENT_STREAM, events).own_site())
        }
    }
}

/// Answers with a transparent pixel for any path; records the display if it is an offer of the page.
pub async fn seen(context: Context<ApiState>) -> Answer {
    let Context { app, request, params, .. } = context;
    if request.method == Method::GET && !request.is_prefetch() {
        let recorded = app.click_rates.count_address(&request).is_ok() && record_seen(&app, &params).await;
        counter!(OFFER_PAGE_DISPLAYS, "recorded" => if recorded { "yes" } else { "no" }).increment(1);
    }
    Ok(transparent_pixel().own_site())
}

/// Records a display, if it is of an offer of the page.
async fn record_seen(app: &ApiState, params: &Params) -> bool {
    let (Ok(PageLookup::Open(opened)), Ok(offer)) = (find(app, params), params.uuid("offer")) else {
        return false;
    };
    let shown = DisplayedOffer { lead: opened.lead, rate_table: opened.table, offer };
    app.click_rates.takes_display(offer) && record_display(app, shown).await
}

async fn page(context: Context<ApiState>, framed: bool) -> Answer {
    let app = Arc::clone(&context.app);
    app.click_rates.count_address(&context.request)?;
    let back = context.request.query_value("return").and_then(|url| app.offer_pages.way_back(url));
    let message = |company, said| message(&app, company, framed, back.as_ref(), said);
    let opened = match find(&app, &context.params)? {
        PageLookup::Open(opened) => opened,
        PageLookup::Expired(company) => return message(Some(company), PageMessage::EXPIRED),
        PageLookup::Unknown => return message(None, PageMessage::UNKNOWN),
    };
    let snapshot = showing::rate_table(app.engine(), opened.viewer, opened.table).await;
    let Some(snapshot) = snapshot.map_err(unreadable)? else {
        return message(None, PageMessage::UNKNOWN);
    };
    let root = root_of(&app, &context.params);
    let written = blocking("an offer page could not be written", move || {
        let (name, brand) = brand_of(&app, Some(opened.viewer.company));
        let page = OfferPage {
            name,
            brand,
            framed,
            back: back.as_ref(),
            base_url: &app.engine().base_url,
            root: &root,
            until: &day(&opened.until),
            ends: &ends(&app, &opened)?,
            snapshot: &snapshot,
        };
        templates::page(&page).map(|html| html_reply(html, brand, framed))
    });
    let reply = written.await??;
    counter!(OFFER_PAGES, "answer" => "shown").increment(1);
    Ok(reply)
}

fn ends(app: &ApiState, opened: &OpenPage) -> Result<OfferEnds, Failure> {
    let engine = app.engine();
    let at = click::ends(engine, opened.table).map_err(unreadable)?;
    Ok(OfferEnds { at, now: engine.now_ms(), page: opened.until.timestamp_millis() })
}

/// A page that explains why it has no offers, or why an offer cannot be opened.
pub fn message(
    app: &ApiState,
    company: Option<Uuid>,
    framed: bool,
    back: Option<&WayBack>,
    message: PageMessage,
) -> Answer {
    counter!(OFFER_PAGES, "answer" => message.name).increment(1);
    let (name, brand) = brand_of(app, company);
    let html = templates::message(&name, brand, framed, back, message)?;
    Ok(html_reply(html, brand, framed).status(message.status))
}

/// A failure as an HTML page, if there is a text for its status, with the headers of the failure.
pub fn failure_page(app: &ApiState, failure: &Failure, framed: bool) -> Option<Reply> {
    let said = match failure.status {
        StatusCode::NOT_FOUND => PageMessage::UNKNOWN,
        StatusCode::TOO_MANY_REQUESTS => PageMessage::TOO_OFTEN,
        StatusCode::SERVICE_UNAVAILABLE => PageMessage::OFFER_UNAVAILABLE,
        _ => return None,
    };
    let page = message(app, None, framed, None, said).ok()?;
    Some(failure.headers.iter().cloned().fold(page, |page, (name, value)| page.header(name, value)))
}

fn html_reply(html: String, brand: &Brand, framed: bool) -> Reply {
    let robots = HeaderValue::from_static("noindex, nofollow");
    Reply::page(html, brand.policy(framed)).guarded().header(ROBOTS, robots).compressible().own_site()
}

fn brand_of(app: &ApiState, company: Option<Uuid>) -> (String, &Brand) {
    let company = company.and_then(|company| app.tokens.company(company));
    let name = company.map(|company| company.name).unwrap_or_default();
    let brand = app.offer_pages.brand(&name);
    (brand.name.clone().unwrap_or(name), brand)
}

/// Prefix of the addresses of a page's stream and images: the path of the stand-alone page, in a frame too.
fn root_of(app: &ApiState, params: &Params) -> String {
    let base_url = &app.engine().base_url;
    base_url.on_host(format_args!("/offers/{}/", params.get("page").unwrap_or_default()))
}

fn find(app: &ApiState, params: &Params) -> Result<PageLookup, Failure> {
    let engine = app.engine();
    let page = params.uuid("page").ok();
    let Some(table) = page.and_then(|page| engine.records.templates.ids.read_page(page)) else {
        return Ok(PageLookup::Unknown);
    };
    let store = &engine.records.store;
    let Some(head) = reading::head(store, table).map_err(unreadable)? else { return Ok(PageLookup::Unknown) };
    if store.is_erased(head.lead).map_err(unreadable)? {
        return Ok(PageLookup::Unknown);
    }
    let until = head.created_at.saturating_add(app.offer_pages.open_for_ms);
    if engine.now_ms() > until {
        return Ok(PageLookup::Expired(head.company));
    }
    Ok(PageLookup::Open(OpenPage {
        table,
        lead: head.lead,
        viewer: Viewer::of_all(head.company),
        until: DateTime::from_timestamp_millis(until).unwrap_or_default(),
    }))
}
