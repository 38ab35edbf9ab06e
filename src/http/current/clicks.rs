//! `GET /click/{id}`

use hyper::header::{ACCEPT, LOCATION};

use super::offer_pages::{PageMessage, message};
use crate::prelude::*;
use offerd_engine::conversions::click::{Click, Unrecorded, click};
use offerd_engine::conversions::preview_click::preview_click;
use offerd_engine::matching::preview_expiry::{self, UNTIL};
use offerd_web::{list, percent};

const RETRY_AFTER_CROWDED_S: u32 = 1;

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Redirects a person to the partner whose offer they opened. A browser's prefetch is not a click.
pub async fn open(context: Context<ApiState>) -> Answer {
    if context.request.is_prefetch() {
        return Err(Failure::fetched_ahead());
    }
    let unknown = || Failure::unknown("Offer does not exist");
    let rates = &context.app.click_rates;
    rates.count_address(&context.request)?;
    let offer = context.params.uuid("id").map_err(|_| unknown())?;
    let engine = context.app.engine();
    if let Some(preview) = preview_click(engine, offer) {
        let (ids, told) = (&engine.records.templates.ids, context.request.query_value(UNTIL));
        if preview_expiry::is_over(ids, offer, told, preview.is_brief(), engine.now_ms()) {
            return ended(&context, None);
        }
        rates.count_preview(&context.request, offer)?;
        return on_to(&preview.record(engine).await).ok_or_else(unknown);
    }
    let opened = match click(engine, offer).map_err(unreadable)? {
        Click::Offer(opened) => opened,
        Click::Unknown => return Err(unknown()),
        Click::Expired(company) => return ended(&context, Some(company)),
    };
    rates.count_offer(offer)?;
    let url = opened.record(engine).await.map_err(|unrecorded| match unrecorded {
        Unrecorded::Unavailable => unreadable(()),
        Unrecorded::Crowded => Failure::overloaded(RETRY_AFTER_CROWDED_S),
    })?;
    on_to(&url).ok_or_else(unknown)
}

fn ended(context: &Context<ApiState>, company: Option<Uuid>) -> Answer {
    match is_opened_by_a_person(&context.request.headers) {
        true => message(&context.app, company, false, None, PageMessage::OFFER_ENDED),
        false => Err(Failure::gone("Offer has expired")),
    }
}

/// Whether the client accepts a page, like a browser that opens an address.
pub fn is_opened_by_a_person(headers: &HeaderMap) -> bool {
    let is_page =
        |one: &str| ["text/html", "application/xhtml+xml"].iter().any(|page| one.eq_ignore_ascii_case(page));
    let mut types = list::items(headers, &ACCEPT).filter_map(|one| one.split(';').next());
    types.any(|one| is_page(one.trim())) || headers.get(SEC_FETCH_DEST).is_some_and(|dest| dest == "document")
}

fn on_to(url: &str) -> Option<Reply> {
    let target = HeaderValue::try_from(&*percent::encode(url)).ok()?;
    Some(Reply::empty(StatusCode::FOUND).header(LOCATION, target))
}
