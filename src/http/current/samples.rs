//! `GET /samples/{partner}/{name}`: stands in for the sites of sample partners.

use hyper::header::CONTENT_SECURITY_POLICY;

use crate::prelude::*;
use offerd_insight::reference::{Sample, sample};

/// A page has no script and loads only its partner's logo; an image loads nothing.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Shows a logo, a card image, or the landing page of an offer.
pub async fn show(context: Context<ApiState>) -> Answer {
    let Context { app, request, params, .. } = &context;
    let part = |name| params.get(name).unwrap_or_default();
    let click = request.query_value("click").and_then(|click| Uuid::try_parse(click).ok());
    let found = sample(&app.engine().book(), part("partner"), part("name"), click);
    let reply = match found.ok_or_else(Failure::not_found_path)? {
        Sample::Picture(svg) => Reply::bytes("image/svg+xml", svg)
            .header(CONTENT_SECURITY_POLICY, POLICY)
            .kept_an_hour()
            .compressible(),
        Sample::Page(page) => Reply::page(page, POLICY),
    };
    Ok(reply.guarded())
}
