//! A partner that is asked over HTTP, compiled: its requests, its connection, and its answer mapping.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use hyper::HeaderMap;
use minijinja::value::{Serde, Value as Mapped};
use uuid::Uuid;

use super::answer;
use super::answer_mapping::AnswerMapping;
use super::ask_progress::AskProgress;
use super::client_auth::Auth;
use super::declared::{ConnectionSettings, Post};
use super::expression::Expression;
use super::mapping_error::MappingResult;
use super::mapping_lines::MappingLines;
use super::secret::{Secret, Secrets};
use super::step::CallStep;
use super::work::{self, Meter};
use crate::Facts;
use offerd_base::ids;
use offerd_model::Timestamp;

/// Secrets by name; the error says why a paused seat lacks one.
pub(super) type PartnerSecrets = BTreeMap<String, Result<Secret, String>>;

/// How a partner is asked over HTTP, and how its answers are read.
#[derive(Debug)]
pub struct HttpPartner {
    /// The partner file and the product type, from which ask ids are derived.
    pub(super) names: [String; 2],
    /// The calls in order, at least one.
    pub(super) steps: Vec<CallStep>,
    /// Which bidders are sent the lead.
    pub post: Post,
    pub(super) secrets: PartnerSecrets,
    pub(super) answer: AnswerMapping,
    /// The XML attributes that its mappings use, such as `@months`.
    pub(super) attributes: BTreeSet<String>,
    /// Whether a late answer becomes an event of the lead.
    pub late_is_event: bool,
    pub(super) auth: Option<Auth>,
    /// The hosts that it is called at, by key: scheme and host, if the file has them as literals.
    pub hosts: Vec<(String, String)>,
    /// Locations of its mappings in the file.
    pub lines: MappingLines,
    /// Connection settings.
    pub wire: ConnectionSettings,
    /// Whether requests and answers are kept.
    pub transcripts: bool,
}

impl HttpPartner {
    /// Id of the ask for a rate table: derived, so that every repetition of a request has the same id.
    pub fn ask_uuid(&self, rate_table: Uuid) -> Uuid {
        let [file, product_type] = &self.names;
        ids::derived("ask", &[&rate_table.to_string(), file, product_type])
    }

    pub(super) fn context(&self, given: &MappingInput, progress: &AskProgress) -> Mapped {
        let ask_uuid = self.ask_uuid(given.asked.rate_table).to_string();
        minijinja::context! {
            ask_uuid,
            callback_url => progress.callback_url.clone(),
            steps_left => Mapped::from_object(Meter::new(progress.until)),
            ..given.context(&progress.kept)
        }
    }

    /// The variables of requests.
    pub(super) fn secret_context(&self, secrets: Secrets, nonce: Uuid, context: Mapped) -> Mapped {
        let context = work::of_request(context);
        minijinja::context! { secret => self.revealed(secrets), nonce => nonce.to_string(), ..context }
    }

    /// Whether it is asked for a bid before it is sent the lead.
    pub fn has_ping(&self) -> bool {
        self.steps.iter().any(|step| step.bid.is_some())
    }

    /// Whether the partner answers one of its steps by callback.
    pub fn has_callback(&self) -> bool {
        self.steps.iter().any(|step| step.callback)
    }

    /// Whether a callback is signed as the file requires. An error in the rule counts as unsigned.
    pub fn is_signed(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let now = Timestamp::from(Utc::now()).to_string();
        self.verified(headers, body, (&now, Secrets::Real)).is_ok_and(|signed| signed)
    }

    /// Like [`is_signed`](Self::is_signed), with the error.
    ///
    /// # Errors
    /// The rule that could not be evaluated.
    pub fn verified(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        (now, secrets): (&str, Secrets),
    ) -> MappingResult<bool> {
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

    /// Whether one of its calls is made at most once per ask.
    pub fn has_call_once_per_ask(&self) -> bool {
        self.steps.iter().any(|step| step.once_per_ask)
    }

    /// The words that its mappings compare answers with: quoted texts, decline reasons and offer keys.
    pub fn words(&self) -> Vec<String> {
        let of_steps = self.steps.iter().flat_map(CallStep::of_answers);
        let quoted =
            of_steps.chain(self.answer.expressions()).flat_map(Expression::quoted).map(str::to_owned);
        quoted.chain(self.answer.reasons.keys().cloned()).chain(self.answer.keys.iter().cloned()).collect()
    }

    /// Whether the partner takes test leads.
    pub fn has_sandbox(&self) -> bool {
        self.steps.iter().all(|step| step.sandbox_url.is_some() || step.url.is_none())
    }
}

/// The context of an ask, besides the lead's attributes.
#[derive(Debug, Clone, Copy)]
pub struct AskContext {
    /// Uuid of the lead.
    pub lead: Uuid,
    /// Uuid of the rate table.
    pub rate_table: Uuid,
    /// Whether it is a test lead, which only sandboxes may receive.
    pub test: bool,
    /// Time of the ask.
    pub now: DateTime<Utc>,
}

/// A lead as mappings see it, with derived values and the context of the ask. Built once per rate table for
/// all partners, since it costs as much as a request. Not `Debug`, since it holds personal data.
pub struct MappingInput {
    pub(super) asked: AskContext,
    context: Mapped,
}

impl MappingInput {
    /// The variables for a partner that is `asked` about the lead of `facts`.
    pub fn of(facts: &Facts, asked: &AskContext) -> Self {
        let context = minijinja::context! {
            lead => Mapped::from(Serde(facts.lead)),
            lead_uuid => asked.lead.to_string(),
            rate_table_uuid => asked.rate_table.to_string(),
            test => asked.test,
            now => Timestamp::from(asked.now).to_string(),
            age => facts.age(),
            credit_score => facts.credit_score(),
            credit_rating => facts.rating().map(|rating| rating.as_str()),
        };
        Self { asked: *asked, context }
    }

    /// The variables of a mapping, including values `kept` from earlier answers.
    pub(super) fn context(&self, kept: &BTreeMap<String, Mapped>) -> Mapped {
        minijinja::context! { kept => kept.clone(), ..self.context.clone() }
    }
}
