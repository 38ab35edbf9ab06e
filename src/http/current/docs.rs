//! `GET /openapi.json`, `GET /docs`, `GET /docs/{file}`

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue};
use tracing::error;
use utoipa_swagger_ui::Config;

use crate::http::App;
use crate::http::openapi::{self, Addresses};
use crate::web::{Context, Failure, Reply};

/// The page, which shows the document by means of Swagger UI.
const PAGE: &str = include_str!("docs/page.html");

/// Starts Swagger UI; a file of its own, because the page allows no script within.
const START: &str = include_str!("docs/start.js");

/// What the page loads: a start of ours, and Swagger UI.
pub const FILES: &[&str] = &["start.js", "swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"];

/// Files change with the program only.
const KEPT: HeaderValue = HeaderValue::from_static("max-age=3600");

/// The documentation, made at start.
#[derive(Debug)]
pub struct Docs {
    document: Bytes,
    policy: HeaderValue,
}

impl Docs {
    /// The documentation of a service at these addresses.
    pub fn new(addresses: Addresses<'_>) -> Self {
        Self { document: openapi::json(addresses), policy: policy(addresses) }
    }
}

/// Answers with the OpenAPI document.
pub async fn document(context: Context<App>) -> Result<Reply, Failure> {
    Ok(Reply::json_bytes(context.app.docs.document.clone()))
}

/// Shows the document to people.
pub async fn show(context: Context<App>) -> Result<Reply, Failure> {
    let page = Reply::bytes("text/html; charset=utf-8", PAGE);
    Ok(page.header(CONTENT_SECURITY_POLICY, context.app.docs.policy.clone()))
}

/// Answers with a file that the page loads.
pub async fn file(context: Context<App>) -> Result<Reply, Failure> {
    let name = context.params.get("file").unwrap_or_default();
    if !FILES.contains(&name) {
        return Err(Failure::not_found_path());
    }
    let bytes = if name == "start.js" { START.into() } else { swagger_ui(name)? };
    let content_type = match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => "image/png",
    };
    Ok(Reply::bytes(content_type, bytes).header(CACHE_CONTROL, KEPT))
}

fn swagger_ui(name: &str) -> Result<Bytes, Failure> {
    match utoipa_swagger_ui::serve(name, Arc::new(Config::default())) {
        Ok(Some(file)) => Ok(file.bytes.into_owned().into()),
        Ok(None) | Err(_) => {
            error!(file = name, "Swagger UI has no such file");
            Err(Failure::internal())
        }
    }
}

/// The page may load its own files, and try the two listeners; nothing else. Swagger UI sets styles on its elements. An
/// address with a path allows what is below it only when it ends with a slash.
fn policy(addresses: Addresses<'_>) -> HeaderValue {
    let Addresses { api, integrations } = addresses;
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
         connect-src 'self' {api}/ {integrations}/; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    // An address that no header can hold cannot be tried either.
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}
