//! `GET /`: the start page for people.

use super::demo;
use crate::prelude::*;

const PAGE: &str = include_str!("home/page.html");

const SANDBOX: &str = "<!-- sandbox -->";

const DEMO: &str = "<li><a href=\"demo\">/demo</a>: submit a lead by hand, and watch its offers arrive</li>";

/// For pages with styles of their own and nothing else.
pub const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Shows the page.
pub async fn show(context: Context<ApiState>) -> Answer {
    let page = PAGE.replace(SANDBOX, if demo::wanted(&context.app.settings) { DEMO } else { "" });
    Ok(Reply::page(page, POLICY).compressible())
}
