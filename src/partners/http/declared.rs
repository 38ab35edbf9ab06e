//! The shape of `[products.<type>.http]`, as an operator writes it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::declaration::HumanDuration;
use crate::model::State;
use crate::partners::catalog::PaymentBy;
use crate::partners::declared::{Own, Range};

/// `[products.<type>.http]`: how a partner is asked over HTTP, and what its answers mean.
///
/// Templates are expressions of the mapping language unless it says otherwise, so a fixed text stands in quotes of its own:
/// `channel = "'web'"`. They may use `lead` (the API's own attribute paths), `lead_uuid`, `rate_table_uuid`, `test`,
/// `now` (ISO 8601, UTC), `age`, `credit_score`, `credit_rating`, and `secret.<name>`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// The method; `POST` when absent.
    pub method: Option<String>,
    /// Where live leads are sent: a template, in which a value of a path is written `{{ lead_uuid|urlencode }}`.
    pub url: Option<String>,
    /// Where test leads are sent; without it the partner is not asked about them.
    pub sandbox_url: Option<String>,
    /// Parameters of the query.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    /// Headers beside `Content-Type`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A body of JSON: tables and arrays as they are, numbers and flags as they are, texts as expressions. What an
    /// expression leaves undefined is left out.
    pub json: Option<toml::Table>,
    /// A body of form fields.
    pub form: Option<BTreeMap<String, String>>,
    /// A body of XML: a template whose values are escaped.
    pub xml: Option<String>,
    /// Several calls in a row in place of one, which then stand here and not above.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Who of those that bid for a lead is sent it, where a step has a `bid`; who does, at whatever price, when absent.
    #[serde(default)]
    pub post: Post,
    /// Whether the feed tells of an answer that comes too late: `record` keeps it for `offerd explain` alone, and is what holds when absent.
    #[serde(default)]
    pub late: Late,
    /// How we show who we are, beside headers.
    pub auth: Option<Auth>,
    /// What must not stand in the file, by name.
    #[serde(default)]
    pub secrets: BTreeMap<String, Secret>,
    /// What an answer means.
    pub answer: Answer,
    /// Whether what it is sent and what it answers is kept, sealed with the lead, for `transcripts.kept`; not when absent.
    #[serde(default)]
    pub transcripts: bool,
    /// How the partner is reached.
    #[serde(default)]
    pub wire: Wire,
}

/// `steps`: one of several calls in a row, which share the ask's time, `auth`, `secrets` and `wire`. The last answer is what
/// `answer` is about. Its request is made as that of [`Http`], and may use `kept.<name>`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The method; `POST` when absent.
    pub method: Option<String>,
    /// Where live leads are sent.
    pub url: Option<String>,
    /// Where test leads are sent; all steps have one, or none.
    pub sandbox_url: Option<String>,
    /// Parameters of the query.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    /// Headers beside `Content-Type`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A body of JSON.
    pub json: Option<toml::Table>,
    /// A body of form fields.
    pub form: Option<BTreeMap<String, String>>,
    /// A body of XML.
    pub xml: Option<String>,
    /// Whether the call is made at all: an expression that may use `kept`; always when absent.
    pub when: Option<String>,
    /// True while the answer says that the partner is still at work: then the call is made again.
    pub pending: Option<String>,
    /// How long is waited before that, where `Retry-After` says no more; a second when absent.
    pub every: Option<HumanDuration>,
    /// True when the partner failed, so that no further call is made; the last step has `answer.error`.
    pub error: Option<String>,
    /// True when the partner declines the person, or the reason; the last step has `answer.declined`.
    pub declined: Option<String>,
    /// What later steps and `answer` may use of the answer, as `kept.<name>`.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
    /// What the partner bids for the lead: dollars, or true where it only says that it wants it; nothing, 0 and false decline. Makes the
    /// step a ping, which may name nothing that identifies a person. What follows is the post, and sent only to who is chosen.
    pub bid: Option<String>,
    /// Whether the call is made at most once for a lead, also over a restart, after which its answer is not known. A post always is.
    #[serde(default)]
    pub once: bool,
    /// Whether the partner answers this step by calling us, at `callback_url`, which earlier steps may send. It has no `url` then, or one
    /// that is asked every `every` while no call has come, with `pending`.
    #[serde(default)]
    pub callback: bool,
    /// True when such a call is signed as it should be: an expression that may use `header`, `body` (its text) and `secret`; without it
    /// the address alone is the right to answer.
    pub verify: Option<String>,
}

/// `late`: what becomes of an answer that comes too late.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Late {
    /// It is kept with the lead.
    #[default]
    Record,
    /// It is an event of the lead, too.
    Event,
}

/// `post.when`: when who is chosen is sent the lead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostWhen {
    /// At once; its answer has the offers.
    #[default]
    Chosen,
    /// When a client has been shown the offers of its answer to the ping.
    Shown,
}

/// `post`: who of those that bid for a lead is sent it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Post {
    /// The lowest bid that is taken, dollars.
    pub floor: Option<f64>,
    /// Among how many of the highest bids for the lead this one must be, those of other partners counted.
    pub best: Option<usize>,
    /// When it is sent: as soon as it is `chosen`, or when its offers are `shown`, which its answer to the ping has then.
    pub when: Option<PostWhen>,
    /// How long is waited for the bids of others where `best` compares them, from when this one has come; half of the ask's time when absent.
    pub wait: Option<HumanDuration>,
}

impl Http {
    /// The one call of a partner that needs no steps.
    pub(super) fn only_call(&self) -> Step {
        Step {
            method: self.method.clone(),
            url: self.url.clone(),
            sandbox_url: self.sandbox_url.clone(),
            query: self.query.clone(),
            headers: self.headers.clone(),
            json: self.json.clone(),
            form: self.form.clone(),
            xml: self.xml.clone(),
            ..Step::default()
        }
    }

    /// The keys of a call that stand in the table itself.
    pub(super) fn own_keys(&self) -> Vec<&'static str> {
        let given = [
            ("method", self.method.is_some()),
            ("url", self.url.is_some()),
            ("sandbox_url", self.sandbox_url.is_some()),
            ("query", !self.query.is_empty()),
            ("headers", !self.headers.is_empty()),
            ("json", self.json.is_some()),
            ("form", self.form.is_some()),
            ("xml", self.xml.is_some()),
        ];
        given.into_iter().filter_map(|(key, given)| given.then_some(key)).collect()
    }
}

/// `auth`: how we show who we are, one way or the other.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// HTTP basic.
    pub basic: Option<Basic>,
    /// OAuth 2 client credentials (RFC 6749, 4.4): a token is fetched, kept until it expires, and sent as a bearer.
    pub oauth2: Option<OAuth2>,
}

/// `auth.basic`: user and password.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basic {
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
}

/// `auth.oauth2`: where tokens are fetched, and as whom.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuth2 {
    /// Where tokens are fetched.
    pub token_url: String,
    /// Where tokens for test leads are fetched; `token_url` when absent.
    pub sandbox_token_url: Option<String>,
    /// The client's id.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: Option<String>,
    /// A signed assertion in its place (RFC 7523, `private_key_jwt`): `{…}|jws('RS256', secret.key)`.
    pub client_assertion: Option<String>,
    /// What is asked for.
    pub scope: Option<String>,
    /// Further parameters, or others in place of those of client credentials: `{ grant_type = "'password'", username = "secret.user" }`.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// Where a secret is: `{ env = "NAME" }` or `{ file = "PATH" }`.
#[derive(Debug, Deserialize)]
#[serde(from = "toml::Value")]
pub enum Secret {
    /// In an environment variable.
    Env(String),
    /// In a file, whose last line end does not count.
    File(PathBuf),
    /// Nowhere that is known. What stood there is forgotten: it may be the secret itself.
    Misplaced,
}

impl From<toml::Value> for Secret {
    fn from(value: toml::Value) -> Self {
        let entries: Vec<(String, toml::Value)> = value.as_table().cloned().into_iter().flatten().collect();
        match &entries[..] {
            [(key, toml::Value::String(name))] if key == "env" => Self::Env(name.clone()),
            [(key, toml::Value::String(path))] if key == "file" => Self::File(path.into()),
            _ => Self::Misplaced,
        }
    }
}

/// `answer`: what an answer means. Expressions may use `status` (a number), `header` (by lower-case name), `response`
/// (JSON as it is; XML as its root element, each element a text or a table, repeated ones an array, attributes with an
/// `@`; else a text), and all that requests may use but secrets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// True, or a text, when the partner failed; a status other than 2xx is a failure unless `declined` says otherwise.
    pub error: Option<String>,
    /// True when the partner declines the person, or the reason as the API has it (`low_fico`) or as `reasons` has it; of several,
    /// the first that is known.
    pub declined: Option<String>,
    /// The partner's words for why it declines, with what the API calls them: `{ SCORE_BELOW_MIN = "low_fico" }`.
    #[serde(default)]
    pub reasons: BTreeMap<String, String>,
    /// The list of offers; `response.offers` when absent, which a partner that is sent XML cannot mean.
    pub offers: Option<String>,
    /// What an answer without that list means: `"declines"`, or a failure when absent. An empty list declines.
    pub empty: Option<Empty>,
    /// The list of offers within each element of `offers`, where lists stand in a list: `offer.quotes`. The element is `outer` then.
    pub inner: Option<String>,
    /// The figures of each offer, which may use `offer` too. `src/partners/catalog/answered/figure.rs` lists them.
    pub offer: BTreeMap<String, String>,
    /// Offers of the partner's own, which need no offer of the catalog: what holds of all of them.
    pub own: Option<Own>,
    /// Longest text of an offer that has words of its own, bytes; 16 KiB when absent. A longer one is not shown.
    pub max_text_bytes: Option<usize>,
    /// Least and greatest value by the name of a figure, `apr` among them; an offer beyond them is not shown.
    #[serde(default)]
    pub bounds: BTreeMap<String, Range>,
    /// Greatest APR in percent by the lead's state (`{ NY = 25.0 }`), of a mortgage by the property's; an offer beyond it is not shown.
    #[serde(default)]
    pub rate_caps: BTreeMap<State, f64>,
    /// Whether a rate above 0 and below 1 percent is meant, and no fraction that is taken for a percentage.
    #[serde(default)]
    pub low_apr: bool,
    /// By which rate a monthly payment of a loan is computed that is not answered: `apr` (when absent) or `note_rate`. Where it is
    /// said, the offer says it too.
    pub payment: Option<PaymentBy>,
}

/// What an answer without a list of offers means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Empty {
    /// That the partner has nothing for the lead.
    Declines,
}

/// `wire`: how the partner is reached.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wire {
    /// Longest time to connect.
    pub connect_timeout: HumanDuration,
    /// Calls at once; beyond them the partner is not asked.
    pub concurrency: usize,
    /// Whether sending a request twice does no harm, so that one may be tried again; where it is said that it does, none is made again
    /// after a restart either.
    pub idempotent: Option<bool>,
    /// Whether the partner speaks HTTP/2.
    pub http2: bool,
    /// Whether answers may come compressed.
    pub gzip: bool,
    /// Longest answer, uncompressed, bytes.
    pub max_response_bytes: usize,
    /// Host names and addresses that may be private ones.
    pub allow_addresses: Vec<String>,
    /// PEM file with the certificate chain and the key that we show (mutual TLS).
    pub client_certificate: Option<PathBuf>,
    /// PEM file with the authorities that the partner's certificate may be from, beside the public ones.
    pub authorities: Option<PathBuf>,
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            connect_timeout: std::time::Duration::from_secs(2).into(),
            concurrency: 64,
            idempotent: None,
            http2: false,
            gzip: false,
            max_response_bytes: 256 * 1024,
            allow_addresses: Vec::new(),
            client_certificate: None,
            authorities: None,
        }
    }
}
