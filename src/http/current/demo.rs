//! `GET /demo`, `GET /demo/{file}`: a page on which a lead can be sent by hand and its offers be watched as they arrive. Only
//! a sandbox has it.

use crate::prelude::*;
use offerd_base::config::Settings;

/// The page. It holds no token: whoever opens it brings one, in the part of the address that is not sent.
const PAGE: &str = include_str!("demo/page.html");

/// What the page loads, with its type.
const LOADED: &[(&str, &str, &str)] = &[
    ("demo.css", "text/css; charset=utf-8", include_str!("demo/demo.css")),
    ("demo.js", "text/javascript; charset=utf-8", include_str!("demo/demo.js")),
];

/// The names of what the page loads.
pub const FILES: &[&str] = &["demo.css", "demo.js"];

/// The page loads its own two files and the logos of sample partners, and calls its own host; nothing else, not even styles of
/// its own.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
);

/// Whether there is a page: `api.demo` says so, and first tokens are made, which is the mark of a sandbox.
pub fn wanted(settings: &Settings) -> bool {
    settings.api.demo && settings.tokens.bootstrap
}

/// Shows the page.
pub async fn show(context: Context<App>) -> Result<Reply, Failure> {
    if !wanted(&context.app.settings) {
        return Err(Failure::not_found_path());
    }
    Ok(Reply::page(PAGE, POLICY).guarded())
}

/// Answers with a file that the page loads.
pub async fn file(context: Context<App>) -> Result<Reply, Failure> {
    let name = context.params.get("file").unwrap_or_default();
    let found = LOADED.iter().find(|(file, ..)| wanted(&context.app.settings) && *file == name);
    let (_, content_type, text) = found.ok_or_else(Failure::not_found_path)?;
    Ok(Reply::bytes(content_type, *text).kept_an_hour())
}
