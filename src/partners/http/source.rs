//! A partner that is asked over HTTP, compiled: how it is asked, how it is reached, what its answers mean.

use std::collections::{BTreeMap, BTreeSet};

use chrono::Utc;
use hyper::HeaderMap;
use minijinja::value::Value as Mapped;
use uuid::Uuid;

use super::answer;
use super::answer_mapping::AnswerMapping;
use super::declared::{Post, Wire};
use super::exchange::Exchange;
use super::expression::Expression;
use super::given::Given;
use super::mapping_error::MappingError;
use super::places::Places;
use super::secret::{Secret, Secrets};
use super::step::Step;
use offerd_base::ids;
use offerd_model::Timestamp;

/// How a partner is asked over HTTP, and what its answers mean.
#[derive(Debug)]
pub struct HttpSource {
    /// Whose it is, as its asks are named by: the file, and the product type.
    pub(super) names: [String; 2],
    /// Its calls in their order, at least one.
    pub(super) steps: Vec<Step>,
    /// Who of those that bid is sent the lead.
    pub post: Post,
    pub(super) secrets: BTreeMap<String, Option<Secret>>,
    pub(super) answer: AnswerMapping,
    /// The attributes of XML that its mappings name, `@months`.
    pub(super) attributes: BTreeSet<String>,
    /// Whether an answer that comes too late is an event of the lead.
    pub late_is_event: bool,
    pub(super) auth: Option<Auth>,
    /// Where it is called, by key: scheme and host, as far as the file says them.
    pub hosts: Vec<(String, String)>,
    /// Where its mappings stand.
    pub places: Places,
    /// How the partner is reached.
    pub wire: Wire,
    /// Whether what it is sent and what it answers is kept.
    pub transcripts: bool,
}

impl HttpSource {
    /// What names its being asked about a rate table: always the same for the same, however often that has to be sent.
    pub fn ask_uuid(&self, rate_table: Uuid) -> Uuid {
        let [file, product_type] = &self.names;
        ids::derived("ask", &[&rate_table.to_string(), file, product_type])
    }

    /// The variables of every mapping.
    pub(super) fn context(&self, given: &Given, exchange: &Exchange) -> Mapped {
        let ask_uuid = self.ask_uuid(given.asked.rate_table).to_string();
        minijinja::context! { ask_uuid, callback_url => exchange.callback_url.clone(), ..given.context(&exchange.kept) }
    }

    /// The variables of what is sent.
    pub(super) fn secret_context(&self, secrets: Secrets, nonce: Uuid, context: Mapped) -> Mapped {
        minijinja::context! { secret => self.revealed(secrets), nonce => nonce.to_string(), ..context }
    }

    /// Whether it is asked for a bid before it is sent the lead.
    pub fn has_ping(&self) -> bool {
        self.steps.iter().any(|step| step.bid.is_some())
    }

    /// Whether the partner answers one of its steps by calling us.
    pub fn has_callback(&self) -> bool {
        self.steps.iter().any(|step| step.callback)
    }

    /// Whether a call that answers an ask is signed as its file wants it. One that cannot be looked at is not.
    pub fn is_signed(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let now = Timestamp::from(Utc::now()).to_string();
        self.verified(headers, body, (&now, Secrets::Real)).is_ok_and(|signed| signed)
    }

    /// The same.
    ///
    /// # Errors
    /// The rule that could not look at it, which makes it unsigned.
    pub fn verified(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        (now, secrets): (&str, Secrets),
    ) -> Result<bool, MappingError> {
        for step in &self.steps {
            let Some(verify) = &step.verify else { continue };
            let header = answer::texts_of(headers);
            let body = String::from_utf8_lossy(body);
            let context = minijinja::context! { header, body, now, secret => self.revealed(secrets) };
            if !verify.holds(&context)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether one of its calls is made at most once for a lead.
    pub fn has_once(&self) -> bool {
        self.steps.iter().any(|step| step.once)
    }

    /// The words by which its mappings know answers: what stands there in quotes, reasons, and the keys of offers.
    pub fn words(&self) -> Vec<String> {
        let of_steps = self.steps.iter().flat_map(Step::of_answers);
        let quoted =
            of_steps.chain(self.answer.expressions()).flat_map(Expression::quoted).map(str::to_owned);
        quoted.chain(self.answer.reasons.keys().cloned()).chain(self.answer.keys.iter().cloned()).collect()
    }

    /// Whether the partner takes test leads.
    pub fn has_sandbox(&self) -> bool {
        self.steps.iter().all(|step| step.sandbox_url.is_some() || step.url.is_none())
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
        /// The client's secret, or what proves it in place of that.
        proof: ClientProof,
        /// What is asked for.
        scope: Option<String>,
        /// Further parameters, or others in place of those of client credentials.
        params: Vec<(String, Expression)>,
    },
}

/// How a client proves to an authorization server who it is.
#[derive(Debug)]
pub enum ClientProof {
    /// By its secret, in the body (RFC 6749, 2.3.1).
    Secret(Expression),
    /// By its secret, as HTTP basic has it, which servers must take (the same).
    Basic(Expression),
    /// By a signed assertion (RFC 7523, 2.2).
    Assertion(Expression),
}
