//! `GET /`: the start page for people.

use super::demo;
use crate::prelude::*;

/// The page, without the part for sandboxes.
const PAGE: &str = include_str!("home/page.html");

/// Placeholder of the part for sandboxes.
const SANDBOX: &str = "<!-- sandbox -->";

/// The part for sandboxes.
const DEMO: &str = "<li><a href=\"demo\">/demo</a>: submit a lead by hand, and watch its offers arrive</li>";

/// The page has no script and loads nothing.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Shows the page.
pub async fn show(context: Context<ApiState>) -> Result<Reply, Failure> {
    let page = PAGE.replace(SANDBOX, if demo::wanted(&context.app.settings) { DEMO } else { "" });
    Ok(Reply::page(page, POLICY))
}
