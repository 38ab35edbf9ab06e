//! The shape of `[products.<type>.http]`, as an operator writes it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::catalog::{MoneyRules, PaymentBy};
use crate::declared::{Own, Range, wait};
use offerd_base::declaration::{ValueFaults, count, figure, if_any};
use offerd_base::regular_file::{self, PEM_BYTES_MAX};
use offerd_base::table;
use offerd_model::State;

/// Maximum plausible bid in dollars.
pub(super) const BID_MAX: f64 = 1_000_000.0;

table! {
    /// `[products.<type>.http]`: how a partner is asked over HTTP, and how its answers are read.
    ///
    /// Values are expressions of the mapping language unless stated otherwise, so a literal text needs quotes
    /// of its own: `channel = "'web'"`. They may use `lead` (attribute paths of the API), `lead_uuid`,
    /// `rate_table_uuid`, `ask_uuid`, `callback_url`, `test`, `now` (ISO 8601, UTC), `age`, `credit_score`,
    /// `credit_rating`, `nonce` and `secret.<name>`; in headers also `request`, after a `keep` or `bid` also
    /// `kept`.
    #[derive(Debug)]
    pub struct Http {
        /// The method; `POST` when absent.
        method: Option<Method> = if_any(method) => optional,
        /// URL for live leads: a template; values in its path are written `{{ lead_uuid|urlencode }}`.
        url: Option<String>,
        /// URL for test leads; without it the partner is not asked about them.
        sandbox_url: Option<String>,
        /// Query parameters.
        query: BTreeMap<String, String> => optional,
        /// Headers in addition to `Content-Type`.
        headers: BTreeMap<String, String> => optional,
        /// JSON body: tables, arrays, numbers and flags are sent as they are, texts are expressions.
        /// Undefined values are omitted.
        json: Option<toml::Table>,
        /// A body of form fields.
        form: Option<BTreeMap<String, String>>,
        /// A body of XML: a template whose values are escaped.
        xml: Option<String>,
        /// Several calls in sequence; they replace the request keys above.
        steps: Vec<Step> => optional,
        /// Which bidders are sent the lead, if a step has a `bid`; every bidder at any price when absent.
        post: Post => optional,
        /// Whether the feed reports a late answer; `record`, the default, keeps it for `offerd explain` only.
        late: LateAnswerRule => optional,
        /// Authentication besides headers.
        auth: Option<Auth>,
        /// Secrets by name, kept outside the file.
        secrets: BTreeMap<String, SecretLocation> => optional,
        /// How an answer is read.
        answer: Answer,
        /// Whether requests and answers are kept, sealed with the lead (`transcripts.kept`); default false.
        transcripts: bool => optional,
        /// Connection settings.
        wire: ConnectionSettings => table,
    }

    /// `steps`: one of several calls in sequence, which share the ask's deadline, `auth`, `secrets` and
    /// `wire`. `answer` reads the last answer. Requests have the same keys as in [`Http`], and may use
    /// `kept.<name>`.
    #[derive(Debug, Clone, Default)]
    pub struct Step {
        /// The method; `POST` when absent.
        method: Option<Method> = if_any(method) => optional,
        /// URL for live leads.
        url: Option<String>,
        /// URL for test leads; either all steps have one or none.
        sandbox_url: Option<String>,
        /// Query parameters.
        query: BTreeMap<String, String> => optional,
        /// Headers in addition to `Content-Type`.
        headers: BTreeMap<String, String> => optional,
        /// JSON body.
        json: Option<toml::Table>,
        /// Form body.
        form: Option<BTreeMap<String, String>>,
        /// XML body.
        xml: Option<String>,
        /// Condition for making the call, which may use `kept`; always made when absent.
        when: Option<String>,
        /// True while the partner is still working on the answer: the call is then repeated.
        pending: Option<String>,
        /// Interval before the call is repeated, unless `Retry-After` asks for longer; default one second.
        every: Option<Duration> = if_any(wait) => optional,
        /// True when the partner failed, which ends the calls; the last step uses `answer.error`.
        error: Option<String>,
        /// True when the partner declines the person, or the reason; the last step uses `answer.declined`.
        declined: Option<String>,
        /// Values of the answer that later steps and `answer` may use as `kept.<name>`.
        keep: BTreeMap<String, String> => optional,
        /// The partner's bid for the lead: dollars, or true for acceptance without an amount; null, 0,
        /// false, and an `if` without `else` that does not hold, decline; a path that the answer lacks is a
        /// failure. Makes the step a ping, which may not send anything that identifies a
        /// person. The steps that follow are the post, sent only to chosen bidders.
        bid: Option<String>,
        /// Whether the call is made at most once per lead, even across a restart; its answer is then unknown.
        /// A post always is.
        once: bool => optional,
        /// Whether the partner answers this step by calling `callback_url`, which earlier steps may send.
        /// Such a step has no `url`, or one that is polled every `every` until the callback arrives, with
        /// `pending`.
        callback: bool => optional,
        /// True when a callback is properly signed: an expression that may use `header`, `body` (as text) and
        /// `secret`. Without it, knowing the URL is sufficient to answer.
        verify: Option<String>,
    }

    /// `post`: which bidders are sent the lead.
    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    pub struct Post {
        /// Minimum accepted bid in dollars.
        floor: Option<f64> = if_any(figure(0.0, BID_MAX)) => optional,
        /// The bid must be among this many highest bids for the lead, including those of other partners.
        best: Option<usize> = if_any(count(1, 1000)) => optional,
        /// When the lead is sent: once the bidder is `chosen`, or when its offers, taken from its answer to
        /// the ping, are `shown`.
        when: Option<PostWhen>,
        /// How long to wait for competing bids under `best`, from the arrival of this bid; half of the ask's
        /// time when absent.
        wait: Option<Duration> = if_any(wait) => optional,
    }

    /// `auth`: client authentication, by one of two methods.
    #[derive(Debug)]
    pub struct Auth {
        /// HTTP basic.
        basic: Option<Basic>,
        /// OAuth 2 client credentials (RFC 6749, 4.4): a token is fetched, cached until it expires, and sent
        /// as a bearer token.
        oauth2: Option<OAuth2>,
    }

    /// `auth.basic`: user and password.
    #[derive(Debug)]
    pub struct Basic {
        /// The user.
        user: String,
        /// The password.
        password: String,
    }

    /// `auth.oauth2`: the token endpoint and the client's credentials.
    #[derive(Debug)]
    pub struct OAuth2 {
        /// Token endpoint.
        token_url: String,
        /// Token endpoint for test leads; `token_url` when absent.
        sandbox_token_url: Option<String>,
        /// The client's id.
        client_id: String,
        /// The client's secret.
        client_secret: Option<String>,
        /// How the secret is sent: in the body, `"post"`, the default, or as HTTP basic, `"basic"`.
        client_auth: ClientAuth => optional,
        /// A signed assertion in place of the secret (RFC 7523, `private_key_jwt`): `{…}|jws('RS256',
        /// secret.key)`.
        client_assertion: Option<String>,
        /// The requested scope.
        scope: Option<String>,
        /// Further parameters, or replacements of those of client credentials: `{ grant_type = "'password'",
        /// username = "secret.user" }`.
        params: BTreeMap<String, String> => optional,
    }

    /// `answer`: how an answer is read. Expressions may use `status` (a number), `header` (by name, in any
    /// case), `response`, and everything that requests may use except secrets. `response` is JSON as it is,
    /// XML as its root element, or else a text. In XML each element is a text or a table, repeated elements
    /// are an array, and attributes have an `@`; on a text element, only attributes that a mapping names are
    /// read, and the text is `#text` beside them. Conditions accept texts: `true`, `yes`, `on`, `y`, `t`,
    /// `1`; `false`, `no`, `off`, `n`, `f`, zero and the empty text.
    #[derive(Debug)]
    pub struct Answer {
        /// True, or a text, when the partner failed; a status other than 2xx is a failure unless this or
        /// `declined` names `status` and applies.
        error: Option<String>,
        /// True when the partner declines the person, or the reason, as the API names it (`low_fico`) or as a
        /// key of `reasons`; of several, the first known one counts.
        declined: Option<String>,
        /// The partner's decline reasons, mapped to those of the API: `{ SCORE_BELOW_MIN = "low_fico" }`.
        reasons: BTreeMap<String, String> => optional,
        /// The list of offers; `response.offers` when absent, required for a partner that is sent XML.
        offers: Option<String>,
        /// What an answer without that list means that is empty, or has single values alone and no error:
        /// `"declines"`, or a failure when absent. An empty list declines.
        empty: Option<Empty>,
        /// The list of offers within each element of `offers`, for nested lists: `offer.quotes`. The element
        /// is then `outer`.
        inner: Option<String>,
        /// The figures of each offer, which may also use `offer`. *Figures of an offer* lists
        /// them.
        offer: BTreeMap<String, String>,
        /// Common properties of offers that exist only in the partner's answers, not in the catalog.
        own: Option<Own>,
        /// Maximum size of an offer's own texts in bytes; 16 KiB when absent. A longer offer is not shown.
        max_text_bytes: usize = count(1024, 65_536) => or(MoneyRules::MAX_TEXT_BYTES),
        /// Maximum number of offers read of one answer; 1000 when absent. Those behind them are not shown.
        max_offers: usize = count(1, 10_000) => or(1000),
        /// Minimum and maximum by name of a figure, `apr` among them; an offer out of bounds is not shown.
        bounds: BTreeMap<String, Range> => optional,
        /// Maximum APR in percent by the lead's state (`{ NY = 25.0 }`), for a mortgage by the property's
        /// state; an offer above it is not shown.
        rate_caps: BTreeMap<State, f64> => optional,
        /// Whether a rate above 0 and below 1 percent is meant, not a fraction mistaken for a percentage.
        low_apr: bool => optional,
        /// Rate from which a missing monthly loan payment is computed: `apr` (when absent) or `note_rate`.
        /// When set, the offer states it, too.
        payment: Option<PaymentBy>,
    }

    /// `wire`: how to connect to the partner.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ConnectionSettings {
        /// Maximum time to connect.
        connect_timeout: Duration = wait => or(Duration::from_secs(2)),
        /// Maximum concurrent calls; beyond it the partner is not asked.
        concurrency: usize = count(1, 10_000) => or(64),
        /// Whether repeating a request is harmless, so that it may be retried. If explicitly false, it is not
        /// repeated after a restart either.
        idempotent: Option<bool>,
        /// Whether the partner speaks HTTP/2.
        http2: bool => optional,
        /// Whether to request compressed answers; they are accepted in any case.
        gzip: bool => optional,
        /// Maximum size of an answer in bytes, uncompressed; 262144 when absent.
        max_response_bytes: usize = count(1024, 16 * 1024 * 1024) => or(256 * 1024),
        /// Host names and addresses that may resolve to private networks.
        allow_addresses: Vec<String> => optional,
        /// PEM file with our client certificate chain and key (mutual TLS).
        client_certificate: Option<Vec<u8>> = if_any(pem) => optional,
        /// PEM file with certificate authorities trusted in addition to the public ones.
        authorities: Option<Vec<u8>> = if_any(pem) => optional,
    }
}

/// `late`: what happens to a late answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LateAnswerRule {
    /// It is stored with the lead.
    #[default]
    Record,
    /// It also becomes an event of the lead.
    Event,
}

/// `post.when`: when a chosen bidder is sent the lead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostWhen {
    /// Immediately; its answer has the offers.
    #[default]
    Chosen,
    /// When a client has been shown the offers of its answer to the ping.
    Shown,
}

/// `auth.oauth2.client_auth`: how the client secret is sent (RFC 6749, 2.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuth {
    /// In the body, with the client id.
    #[default]
    Post,
    /// As user and password of HTTP basic; the body has neither.
    Basic,
}

fn method(name: String) -> Result<Method, ValueFaults> {
    let known = [Method::POST, Method::GET, Method::PUT, Method::PATCH];
    let found = known.into_iter().find(|method| method.as_str() == name);
    found.ok_or_else(|| vec![format!("must be POST, GET, PUT or PATCH, got `{name}`")])
}

fn pem(path: PathBuf) -> Result<Vec<u8>, ValueFaults> {
    let read = regular_file::bytes_of(&path, PEM_BYTES_MAX);
    read.map_err(|error| vec![format!("{} cannot be read: {error}", path.display())])
}

impl Post {
    /// Whether the lead is sent only once the offers of the ping are shown.
    pub fn when_shown(&self) -> bool {
        self.when == Some(PostWhen::Shown)
    }
}

impl Http {
    /// The single call of a partner without steps.
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
}

impl Step {
    /// The request keys that are set.
    pub(super) fn request_keys(&self) -> impl Iterator<Item = &'static str> {
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
        given.into_iter().filter_map(|(key, given)| given.then_some(key))
    }
}

/// Location of a secret: `{ env = "NAME" }` or `{ file = "PATH" }`.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum SecretLocation {
    /// In an environment variable.
    Env {
        /// Name of the variable.
        env: String,
    },
    /// In a file; a final line break is ignored.
    File {
        /// Path of the file.
        file: PathBuf,
    },
    /// Neither form. The value is discarded, since it may be the secret itself.
    Misplaced(IgnoredAny),
}

/// What an answer without a list of offers means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Empty {
    /// The partner declines.
    Declines,
}
