//! The shape of `[products.<type>.http]`, as an operator writes it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::catalog::{MoneyRules, PaymentBy};
use crate::declared::{Own, Range, wait};
use offerd_base::declaration::{Refusal, count, figure, if_any};
use offerd_base::regular_file::{self, PEM_BYTES_MAX};
use offerd_base::table;
use offerd_model::State;

/// The highest bid that is believed, dollars.
pub(super) const BID_MAX: f64 = 1_000_000.0;

table! {
    /// `[products.<type>.http]`: how a partner is asked over HTTP, and what its answers mean.
    ///
    /// Templates are expressions of the mapping language unless it says otherwise, so a fixed text stands in quotes of its own:
    /// `channel = "'web'"`. They may use `lead` (the API's own attribute paths), `lead_uuid`, `rate_table_uuid`, `test`,
    /// `now` (ISO 8601, UTC), `age`, `credit_score`, `credit_rating`, and `secret.<name>`.
    #[derive(Debug)]
    pub struct Http {
        /// The method; `POST` when absent.
        method: Option<Method> = if_any(method) => optional,
        /// Where live leads are sent: a template, in which a value of a path is written `{{ lead_uuid|urlencode }}`.
        url: Option<String>,
        /// Where test leads are sent; without it the partner is not asked about them.
        sandbox_url: Option<String>,
        /// Parameters of the query.
        query: BTreeMap<String, String> => optional,
        /// Headers beside `Content-Type`.
        headers: BTreeMap<String, String> => optional,
        /// A body of JSON: tables and arrays as they are, numbers and flags as they are, texts as expressions. What an
        /// expression leaves undefined is left out.
        json: Option<toml::Table>,
        /// A body of form fields.
        form: Option<BTreeMap<String, String>>,
        /// A body of XML: a template whose values are escaped.
        xml: Option<String>,
        /// Several calls in a row in place of one, which then stand here and not above.
        steps: Vec<Step> => optional,
        /// Who of those that bid for a lead is sent it, where a step has a `bid`; who does, at whatever price, when absent.
        post: Post => optional,
        /// Whether the feed tells of an answer that comes too late: `record` keeps it for `offerd explain` alone, and is what holds when absent.
        late: Late => optional,
        /// How we show who we are, beside headers.
        auth: Option<Auth>,
        /// What must not stand in the file, by name.
        secrets: BTreeMap<String, Secret> => optional,
        /// What an answer means.
        answer: Answer,
        /// Whether what it is sent and what it answers is kept, sealed with the lead, for `transcripts.kept`; not when absent.
        transcripts: bool => optional,
        /// How the partner is reached.
        wire: Wire => table,
    }

    /// `steps`: one of several calls in a row, which share the ask's time, `auth`, `secrets` and `wire`. The last answer is what
    /// `answer` is about. Its request is made as that of [`Http`], and may use `kept.<name>`.
    #[derive(Debug, Clone, Default)]
    pub struct Step {
        /// The method; `POST` when absent.
        method: Option<Method> = if_any(method) => optional,
        /// Where live leads are sent.
        url: Option<String>,
        /// Where test leads are sent; all steps have one, or none.
        sandbox_url: Option<String>,
        /// Parameters of the query.
        query: BTreeMap<String, String> => optional,
        /// Headers beside `Content-Type`.
        headers: BTreeMap<String, String> => optional,
        /// A body of JSON.
        json: Option<toml::Table>,
        /// A body of form fields.
        form: Option<BTreeMap<String, String>>,
        /// A body of XML.
        xml: Option<String>,
        /// Whether the call is made at all: an expression that may use `kept`; always when absent.
        when: Option<String>,
        /// True while the answer says that the partner is still at work: then the call is made again.
        pending: Option<String>,
        /// How long is waited before that, where `Retry-After` says no more; a second when absent.
        every: Option<Duration> = if_any(wait) => optional,
        /// True when the partner failed, so that no further call is made; the last step has `answer.error`.
        error: Option<String>,
        /// True when the partner declines the person, or the reason; the last step has `answer.declined`.
        declined: Option<String>,
        /// What later steps and `answer` may use of the answer, as `kept.<name>`.
        keep: BTreeMap<String, String> => optional,
        /// What the partner bids for the lead: dollars, or true where it only says that it wants it; nothing, 0 and false decline. Makes the
        /// step a ping, which may name nothing that identifies a person. What follows is the post, and sent only to who is chosen.
        bid: Option<String>,
        /// Whether the call is made at most once for a lead, also over a restart, after which its answer is not known. A post always is.
        once: bool => optional,
        /// Whether the partner answers this step by calling us, at `callback_url`, which earlier steps may send. It has no `url` then, or one
        /// that is asked every `every` while no call has come, with `pending`.
        callback: bool => optional,
        /// True when such a call is signed as it should be: an expression that may use `header`, `body` (its text) and `secret`; without it
        /// the address alone is the right to answer.
        verify: Option<String>,
    }

    /// `post`: who of those that bid for a lead is sent it.
    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    pub struct Post {
        /// The lowest bid that is taken, dollars.
        floor: Option<f64> = if_any(figure(0.0, BID_MAX)) => optional,
        /// Among how many of the highest bids for the lead this one must be, those of other partners counted.
        best: Option<usize> = if_any(count(1, 1000)) => optional,
        /// When it is sent: as soon as it is `chosen`, or when its offers are `shown`, which its answer to the ping has then.
        when: Option<PostWhen>,
        /// How long is waited for the bids of others where `best` compares them, from when this one has come; half of the ask's time when absent.
        wait: Option<Duration> = if_any(wait) => optional,
    }

    /// `auth`: how we show who we are, one way or the other.
    #[derive(Debug)]
    pub struct Auth {
        /// HTTP basic.
        basic: Option<Basic>,
        /// OAuth 2 client credentials (RFC 6749, 4.4): a token is fetched, kept until it expires, and sent as a bearer.
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

    /// `auth.oauth2`: where tokens are fetched, and as whom.
    #[derive(Debug)]
    pub struct OAuth2 {
        /// Where tokens are fetched.
        token_url: String,
        /// Where tokens for test leads are fetched; `token_url` when absent.
        sandbox_token_url: Option<String>,
        /// The client's id.
        client_id: String,
        /// The client's secret.
        client_secret: Option<String>,
        /// How the secret is sent: in the body, `"post"`, which is meant when absent, or `"basic"`, as HTTP basic has it.
        client_auth: ClientAuth => optional,
        /// A signed assertion in its place (RFC 7523, `private_key_jwt`): `{…}|jws('RS256', secret.key)`.
        client_assertion: Option<String>,
        /// What is asked for.
        scope: Option<String>,
        /// Further parameters, or others in place of those of client credentials: `{ grant_type = "'password'", username = "secret.user" }`.
        params: BTreeMap<String, String> => optional,
    }

    /// `answer`: what an answer means. Expressions may use `status` (a number), `header` (by lower-case name), `response`
    /// (JSON as it is; XML as its root element, each element a text or a table, repeated ones an array, attributes with an
    /// `@`, of a text those that a mapping names, beside which it is `#text`; else a text), and all that requests may use but secrets.
    /// Where yes or no is wanted, a text says it in words: true, yes, 1; false, no, 0, and nothing at all.
    #[derive(Debug)]
    pub struct Answer {
        /// True, or a text, when the partner failed; a status other than 2xx is a failure unless `declined` says otherwise.
        error: Option<String>,
        /// True when the partner declines the person, or the reason as the API has it (`low_fico`) or as `reasons` has it; of several,
        /// the first that is known.
        declined: Option<String>,
        /// The partner's words for why it declines, with what the API calls them: `{ SCORE_BELOW_MIN = "low_fico" }`.
        reasons: BTreeMap<String, String> => optional,
        /// The list of offers; `response.offers` when absent, which a partner that is sent XML cannot mean.
        offers: Option<String>,
        /// What an answer without that list means: `"declines"`, or a failure when absent. An empty list declines.
        empty: Option<Empty>,
        /// The list of offers within each element of `offers`, where lists stand in a list: `offer.quotes`. The element is `outer` then.
        inner: Option<String>,
        /// The figures of each offer, which may use `offer` too. `src/partners/catalog/answered/figure.rs` lists them.
        offer: BTreeMap<String, String>,
        /// Offers of the partner's own, which need no offer of the catalog: what holds of all of them.
        own: Option<Own>,
        /// Longest text of an offer that has words of its own, bytes; 16 KiB when absent. A longer one is not shown.
        max_text_bytes: usize = count(1024, 65_536) => or(MoneyRules::MAX_TEXT_BYTES),
        /// Least and greatest value by the name of a figure, `apr` among them; an offer beyond them is not shown.
        bounds: BTreeMap<String, Range> => optional,
        /// Greatest APR in percent by the lead's state (`{ NY = 25.0 }`), of a mortgage by the property's; an offer beyond it is not shown.
        rate_caps: BTreeMap<State, f64> => optional,
        /// Whether a rate above 0 and below 1 percent is meant, and no fraction that is taken for a percentage.
        low_apr: bool => optional,
        /// By which rate a monthly payment of a loan is computed that is not answered: `apr` (when absent) or `note_rate`. Where it is
        /// said, the offer says it too.
        payment: Option<PaymentBy>,
    }

    /// `wire`: how the partner is reached.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Wire {
        /// Longest time to connect.
        connect_timeout: Duration = wait => or(Duration::from_secs(2)),
        /// Calls at once; beyond them the partner is not asked.
        concurrency: usize = count(1, 10_000) => or(64),
        /// Whether sending a request twice does no harm, so that one may be tried again; where it is said that it does, none is made again
        /// after a restart either.
        idempotent: Option<bool>,
        /// Whether the partner speaks HTTP/2.
        http2: bool => optional,
        /// Whether compressed answers are asked for; they are read in any case.
        gzip: bool => optional,
        /// Longest answer, uncompressed, bytes.
        max_response_bytes: usize = count(1024, 16 * 1024 * 1024) => or(256 * 1024),
        /// Host names and addresses that may be private ones.
        allow_addresses: Vec<String> => optional,
        /// PEM file with the certificate chain and the key that we show (mutual TLS).
        client_certificate: Option<Vec<u8>> = if_any(pem) => optional,
        /// PEM file with the authorities that the partner's certificate may be from, beside the public ones.
        authorities: Option<Vec<u8>> = if_any(pem) => optional,
    }
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

/// `auth.oauth2.client_auth`: how a client's secret is sent (RFC 6749, 2.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuth {
    /// In the body, beside the client's id.
    #[default]
    Post,
    /// As user and password of HTTP basic, for which neither is in the body.
    Basic,
}

fn method(name: String) -> Result<Method, Refusal> {
    let known = [Method::POST, Method::GET, Method::PUT, Method::PATCH];
    let found = known.into_iter().find(|method| method.as_str() == name);
    found.ok_or_else(|| vec![format!("must be POST, GET, PUT or PATCH, got `{name}`")])
}

/// What stands in a PEM file.
fn pem(path: PathBuf) -> Result<Vec<u8>, Refusal> {
    let read = regular_file::bytes_of(&path, PEM_BYTES_MAX);
    read.map_err(|error| vec![format!("{} cannot be read: {error}", path.display())])
}

impl Post {
    /// Whether it is sent the lead only when its offers, which the ping is answered with, are shown.
    pub fn when_shown(&self) -> bool {
        self.when == Some(PostWhen::Shown)
    }
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
}

impl Step {
    /// The keys that are given of those of which its request is made.
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

/// Where a secret is: `{ env = "NAME" }` or `{ file = "PATH" }`.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Secret {
    /// In an environment variable.
    Env {
        /// Its name.
        env: String,
    },
    /// In a file, whose last line end does not count.
    File {
        /// The file.
        file: PathBuf,
    },
    /// Nowhere that is known. What stood there is forgotten: it may be the secret itself.
    Misplaced(IgnoredAny),
}

/// What an answer without a list of offers means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Empty {
    /// That the partner has nothing for the lead.
    Declines,
}
