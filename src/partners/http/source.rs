//! A partner that is asked over HTTP, compiled: how it is asked, how it is reached, what its answers mean.

use std::collections::BTreeMap;
use std::time::Duration;

use super::answer_mapping::AnswerMapping;
use super::expression::Expression;
use super::places::Places;
use super::secret::Secret;
use super::step::Step;

/// How a partner is asked over HTTP, and what its answers mean.
#[derive(Debug)]
pub struct HttpSource {
    /// Its calls in their order, at least one.
    pub(super) steps: Vec<Step>,
    pub(super) secrets: BTreeMap<String, Option<Secret>>,
    pub(super) answer: AnswerMapping,
    pub(super) auth: Option<Auth>,
    /// Where it is called, by key: scheme and host, as far as the file says them.
    pub hosts: Vec<(String, String)>,
    /// Where its mappings stand.
    pub places: Places,
    /// How the partner is reached.
    pub wire: WireRules,
}

impl HttpSource {
    /// Whether the partner takes test leads.
    pub fn has_sandbox(&self) -> bool {
        self.steps.iter().all(|step| step.sandbox_url.is_some())
    }
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
