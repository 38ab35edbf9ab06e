//! `GET /demo`, `GET /demo/{file}`: a page to submit a lead by hand. Sandboxes only.

use std::sync::LazyLock;

use super::offer_pages::SORTING;
use super::offer_pages::brand::{CARDS_STYLE, SCRIPT};
use crate::prelude::*;
use offerd_base::config::Settings;

/// The page. It contains no token: the visitor brings one in the fragment of the address.
static PAGE: LazyLock<String> =
    LazyLock::new(|| include_str!("demo/page.html").replace("<!-- sorting -->\n", SORTING));

const LOADED: &[(&str, &str, &str)] = &[
    ("demo.css", "text/css; charset=utf-8", include_str!("demo/demo.css")),
    ("demo.js", "text/javascript; charset=utf-8", include_str!("demo/demo.js")),
    ("offers.css", "text/css; charset=utf-8", CARDS_STYLE),
    ("offers.js", "text/javascript; charset=utf-8", SCRIPT),
];

/// Names of the page's files.
pub const FILES: &[&str] = &["demo.css", "demo.js", "offers.css", "offers.js"];

/// The page may load its own files, of which two are also the offer page's, and the logos of sample partners,
/// and call its own host.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
);

/// Whether the page exists: `api.demo` is set, and first tokens are created, as only sandboxes do.
pub fn wanted(settings: &Settings) -> bool {
    settings.api.demo && settings.tokens.bootstrap
}

/// Shows the page.
pub async fn show(context: Context<ApiState>) -> Answer {
    if !wanted(&context.app.settings) {
        return Err(Failure::not_found_path());
    }
    Ok(Reply::page(PAGE.as_str(), POLICY).guarded().compressible())
}

/// Answers with a file of the page.
pub async fn file(context: Context<ApiState>) -> Answer {
    let name = context.params.get("file").unwrap_or_default();
    let found = LOADED.iter().find(|(file, ..)| wanted(&context.app.settings) && *file == name);
    let (_, content_type, text) = found.ok_or_else(Failure::not_found_path)?;
    Ok(Reply::bytes(content_type, *text).kept_an_hour().compressible())
}
