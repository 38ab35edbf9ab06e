//! `GET /openapi.json`, `GET /openapi.yaml`, `GET /openapi-all.json`, `GET /docs`, `GET /docs/{file}`

use std::fmt::Write;
use std::sync::OnceLock;

use hyper::header::CONTENT_SECURITY_POLICY;
use serde_json::Value;

use crate::prelude::*;
use offerd_web::Compressed;

const PAGE: &str = include_str!("docs/page.html");

/// Starts Swagger UI; a separate file, since the page's policy forbids inline scripts.
const START: &str = include_str!("docs/start.js");

const BUNDLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui-bundle.js"));
const BUNDLE_STYLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css"));
const ICON: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/favicon-32x32.png"));

/// Adapts Swagger UI to phones; appended to its own styles.
const STYLES: &str = include_str!("docs/docs.css");

/// Files that the page loads: our start script, and Swagger UI.
pub const FILES: &[&str] = &["start.js", "swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"];

/// Which part of the interface a document describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The paths for clients.
    Clients,
    /// Every path.
    Whole,
}

/// Public addresses of the listeners.
#[derive(Debug, Clone)]
pub struct Addresses {
    /// `{base_url}`
    pub api: String,
    /// `{integrations_url}`
    pub integrations: String,
}

/// The documentation. Documents are built, and files compressed, on first use.
#[derive(Debug)]
pub struct Docs {
    addresses: Addresses,
    make: fn(Extent, &Addresses) -> Bytes,
    documents: [OnceLock<Unchanging>; 2],
    yaml: OnceLock<Unchanging>,
    page: Unchanging,
    files: [OnceLock<Unchanging>; FILES.len()],
    policy: HeaderValue,
}

#[derive(Debug)]
struct Unchanging {
    content_type: &'static str,
    body: Bytes,
    compressed: Arc<Compressed>,
}

impl Unchanging {
    fn new(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { content_type, body: body.into(), compressed: Arc::default() }
    }

    fn reply(&self) -> Reply {
        let reply = Reply::bytes(self.content_type, self.body.clone());
        // Images are already compressed.
        if self.content_type.starts_with("image/") {
            return reply;
        }
        reply.compressible().kept_in(Arc::clone(&self.compressed))
    }
}

impl Docs {
    /// The documentation of a service at these addresses; `make` builds the documents.
    pub fn new(addresses: Addresses, make: fn(Extent, &Addresses) -> Bytes) -> Self {
        Self {
            policy: policy(&addresses),
            addresses,
            make,
            documents: Default::default(),
            yaml: OnceLock::new(),
            page: Unchanging::new("text/html; charset=utf-8", PAGE),
            files: Default::default(),
        }
    }

    fn document(&self, extent: Extent) -> Reply {
        let make = || Unchanging::new("application/json", (self.make)(extent, &self.addresses));
        self.documents[extent as usize].get_or_init(make).reply()
    }
}

/// Answers with the OpenAPI document for clients.
pub async fn document(context: Context<ApiState>) -> Answer {
    Ok(context.app.docs.document(Extent::Clients))
}

/// Answers with the OpenAPI document for clients as YAML.
pub async fn yaml(context: Context<ApiState>) -> Answer {
    let Docs { yaml, make, addresses, .. } = &context.app.docs;
    let make = || {
        let document = serde_json::from_slice(&make(Extent::Clients, addresses)).unwrap_or_default();
        let mut text = String::new();
        write_yaml(&document, 0, &mut text);
        Unchanging::new("application/yaml", text.trim_start().to_owned() + "\n")
    };
    Ok(yaml.get_or_init(make).reply())
}

/// Writes JSON as YAML in lines. Keys and texts stay in quotes, which YAML reads as JSON does.
fn write_yaml(value: &Value, indent: usize, out: &mut String) {
    let rows: Vec<(String, &Value)> = match value {
        Value::Object(rows) if !rows.is_empty() => {
            rows.iter().map(|(key, value)| (format!("{}:", Value::from(key.as_str())), value)).collect()
        }
        Value::Array(rows) if !rows.is_empty() => rows.iter().map(|value| ("-".to_owned(), value)).collect(),
        scalar => {
            let _ = write!(out, " {scalar}");
            return;
        }
    };
    for (key, value) in rows {
        let _ = write!(out, "\n{:indent$}{key}", "");
        write_yaml(value, indent + 2, out);
    }
}

/// Answers with the OpenAPI document of every path.
pub async fn whole(context: Context<ApiState>) -> Answer {
    Ok(context.app.docs.document(Extent::Whole))
}

/// Shows the document as a page.
pub async fn show(context: Context<ApiState>) -> Answer {
    let Docs { page, policy, .. } = &context.app.docs;
    Ok(page.reply().header(CONTENT_SECURITY_POLICY, policy.clone()))
}

/// Answers with a file of the page.
pub async fn file(context: Context<ApiState>) -> Answer {
    let name = context.params.get("file").unwrap_or_default();
    let nth = FILES.iter().position(|file| *file == name).ok_or_else(Failure::not_found_path)?;
    Ok(context.app.docs.files[nth].get_or_init(|| loaded(FILES[nth])).reply().kept_an_hour())
}

fn loaded(name: &str) -> Unchanging {
    match name.rsplit('.').next() {
        Some("css") => {
            Unchanging::new("text/css; charset=utf-8", [BUNDLE_STYLES, STYLES.as_bytes()].concat())
        }
        Some("png") => Unchanging::new("image/png", ICON),
        _ => {
            let script = if name == "start.js" { START.as_bytes() } else { BUNDLE };
            Unchanging::new("text/javascript; charset=utf-8", script)
        }
    }
}

/// The page may load its own files and call the two listeners; Swagger UI sets inline styles. In a policy, an
/// address with a path allows the paths below it only if it ends with a slash.
fn policy(addresses: &Addresses) -> HeaderValue {
    let Addresses { api, integrations } = addresses;
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
         connect-src 'self' {api}/ {integrations}/; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}
