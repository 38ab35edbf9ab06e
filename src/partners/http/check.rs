//! From a declared HTTP source to a compiled one, or to every fault with file, line and key.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderName;
use minijinja::AutoEscape;
use serde_json::Value;

use super::answer::AnswerMapping;
use super::declared::{self, Http};
use super::expression::{Expression, Template};
use super::places::Places;
use super::request::{Body, Shape, header_name};
use super::secret::Secret;
use crate::declaration::quoted;
use crate::model::{Attribute, ProductType};
use crate::partners::catalog::Figures;
use crate::partners::check::Checker;

/// How a partner is asked over HTTP, and what its answers mean.
#[derive(Debug)]
pub struct HttpSource {
    pub(super) method: Method,
    pub(super) url: Template,
    pub(super) sandbox_url: Option<Template>,
    pub(super) query: Vec<(String, Expression)>,
    pub(super) headers: Vec<(HeaderName, Expression)>,
    pub(super) body: Body,
    pub(super) secrets: BTreeMap<String, Option<Secret>>,
    pub(super) answer: AnswerMapping,
    pub(super) auth: Option<Auth>,
    /// Where its mappings stand.
    pub places: Places,
    /// How the partner is reached.
    pub wire: WireRules,
}

/// How we show who we are, compiled.
#[derive(Debug)]
pub enum Auth {
    /// HTTP basic.
    Basic {
        /// The user.
        user: Expression,
        /// The password.
        password: Expression,
    },
    /// OAuth 2 client credentials.
    OAuth2 {
        /// Where tokens are fetched.
        token_url: String,
        /// Where tokens for test leads are fetched; `token_url` when absent.
        sandbox_token_url: Option<String>,
        /// The client's id.
        client_id: Expression,
        /// The client's secret.
        client_secret: Expression,
        /// What is asked for.
        scope: Option<String>,
    },
}

/// How a partner is reached, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireRules {
    /// Longest time to connect.
    pub connect_timeout: Duration,
    /// Calls at once.
    pub concurrency: usize,
    /// Whether sending twice does no harm.
    pub idempotent: bool,
    /// Whether the partner speaks HTTP/2.
    pub http2: bool,
    /// Whether answers may come compressed.
    pub gzip: bool,
    /// Longest answer, uncompressed, bytes.
    pub max_response_bytes: usize,
    /// Host names and addresses that may be private ones.
    pub allow_addresses: Vec<String>,
    /// Certificate chain and key that we show, PEM.
    pub client_certificate: Option<Vec<u8>>,
    /// Further authorities, PEM.
    pub authorities: Option<Vec<u8>>,
}

/// What requests may use.
const OF_REQUESTS: [&str; 9] =
    ["lead", "lead_uuid", "rate_table_uuid", "test", "now", "age", "credit_score", "credit_rating", "secret"];

/// What expressions about an answer may use beside that; secrets are for requests only.
const OF_ANSWERS: [&str; 3] = ["status", "header", "response"];

/// Most calls at once.
const CONCURRENCY_MAX: f64 = 10_000.0;

/// Longest answer that may be allowed, bytes.
const RESPONSE_BYTES_MAX: f64 = 16_777_216.0;

impl HttpSource {
    /// Whether the partner takes test leads.
    pub fn has_sandbox(&self) -> bool {
        self.sandbox_url.is_some()
    }

    /// Checks `[products.<type>.http]`; `None` when it has faults, which the checker then holds. The secrets of a
    /// `paused` seat need not be there yet.
    pub(in crate::partners) fn declared(
        http: &Http,
        product_type: ProductType,
        paused: bool,
        check: &mut Checker,
    ) -> Option<Self> {
        let before = check.count();
        let names: Vec<&str> = http.secrets.keys().map(String::as_str).collect();
        let places = Places::of(check.file_name());
        let mut mappings = Mappings { check, secrets: &names, places };
        let method = mappings.method(http.method.as_deref());
        let url = mappings.url("url", &http.url);
        let sandbox_url = http.sandbox_url.as_deref().map(|url| mappings.url("sandbox_url", url));
        let query = mappings.fields("query", &http.query);
        let headers = mappings.headers(&http.headers);
        let body = mappings.body(http);
        let auth = http.auth.as_ref().map(|auth| mappings.auth(auth));
        let answer = mappings.answer(&http.answer, product_type);
        let places = mappings.places;
        let secrets = secrets(&http.secrets, paused, check);
        let wire = wire(&http.wire, check);
        if check.count() > before {
            return None;
        }
        Some(Self {
            method: method?,
            url: url?,
            sandbox_url: sandbox_url.flatten(),
            query,
            headers,
            body: body?,
            secrets,
            answer: answer?,
            auth: auth.flatten(),
            places,
            wire: wire?,
        })
    }
}

/// Compiles mappings, and looks at what they name.
struct Mappings<'m, 'c> {
    check: &'m mut Checker<'c>,
    secrets: &'m [&'m str],
    places: Places,
}

/// Where an expression stands, and so what it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Request,
    Answer,
    Offer,
}

impl Mappings<'_, '_> {
    fn method(&mut self, method: Option<&str>) -> Option<Method> {
        let known = [Method::POST, Method::GET, Method::PUT, Method::PATCH];
        let wanted = method.unwrap_or("POST");
        let found = known.into_iter().find(|method| method.as_str() == wanted);
        if found.is_none() {
            self.check.at("method", format!("must be POST, GET, PUT or PATCH, got `{wanted}`"));
        }
        found
    }

    fn url(&mut self, key: &str, url: &str) -> Option<Template> {
        self.check.url(key, url);
        self.template(key, url, AutoEscape::None)
    }

    fn template(&mut self, key: &str, text: &str, escape: AutoEscape) -> Option<Template> {
        match Template::compile(text, escape) {
            Ok(template) => {
                self.names(key, template.variables(), Stage::Request);
                Some(template)
            }
            Err(fault) => {
                self.check.at(key, fault);
                None
            }
        }
    }

    fn expression(&mut self, key: &str, text: &str, stage: Stage) -> Option<Expression> {
        match Expression::compile(text) {
            Ok(expression) => {
                self.names(key, expression.variables(), stage);
                Some(expression)
            }
            Err(fault) => {
                self.check.at(key, fault);
                None
            }
        }
    }

    fn fields(&mut self, key: &str, fields: &BTreeMap<String, String>) -> Vec<(String, Expression)> {
        let compiled = fields.iter().filter_map(|(name, text)| {
            let key = format!("{key}.{}", quoted(name));
            Some((name.clone(), self.expression(&key, text, Stage::Request)?))
        });
        compiled.collect()
    }

    fn headers(&mut self, headers: &BTreeMap<String, String>) -> Vec<(HeaderName, Expression)> {
        let mut compiled = Vec::new();
        for (name, text) in headers {
            let key = format!("headers.{}", quoted(name));
            match header_name(name) {
                Some(name) => compiled
                    .extend(self.expression(&key, text, Stage::Request).map(|expression| (name, expression))),
                None => self.check.at(&key, "is no name of a header"),
            }
        }
        compiled
    }

    fn body(&mut self, http: &Http) -> Option<Body> {
        match (&http.json, &http.form, &http.xml) {
            (None, None, None) => Some(Body::Empty),
            (Some(json), None, None) => {
                let table = toml::Value::Table(json.clone());
                self.shape("json", &table).map(Body::Json)
            }
            (None, Some(form), None) => Some(Body::Form(self.fields("form", form))),
            (None, None, Some(xml)) => self.template("xml", xml, AutoEscape::Html).map(Body::Xml),
            _ => {
                self.check.at("json", "stands beside `form` or `xml`; a request has one body");
                None
            }
        }
    }

    fn shape(&mut self, key: &str, value: &toml::Value) -> Option<Shape> {
        Some(match value {
            toml::Value::String(text) => {
                Shape::Of(key.to_owned(), self.expression(key, text, Stage::Request)?)
            }
            toml::Value::Integer(number) => Shape::Fixed(Value::from(*number)),
            toml::Value::Float(number) => Shape::Fixed(Value::from(*number)),
            toml::Value::Boolean(flag) => Shape::Fixed(Value::from(*flag)),
            toml::Value::Datetime(time) => Shape::Fixed(Value::from(time.to_string())),
            toml::Value::Array(elements) => {
                let shapes = elements.iter().enumerate();
                let shapes = shapes.map(|(nth, element)| self.shape(&format!("{key}[{nth}]"), element));
                Shape::Array(shapes.collect::<Vec<_>>().into_iter().flatten().collect())
            }
            toml::Value::Table(table) => {
                let entries = table.iter().map(|(name, value)| {
                    let shape = self.shape(&format!("{key}.{}", quoted(name)), value)?;
                    Some((name.clone(), shape))
                });
                Shape::Object(entries.collect::<Vec<_>>().into_iter().flatten().collect())
            }
        })
    }

    fn auth(&mut self, auth: &declared::Auth) -> Option<Auth> {
        let mut of = |key: &str, text: &str| self.expression(key, text, Stage::Request);
        match auth {
            declared::Auth::Basic { user, password } => {
                let (user, password) = (of("auth.basic.user", user), of("auth.basic.password", password));
                Some(Auth::Basic { user: user?, password: password? })
            }
            declared::Auth::OAuth2 { token_url, sandbox_token_url, client_id, client_secret, scope } => {
                let client_id = of("auth.oauth2.client_id", client_id);
                let client_secret = of("auth.oauth2.client_secret", client_secret);
                self.check.url("auth.oauth2.token_url", token_url);
                if let Some(url) = sandbox_token_url {
                    self.check.url("auth.oauth2.sandbox_token_url", url);
                }
                Some(Auth::OAuth2 {
                    token_url: token_url.clone(),
                    sandbox_token_url: sandbox_token_url.clone(),
                    client_id: client_id?,
                    client_secret: client_secret?,
                    scope: scope.clone(),
                })
            }
        }
    }

    fn answer(&mut self, answer: &declared::Answer, product_type: ProductType) -> Option<AnswerMapping> {
        let mut of = |key: &str, text: &Option<String>| {
            text.as_ref().and_then(|text| self.expression(key, text, Stage::Answer))
        };
        let error = of("answer.error", &answer.error);
        let declined = of("answer.declined", &answer.declined);
        let offers = answer.offers.as_deref().unwrap_or("response.offers");
        let offers = self.expression("answer.offers", offers, Stage::Answer);
        let mut figures = Vec::new();
        for (name, text) in &answer.offer {
            let key = format!("answer.offer.{}", quoted(name));
            let compiled = self.expression(&key, text, Stage::Offer);
            match Figures::named(name, product_type) {
                Some(name) => figures.extend(compiled.map(|expression| (name, expression))),
                None => {
                    let known: Vec<&str> = Figures::names(product_type).collect();
                    self.check
                        .at(&key, format!("is no figure of such an offer; there are {}", known.join(", ")));
                }
            }
        }
        Some(AnswerMapping { error, declined, offers: offers?, offer: figures })
    }

    /// Notes where a mapping stands, and looks at every name that it uses.
    fn names(&mut self, key: &str, variables: impl IntoIterator<Item = String>, stage: Stage) {
        self.places.note(key, self.check.line_of(key));
        for variable in variables {
            let (first, rest) = variable.split_once('.').unwrap_or((&variable, ""));
            let known = match (first, stage) {
                ("offer", Stage::Offer) => true,
                ("secret", Stage::Answer | Stage::Offer) => false,
                (first, Stage::Answer | Stage::Offer) if OF_ANSWERS.contains(&first) => true,
                (first, _) => OF_REQUESTS.contains(&first),
            };
            if !known {
                self.check.at(key, format!("uses `{first}`, which is not known here"));
            }
            if first == "secret" && known && !self.secrets.contains(&rest) {
                self.check.at(key, format!("uses `secret.{rest}`, which `secrets` does not name"));
            }
            if first == "lead" {
                self.attribute(key, rest);
            }
        }
    }

    /// Wants a path to lead somewhere in a lead.
    fn attribute(&mut self, key: &str, path: &str) {
        let leads_to = |known: &str| {
            let within = |long: &str, short: &str| {
                long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            // `refinanceLoans.0.interestRate` and `clientTags.source` have no end of their own.
            within(known, path) || within(path, known)
        };
        let open = ["clientTags", "sessionUuid", "uuid", "refinanceLoans", "productTypes"];
        let is_open = open.iter().any(|open| path.split('.').next() == Some(*open));
        if path.is_empty() || is_open || Attribute::all().iter().any(|attribute| leads_to(attribute.path)) {
            return;
        }
        let paths = Attribute::all().iter().map(|attribute| attribute.path);
        let near = paths
            .map(|known| (strsim::jaro_winkler(path, known), known))
            .max_by(|one, two| one.0.total_cmp(&two.0))
            .filter(|(likeness, _)| *likeness > 0.8);
        let hint = near.map_or_else(String::new, |(_, known)| format!("; did you mean `lead.{known}`?"));
        self.check.at(key, format!("uses `lead.{path}`, which is no attribute of a lead{hint}"));
    }
}

/// The secrets; a name whose secret a paused seat lacks stays empty, and is never sent.
fn secrets(
    declared: &BTreeMap<String, declared::Secret>,
    paused: bool,
    check: &mut Checker,
) -> BTreeMap<String, Option<Secret>> {
    let mut secrets = BTreeMap::new();
    for (name, place) in declared {
        match Secret::read(place) {
            Ok(secret) => drop(secrets.insert(name.clone(), Some(secret))),
            Err(_) if paused => drop(secrets.insert(name.clone(), None)),
            Err(fault) => check.at(&format!("secrets.{}", quoted(name)), fault),
        }
    }
    secrets
}

fn wire(declared: &declared::Wire, check: &mut Checker) -> Option<WireRules> {
    check.between("wire.concurrency", Some(declared.concurrency as f64), 1.0, CONCURRENCY_MAX);
    let most = Some(declared.max_response_bytes as f64);
    check.between("wire.max_response_bytes", most, 1024.0, RESPONSE_BYTES_MAX);
    let connect_timeout = check.duration("wire.connect_timeout", declared.connect_timeout);
    let mut pem = |key: &str, path: Option<&Path>| {
        let read = path.map(|path| std::fs::read(path).map_err(|error| (path, error))).transpose();
        read.unwrap_or_else(|(path, error)| {
            check.at(key, format!("{} cannot be read: {error}", path.display()));
            None
        })
    };
    Some(WireRules {
        connect_timeout,
        concurrency: declared.concurrency,
        idempotent: declared.idempotent,
        http2: declared.http2,
        gzip: declared.gzip,
        max_response_bytes: declared.max_response_bytes,
        allow_addresses: declared.allow_addresses.clone(),
        client_certificate: pem("wire.client_certificate", declared.client_certificate.as_deref()),
        authorities: pem("wire.authorities", declared.authorities.as_deref()),
    })
}
