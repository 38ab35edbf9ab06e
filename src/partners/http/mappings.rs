//! Compiles the mappings of a declared HTTP source one by one; faults are reported with their key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use minijinja::AutoEscape;
use minijinja::value::Value as Mapped;
use serde_json::Value;

use super::answer_mapping::AnswerMapping;
use super::auth::NO_USER;
use super::client_auth::{Auth, ClientProof};
use super::declared::{self, ClientAuth, Empty, Http};
use super::expression::{Expression, TextTemplate, text as text_of};
use super::mapping_error::MappingError;
use super::mapping_lines::MappingLines;
use super::names::ExpressionPlace::{self, Answer, Callback, Header, Inner, Request, Token};
use super::names::{self, KnownNames, no_mapping};
use super::step::{BodyMapping, CallStep, Fields, JsonMapping, PollingRule};
use super::work::{self, TOO_MUCH_OF_REQUEST};
use super::{document, fixed, specimen};
use crate::base_url::url_fault;
use crate::check::checker::PartnerFileChecker;
use crate::declared::Product;
use offerd_base::config::shown_address;
use offerd_base::declaration::{did_you_mean, nearest, quoted};
use offerd_model::{ProductType, RejectReason};

const EVERY: Duration = Duration::from_secs(1);

/// Headers that the connection, the URL or the body decides, and what to do instead. In a file they never work, or they spoil every answer.
#[rustfmt::skip]
const NOT_THE_FILES: [(&[&str], &str); 10] = [
    (&["accept-encoding", "available-dictionary"], "leave it out; `wire = { gzip = true }` asks for compressed answers"),
    (&["content-length", "transfer-encoding"], "leave it out; offerd derives it from the body"),
    (&["content-encoding"], "leave it out; offerd never compresses the body"),
    (&["content-range"], "leave it out; offerd always sends the whole body"),
    (&["host"], "leave it out; offerd derives it from `url`"),
    (&[
        "connection", "close", "keep-alive", "upgrade", "te", "trailer", "http2-settings", "alpn", "alt-used",
        "capsule-protocol", "sec-websocket-key", "sec-websocket-version",
    ], "leave it out; `wire` controls the connection"),
    (&["early-data"], "leave it out; offerd sends nothing before TLS is ready"),
    (&["expect"], "leave it out; offerd sends the body at once and awaits no `100 Continue`"),
    (&["range", "if-range", "a-im"], "leave it out; offerd cannot read a partial answer"),
    (&["if-none-match", "if-modified-since"], "leave it out; offerd keeps no answers that a status 304 could refer to"),
];

/// What to do instead of a header that a file may not have.
fn not_the_files(name: &HeaderName) -> Option<&'static str> {
    if name.as_str().starts_with("proxy-") {
        return Some("leave it out; offerd calls partners without a proxy");
    }
    NOT_THE_FILES.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, advice)| *advice)
}

/// Statuses of a partner that is down or overloaded, or does not know our key.
const OUTAGES: [u16; 6] = [500, 502, 503, 504, 429, 401];

/// The shortest such time: what is asked more often is a busy loop.
const EVERY_MIN: Duration = Duration::from_millis(50);

/// Compiles mappings and checks the names that they use.
pub(super) struct Mappings<'m, 'c> {
    pub(super) check: &'m mut PartnerFileChecker<'c>,
    pub(super) http: &'m Http,
    pub(super) product_type: ProductType,
    pub(super) product: &'m Product,
    pub(super) secrets: &'m [&'m str],
    /// Locations of the mappings compiled so far.
    pub(super) lines: MappingLines,
    /// Key prefix of the current step.
    pub(super) prefix: String,
    /// Names that earlier steps keep.
    pub(super) kept: Vec<String>,
    /// The XML attributes that the mappings use.
    pub(super) attributes: BTreeSet<String>,
    /// The keys that mappings sign and verify with: where, and the mapping.
    pub(super) signing: Vec<(String, String)>,
    /// The secrets that the mappings use.
    pub(super) used: BTreeSet<String>,
    /// Whether an earlier step sends the callback URL.
    pub(super) sends_callback: bool,
    /// Whether the current step is a ping, or precedes or accompanies one.
    pub(super) is_ping: bool,
}

impl Mappings<'_, '_> {
    pub(super) fn nth_step(&mut self, nth: usize, declared: &declared::Step) -> Option<CallStep> {
        let key = format!("steps[{nth}]");
        let is_last = nth + 1 == self.http.steps.len();
        let last_ping = self.http.steps.iter().rposition(|step| step.bid.is_some());
        self.is_ping = last_ping.is_some_and(|last| nth <= last);
        self.prefix = format!("{key}.");
        self.check.enter(&key);
        if nth == 0 && declared.when.is_some() {
            self.check.at("when", "is for later steps; the first call is always made");
        }
        // If the offers come from the ping, the post has its own outcome keys.
        let step = self.step(declared, is_last && !self.http.post.when_shown());
        if declared.bid.is_some() && is_last {
            self.check.at("bid", "is for a ping, which the post must follow as a further step");
        }
        let is_post = nth > 0 && last_ping == Some(nth - 1);
        if is_post && declared.when.is_some() {
            self.check.at("when", "is set on the post, which is sent whenever its bid is chosen");
        }
        self.check.leave();
        self.prefix.clear();
        self.is_ping = false;
        step.map(|step| CallStep {
            once_per_ask: step.once_per_ask || is_post,
            once_per_lead: step.once_per_lead || is_post,
            ..step
        })
    }

    /// Compiles a call; `answer` holds the outcome keys of the `last` one.
    pub(super) fn step(&mut self, declared: &declared::Step, last: bool) -> Option<CallStep> {
        let url = match &declared.url {
            Some(url) => self.url("url", url).map(Some),
            None if declared.callback => Some(None),
            None => {
                self.check.at("url", "is missing: where leads are sent");
                None
            }
        };
        let verify = self.callback(declared);
        if declared.once && declared.pending.is_some() {
            self.check.at("once", "conflicts with `pending`, which repeats the call");
        }
        let sandbox_url = declared.sandbox_url.as_deref().map(|url| self.url("sandbox_url", url));
        let query = self.fields("query", &declared.query, Request);
        let headers = self.headers(declared);
        if let (true, Some((name, _))) =
            (self.http.auth.is_some(), headers.iter().find(|(name, _)| *name == AUTHORIZATION))
        {
            let shown = declared.headers.keys().find(|key| name.as_str().eq_ignore_ascii_case(key));
            let key = format!("headers.{}", quoted(shown.map_or(name.as_str(), String::as_str)));
            self.check.at(&key, "conflicts with `auth`, which sets that header; leave one out");
        }
        let body = self.body(declared);
        let when = self.optional("when", &declared.when, Request);
        let polling = self.polling(declared);
        let [error, declined] =
            [("error", &declared.error), ("declined", &declared.declined)].map(|(key, text)| {
                if text.is_some() && last {
                    let others = "is only for steps before the last";
                    self.check.at(key, format!("{others}; for the last one, use `answer.{key}`"));
                }
                self.optional(key, text, Answer)
            });
        self.reject_words("declined", &declined);
        let keep = self.keep(&declared.keep, last);
        let bid = self.optional("bid", &declared.bid, Answer);
        self.kept.extend(declared.bid.is_some().then(|| "bid".to_owned()));
        Some(CallStep {
            prefix: self.prefix.clone(),
            method: declared.method.clone().unwrap_or(Method::POST),
            url: url?,
            sandbox_url: sandbox_url.flatten(),
            query,
            signs: headers.iter().any(|(_, header)| header.uses("request")),
            headers,
            body: body?,
            when,
            polling,
            error,
            declined,
            keep,
            bid,
            once_per_ask: declared.once,
            once_per_lead: declared.once,
            callback: declared.callback,
            verify,
        })
    }

    fn callback(&mut self, declared: &declared::Step) -> Option<Expression> {
        if !declared.callback {
            if declared.verify.is_some() {
                self.check.at("verify", "needs `callback = true`");
            }
            return None;
        }
        if self.prefix.is_empty() || self.prefix == "steps[0]." {
            self.check.at("callback", "is for later steps: the partner is asked before it can call");
        }
        if declared.url.is_some() && declared.pending.is_none() {
            self.check
                .at("url", "needs `pending`: a callback step with a `url` polls it while `pending` holds");
        }
        if declared.url.is_none() {
            let fault = "is for a request, and a step without `url` sends none: the partner calls us";
            declared.request_keys().for_each(|key| self.check.at(key, fault));
        }
        if !self.sends_callback {
            let fault = "awaits a callback, but no earlier step sends `callback_url`, so the partner cannot know \
                where to call";
            self.check.remark("callback", fault);
        }
        if declared.verify.is_none() {
            let fault = "accepts unsigned calls: without `verify`, anyone who knows the address can answer for the \
                partner";
            self.check.remark("callback", fault);
        }
        let verify = self.optional("verify", &declared.verify, Callback);
        if verify.as_ref().is_some_and(|verify| !verify.uses("secret")) {
            let fault = "uses no `secret`, so anyone who knows the address and the file's rule can answer for the \
                partner";
            self.check.remark("verify", fault);
        }
        verify
    }

    fn polling(&mut self, declared: &declared::Step) -> Option<PollingRule> {
        let Some(pending) = &declared.pending else {
            if declared.every.is_some() {
                self.check.at("every", "needs `pending`, which decides when to ask again");
            }
            return None;
        };
        let every = declared.every.unwrap_or(EVERY);
        if every < EVERY_MIN {
            self.check.at("every", format!("must be at least {EVERY_MIN:?}, got {every:?}"));
        }
        Some(PollingRule { pending: self.expression("pending", pending, Answer)?, every })
    }

    fn keep(&mut self, declared: &BTreeMap<String, String>, last: bool) -> Fields {
        if last && !declared.is_empty() {
            self.check.at("keep", "is only for steps before the last; `answer` sees the whole last answer");
        }
        if declared.contains_key("bid") {
            self.check.at("keep.bid", "is reserved where a step has a `bid`; choose another name");
        }
        let keep = self.fields("keep", declared, Answer);
        self.kept.extend(declared.keys().cloned());
        keep
    }

    fn url(&mut self, key: &str, url: &str) -> Option<TextTemplate> {
        if let Some(fault) = url_fault(&without_expressions(url)) {
            let found = shown_address(url).escape_debug().to_string();
            self.check.at(key, format!("{fault}, got `{found}`"));
        }
        let template = self.template(key, url, AutoEscape::None)?;
        let path = if url.contains("{%") { "" } else { url.split('?').next().unwrap_or_default() };
        let values = path.split("{{").filter_map(|part| part.split_once("}}"));
        values.for_each(|(text, _)| self.path_is_given(key, text.trim_matches(['-', '+'])));
        Some(template)
    }

    /// Checks that a value in the path of a URL is there for every lead that the partner is sent.
    fn path_is_given(&mut self, key: &str, text: &str) {
        let Product { needs, eligibility, .. } = self.product;
        let is_given = |path: &str| {
            let is_required = eligibility.all.get(path).is_some_and(|found| !found.or_missing);
            is_required || needs.iter().any(|need| need == path)
        };
        let has_other = ["default", " if ", " or "].iter().any(|word| text.contains(word));
        let variables = Expression::compile(text).map(|value| value.variables()).unwrap_or_default();
        let mut of_lead = variables.iter().filter_map(|name| name.strip_prefix("lead."));
        if let Some(path) = of_lead.find(|path| !has_other && !is_given(path)) {
            let advice = format!("add `{path}` to `needs`, or give a value by `|default('…')`");
            self.check.at(key, format!("uses `lead.{path}`, which a lead may lack: {advice}"));
        }
    }

    fn optional(&mut self, key: &str, text: &Option<String>, stage: ExpressionPlace) -> Option<Expression> {
        self.expression(key, text.as_ref()?, stage)
    }

    fn template(&mut self, key: &str, text: &str, escape: AutoEscape) -> Option<TextTemplate> {
        let mut template = self.compiled(key, TextTemplate::compile(text, escape))?;
        template.key = self.whole(key);
        self.names(key, text, template.variables(), Request);
        self.is_cheap(key, |sample| template.run(sample).err());
        if let Some(fault) = fixed::fault_of_template(text) {
            self.check.at(key, fault);
        }
        Some(template)
    }

    pub(super) fn expression(&mut self, key: &str, text: &str, stage: ExpressionPlace) -> Option<Expression> {
        let is_verdict = ["error", "declined", "answer.error", "answer.declined"].contains(&key);
        let compile = if is_verdict { Expression::compile_verdict } else { Expression::compile };
        let mut expression = self.compiled(key, compile(text))?;
        expression.key = self.whole(key);
        self.names(key, text, expression.variables(), stage);
        if matches!(stage, Request | Header | Token) {
            self.is_cheap(key, |sample| expression.run(sample).err());
        }
        if let Some(fault) = names::never_equal(text).or_else(|| fixed::fault(text, key, is_verdict)) {
            self.check.at(key, fault);
        }
        let is_of_answer = is_verdict || ["pending", "answer.offers", "answer.inner"].contains(&key);
        if is_of_answer && expression.constant().is_some() {
            self.check.at(key, "is the same for every answer: use `response`, `status` or `header`");
        }
        Some(expression)
    }

    /// Checks that the mapping of a request is not too much work even for a sample lead.
    fn is_cheap(&mut self, key: &str, failed: impl Fn(&Mapped) -> Option<MappingError>) {
        let error = failed(&work::of_request(specimen::context_with(self.secrets)));
        if let Some(error) = error.filter(|error| error.cause.starts_with(TOO_MUCH_OF_REQUEST)) {
            self.check.at(key, error.cause);
        }
    }

    /// The text that a mapping makes of a complete lead; empty if it makes none.
    fn specimen_of(&self, expression: &Expression) -> String {
        let made = expression.run(&specimen::context_with(self.secrets)).ok();
        made.and_then(|made| text_of(&made)).unwrap_or_default()
    }

    /// A key with the prefix of its step.
    fn whole(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    fn compiled<T>(&mut self, key: &str, compiled: Result<T, String>) -> Option<T> {
        compiled.map_err(|fault| self.check.at(key, no_mapping(key, fault))).ok()
    }

    fn fields(&mut self, key: &str, fields: &BTreeMap<String, String>, stage: ExpressionPlace) -> Fields {
        let compiled = fields.iter().filter_map(|(name, text)| {
            let mut expression = self.expression(&format!("{key}.{}", quoted(name)), text, stage)?;
            expression.key = self.whole(&format!("{key}.{name}"));
            Some((name.clone(), expression))
        });
        compiled.collect()
    }

    fn headers(&mut self, declared: &declared::Step) -> Vec<(HeaderName, Expression)> {
        let mut compiled = Vec::new();
        for (name, text) in &declared.headers {
            let key = format!("headers.{}", quoted(name));
            let Ok(name) = HeaderName::try_from(name) else {
                self.check.at(&key, "is not a valid header name");
                continue;
            };
            if let Some(advice) = not_the_files(&name) {
                self.check.at(&key, format!("cannot be set in the file: {advice}"));
            }
            if compiled.iter().any(|(known, _)| *known == name) {
                self.check.at(&key, "stands twice: names of headers compare in any case; leave one out");
            }
            if let Some(mut expression) = self.expression(&key, text, Header) {
                self.header_text(&key, &name, &self.specimen_of(&expression), declared);
                expression.key = self.whole(&format!("headers.{name}"));
                compiled.push((name, expression));
            }
        }
        compiled
    }

    /// Checks the text of a header as it is for a complete lead.
    fn header_text(&mut self, key: &str, name: &HeaderName, text: &str, body: &declared::Step) {
        if let Some(letter) = text.chars().find(|letter| !matches!(letter, ' '..='~' | '\t')) {
            let found = letter.escape_default();
            let fault = format!("has `{found}`, but may only have visible ASCII: encode it, as by `|base64`");
            self.check.at(key, fault);
        }
        self.is_utf8(key, document::charset(Some(text)).filter(|_| *name == CONTENT_TYPE));
        let bodies =
            [("json", body.json.is_some()), ("urlencoded", body.form.is_some()), ("xml", body.xml.is_some())];
        let is_said = |word: &str| text.to_ascii_lowercase().contains(word);
        let own = bodies.iter().find(|(word, is_given)| *is_given && *name == CONTENT_TYPE && !is_said(word));
        if own.is_some() && (bodies.iter().any(|(word, _)| is_said(word)) || is_said("multipart")) {
            self.check.at(key, "is of another kind than the body; leave it out, or change one of them");
        }
    }

    /// Checks that a body is declared as what it is.
    fn is_utf8(&mut self, key: &str, encoding: Option<&str>) {
        if let Some(found) = encoding.filter(|found| !found.eq_ignore_ascii_case("utf-8")) {
            let found = found.escape_debug();
            self.check.at(key, format!("declares `{found}`, but offerd sends UTF-8: write `UTF-8`"));
        }
    }

    fn body(&mut self, http: &declared::Step) -> Option<BodyMapping> {
        let is_body = |key: &&str| ["json", "form", "xml"].contains(key);
        for key in http.request_keys().filter(is_body).filter(|_| http.method == Some(Method::GET)) {
            self.check.at(key, "is a body, and a `GET` has none: use `query`, or `method = \"POST\"`");
        }
        match (&http.json, &http.form, &http.xml) {
            (None, None, None) => Some(BodyMapping::Empty),
            (Some(json), None, None) => {
                let table = toml::Value::Table(json.clone());
                self.shape("json", &table).map(BodyMapping::Json)
            }
            (None, Some(form), None) => Some(BodyMapping::Form(self.fields("form", form, Request))),
            (None, None, Some(xml)) => self.xml(xml).map(BodyMapping::Xml),
            _ => {
                self.check.at("json", "conflicts with `form` or `xml`; a request has one body");
                None
            }
        }
    }

    /// Compiles a template and checks that it renders XML for a complete lead.
    fn xml(&mut self, text: &str) -> Option<TextTemplate> {
        let template = self.template("xml", text, AutoEscape::Html)?;
        let made = template.run(&specimen::context_with(self.secrets));
        // A rendering error due to sample values may not occur for a real lead.
        if let Ok(made) = made {
            self.is_utf8("xml", document::declared(made.as_bytes()));
            if let Err(error) = roxmltree::Document::parse(made.trim()) {
                self.check.at("xml", format!("cannot make XML of a complete lead: {error}"));
                return None;
            }
        }
        Some(template)
    }

    fn shape(&mut self, key: &str, value: &toml::Value) -> Option<JsonMapping> {
        Some(match value {
            toml::Value::String(text) => JsonMapping::Of(self.expression(key, text, Request)?),
            toml::Value::Integer(number) => JsonMapping::Fixed(Value::from(*number).to_string()),
            toml::Value::Float(number) => JsonMapping::Fixed(Value::from(*number).to_string()),
            toml::Value::Boolean(flag) => JsonMapping::Fixed(flag.to_string()),
            toml::Value::Datetime(time) => JsonMapping::Fixed(Value::from(time.to_string()).to_string()),
            toml::Value::Array(elements) => {
                let shapes = elements.iter().enumerate();
                let shapes =
                    shapes.filter_map(|(nth, element)| self.shape(&format!("{key}[{nth}]"), element));
                JsonMapping::Array(shapes.collect())
            }
            toml::Value::Table(table) => {
                let entries = table.iter().filter_map(|(name, value)| {
                    let shape = self.shape(&format!("{key}.{}", quoted(name)), value)?;
                    Some((format!("{}:", Value::from(name.as_str())), shape))
                });
                JsonMapping::Object(entries.collect())
            }
        })
    }

    pub(super) fn auth(&mut self, auth: &declared::Auth) -> Option<Auth> {
        match (&auth.basic, &auth.oauth2) {
            (Some(basic), None) => {
                let user = self.expression("auth.basic.user", &basic.user, Request);
                let password = self.expression("auth.basic.password", &basic.password, Request);
                if user.as_ref().is_some_and(|user| self.specimen_of(user).contains(':')) {
                    self.check.at("auth.basic.user", NO_USER);
                }
                Some(Auth::Basic { user: user?, password: password? })
            }
            (None, Some(oauth2)) => self.oauth2(oauth2),
            _ => {
                self.check.at("auth", "must have exactly one of `basic` and `oauth2`");
                None
            }
        }
    }

    fn oauth2(&mut self, declared: &declared::OAuth2) -> Option<Auth> {
        let declared::OAuth2 { token_url, sandbox_token_url, scope, .. } = declared;
        let client_id = self.expression("auth.oauth2.client_id", &declared.client_id, Token);
        let proof = self.client_proof(declared);
        let params = self.fields("auth.oauth2.params", &declared.params, Token);
        for (name, url) in [("token_url", Some(token_url)), ("sandbox_token_url", sandbox_token_url.as_ref())]
        {
            let key = format!("auth.oauth2.{name}");
            self.lines.note(&key, self.check.line_of(&key));
            if let Some(fault) = url.and_then(|url| url_fault(url)) {
                self.check.at(&key, fault);
            }
        }
        Some(Auth::OAuth2 {
            token_url: token_url.clone(),
            sandbox_token_url: sandbox_token_url.clone(),
            client_id: client_id?,
            proof: proof?,
            scope: scope.clone(),
            params,
        })
    }

    /// The client's credentials for the authorization server.
    fn client_proof(&mut self, declared: &declared::OAuth2) -> Option<ClientProof> {
        let is_basic = declared.client_auth == ClientAuth::Basic;
        match (&declared.client_secret, &declared.client_assertion) {
            (Some(secret), None) => {
                let secret = self.expression("auth.oauth2.client_secret", secret, Token);
                secret.map(if is_basic { ClientProof::Basic } else { ClientProof::Secret })
            }
            (None, Some(assertion)) => {
                if is_basic {
                    let fault = "is how a `client_secret` is sent, but `client_assertion` replaces it";
                    self.check.at("auth.oauth2.client_auth", fault);
                }
                let assertion = self.expression("auth.oauth2.client_assertion", assertion, Token);
                assertion.map(ClientProof::Assertion)
            }
            _ => {
                self.check
                    .at("auth.oauth2", "must have exactly one of `client_secret` and `client_assertion`");
                None
            }
        }
    }

    pub(super) fn answer(&mut self) -> Option<AnswerMapping> {
        let http = self.http;
        let keys: Vec<String> = self.product.offers.iter().map(|offer| offer.key.clone()).collect();
        let declared = &http.answer;
        let error = self.optional("answer.error", &declared.error, Answer);
        let declined = self.optional("answer.declined", &declared.declined, Answer);
        self.reject_words("answer.declined", &declined);
        let xml = http.steps.last().map_or(&http.xml, |step| &step.xml);
        if xml.is_some() && declared.offers.is_none() {
            let message = "is missing: the path of the offers in the answer, such as `response.Offers.Offer`";
            self.check.at("answer.offers", message);
        }
        let offers = declared.offers.as_deref().unwrap_or("response.offers");
        let offers = self.expression("answer.offers", offers, Answer);
        let inner = self.optional("answer.inner", &declared.inner, Inner);
        let offer = self.figures(&keys);
        let declines = http.steps.iter().map(|step| &step.declined).chain([&declared.declined]).flatten();
        if !declared.reasons.is_empty() && declines.into_iter().all(|text| fixed::is_comparison(text)) {
            let fault = "never apply: no `declined` gives a reason; set it to where the answer has one, such as \
                `response.reason`";
            self.check.at("answer.reasons", fault);
        }
        let reasons = declared.reasons.iter().filter_map(|(word, reason)| {
            let found = self.reject_word(&format!("answer.reasons.{}", quoted(word)), reason)?;
            Some((word.clone(), found))
        });
        let reasons = reasons.collect();
        let money = Arc::new(self.money_rules());
        Some(AnswerMapping {
            error,
            declined,
            reasons,
            offers: offers?,
            max_offers: declared.max_offers,
            empty_declines: declared.empty == Some(Empty::Declines),
            inner,
            offer,
            keys,
            money,
        })
    }

    /// Checks that literal decline reasons are those of the API or of `answer.reasons`, and warns of an
    /// outage that is counted as declines.
    fn reject_words(&mut self, key: &str, declined: &Option<Expression>) {
        let applies = |status: &u16| {
            let context = minijinja::context! { status, response => "", ..specimen::context() };
            let declines = |by: &Expression| by.says(&context).is_ok_and(|said| said.is_some());
            declined.as_ref().is_some_and(|by| by.names_status && declines(by))
        };
        if let Some(status) = OUTAGES.iter().find(|status| applies(status)) {
            let outage = format!(
                "applies to every answer with status {status}, so an outage or a wrong key counts as declines; \
                 name the statuses that decline, as in `status == 422`"
            );
            self.check.remark(key, outage);
        }
        let own = &self.http.answer.reasons;
        for word in declined.iter().flat_map(Expression::literals).filter(|word| !own.contains_key(*word)) {
            self.reject_word(key, word);
        }
    }

    fn reject_word(&mut self, key: &str, word: &str) -> Option<RejectReason> {
        let found = RejectReason::from_wire(word);
        if found.is_none() {
            let known = offerd_model::one_of(RejectReason::WIRE);
            let hint = did_you_mean(nearest(word, RejectReason::WIRE.iter().copied()));
            self.check.at(key, format!("must be {known}, got `{word}`{hint}"));
        }
        found
    }

    /// Records the location of a mapping, and checks every name that it uses.
    fn names(&mut self, key: &str, text: &str, variables: BTreeSet<String>, stage: ExpressionPlace) {
        self.lines.note(&self.whole(key), self.check.line_of(key));
        self.signing.push((self.whole(key), text.to_owned()));
        let quoted = text.split(['\'', '"']).filter(|part| part.starts_with('@'));
        self.attributes.extend(quoted.map(str::to_owned));
        let sources = KnownNames { secrets: self.secrets, kept: &self.kept, ping: self.is_ping };
        for variable in variables {
            self.sends_callback |= variable == "callback_url" && stage != Answer;
            self.used.extend(variable.strip_prefix("secret.").map(str::to_owned));
            if let Some(fault) = names::fault(key, text, &variable, stage, sources) {
                self.check.at(key, fault);
            }
        }
    }
}

/// Replaces each expression of a template with a letter, since expressions may contain characters that are
/// invalid in URLs.
fn without_expressions(template: &str) -> String {
    let mut parts = template.split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('x');
        text.push_str(part.split_once("}}").map_or("", |(_, rest)| rest));
    }
    text
}
