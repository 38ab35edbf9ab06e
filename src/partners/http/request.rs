//! Builds the request to a partner from a lead.

use bytes::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, Uri};
use minijinja::value::Value as Mapped;
use uuid::Uuid;

use super::ask_progress::AskProgress;
use super::expression::{Expression, text};
use super::http_partner::{HttpPartner, MappingInput};
use super::mapping_error::{MappingError, MappingResult};
use super::secret::Secrets;
use super::step::{BodyMapping, CallStep};

/// A request to a partner, ready to be sent. Not `Debug`, since it holds personal data and secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// HTTP method.
    pub method: Method,
    /// URL, including the query.
    pub url: String,
    /// Headers, except those for authentication.
    pub headers: HeaderMap,
    /// Request body.
    pub body: Bytes,
    /// The `nonce` of its mappings.
    pub nonce: Uuid,
}

impl HttpPartner {
    /// Builds the request of the current call; `None` for a test lead without a sandbox.
    ///
    /// # Errors
    /// The first mapping that could not be run.
    pub fn request(
        &self,
        progress: &AskProgress,
        given: &MappingInput,
        secrets: Secrets,
    ) -> MappingResult<Option<HttpRequest>> {
        let nonce = secrets.nonce();
        let context = self.secret_context(secrets, nonce, self.context(given, progress));
        let request = self.step(progress).request(given.asked.test, nonce, &context)?;
        let Some(mut request) = request else { return Ok(None) };
        request.headers.extend(self.basic(&context)?.map(|credentials| (AUTHORIZATION, credentials)));
        Ok(Some(request))
    }
}

impl CallStep {
    fn request(&self, test: bool, nonce: Uuid, context: &Mapped) -> MappingResult<Option<HttpRequest>> {
        let declared = if test { &self.sandbox_url } else { &self.url };
        let Some(declared) = declared else { return Ok(None) };
        let mut url = declared.run(context)?;
        let query = fields(&self.query, context)?;
        if !query.is_empty() {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(&encoded(&query));
        }
        if Uri::try_from(&url).is_err() {
            let cause = "gives no valid URL; `|urlencode` escapes any text for one";
            return Err(MappingError::new(&declared.key, cause));
        }

        let (content_type, body) = match &self.body {
            BodyMapping::Empty => (None, Bytes::new()),
            BodyMapping::Json(shape) => {
                let mut json = Vec::new();
                if !shape.write(context, &mut json)? {
                    json.extend_from_slice(b"null");
                }
                (Some("application/json"), json.into())
            }
            BodyMapping::Form(form) => {
                (Some("application/x-www-form-urlencoded"), encoded(&fields(form, context)?).into())
            }
            BodyMapping::Xml(template) => (Some("application/xml"), template.run(context)?.into()),
        };
        let mut headers = self.headers(&url, &body, context)?;
        if let Some(content_type) = content_type {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(content_type));
        }
        Ok(Some(HttpRequest { method: self.method.clone(), url, headers, body, nonce }))
    }

    fn headers(&self, url: &str, body: &Bytes, context: &Mapped) -> MappingResult<HeaderMap> {
        let signing = || {
            let request = signed_part(&self.method, url, body);
            minijinja::context! { request, ..context.clone() }
        };
        let context = if self.signs { &signing() } else { context };
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            if let Some(text) = text(&value.run(context)?) {
                let unfit = |_| MappingError::new(&value.key, "holds a value that no header can hold");
                headers.insert(name.clone(), HeaderValue::try_from(text).map_err(unfit)?);
            }
        }
        Ok(headers)
    }
}

/// The `request` variable of headers.
fn signed_part(method: &Method, url: &str, body: &Bytes) -> Mapped {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let path_and_query = rest.find('/').map_or("/", |start| &rest[start..]);
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let body = String::from_utf8_lossy(body);
    minijinja::context! { method => method.as_str(), url, path, query, body }
}

fn fields(fields: &[(String, Expression)], context: &Mapped) -> MappingResult<Vec<(String, String)>> {
    let mut filled = Vec::with_capacity(fields.len());
    for (name, expression) in fields {
        filled.extend(text(&expression.run(context)?).map(|text| (name.clone(), text)));
    }
    Ok(filled)
}

fn encoded(fields: &[(String, String)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}
