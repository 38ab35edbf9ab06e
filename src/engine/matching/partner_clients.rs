//! Clients of partners over HTTP: a seat's endpoint, circuit breaker and tokens. A reload reuses clients with
//! unchanged wire settings and hosts: breakers stay open and connections warm.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Histogram, histogram};
use tokio::time::Instant;

use super::answer_diagnostics;
use super::answer_reader::{AnswerReader, outcome_of};
use super::ask_error::AskError;
use super::ask_session::AskSession;
use super::call_facts::CallFacts;
pub use super::conversation::FinalReply;
use super::conversation::{Conversation, received};
use super::late_asks::{LateAsk, LateAsks};
use super::question::LeadQuestion;
use super::token_cache::TokenCache;
use super::undeclared_reasons::{UNNAMED, UndeclaredReasons, is_of, unknown_reason};
use crate::rate_table::bids::in_words;
use crate::rate_table::outcome::{AskResult, NoOfferReason, Outcome};
use offerd_base::config::WireSettings;
use offerd_base::declaration::Fault;
use offerd_base::telemetry::metrics::{PARTNER_CALL_SECONDS, PARTNER_MAPPING_SECONDS};
use offerd_base::telemetry::traces::TraceContext;
use offerd_model::ProductType;
use offerd_partners::http::auth::BearerToken;
use offerd_partners::http::declared;
use offerd_partners::http::{
    AnswerReading, Answered, AskProgress, HttpPartner, HttpRequest, MappingError, Secrets,
};
use offerd_partners::{Book, Seat};
pub use offerd_wire::{BreakerState, EndpointState};
use offerd_wire::{
    Call, CallError, CallReply, Endpoint, EndpointRules, GroupRules, LookupRules, OnLateReply, PoolRules,
    Wire,
};

const LATE_PATIENCE_MAX: Duration = Duration::from_secs(60);

/// The clients of one book.
pub struct PartnerClients {
    wire: Wire,
    clients: HashMap<(String, ProductType), PartnerClient>,
}

/// A client of one seat. Cheap to clone.
#[derive(Clone)]
pub struct PartnerClient {
    pub(super) shared: Arc<SharedClient>,
    /// The partner's undeclared decline reasons.
    pub(super) undeclared_reasons: Arc<UndeclaredReasons>,
}

/// What a reload keeps of a client with unchanged wire settings and hosts.
pub(super) struct SharedClient {
    endpoint: Endpoint,
    /// The endpoint of test leads: failures of a sandbox say nothing about the asks of live leads.
    test_endpoint: Endpoint,
    rules: declared::ConnectionSettings,
    /// [`HttpPartner::hosts`]: another host has failed no call yet.
    hosts: Vec<(String, String)>,
    /// Indexed by whether the lead is a test: the sandbox issues its own tokens.
    pub(super) tokens: [TokenCache; 2],
    pub(super) calls: Histogram,
    mappings: Histogram,
    pub(super) late: LateAsks,
}

impl PartnerClients {
    /// No clients yet.
    pub fn new(settings: WireSettings) -> Self {
        let clients = Self { wire: Wire::new(group_rules(settings)), clients: HashMap::new() };
        clients.set_rules(settings);
        clients
    }

    /// Changes the limits of breakers and look-ups of all clients of all books.
    pub fn set_rules(&self, settings: WireSettings) {
        self.wire.set_rules(group_rules(settings));
        self.wire.set_lookup_rules(LookupRules {
            threads: settings.lookup_threads,
            timeout: settings.lookup_timeout,
            kept: settings.lookup_kept,
            stale: settings.lookup_stale,
        });
    }

    /// Opens the clients of a book, reusing unchanged ones.
    ///
    /// # Errors
    /// Every client that cannot be opened, with the key and line in its partner's file.
    pub fn opened(&self, book: &Book) -> Result<Self, Vec<Fault>> {
        let mut clients = HashMap::new();
        let mut faults = Vec::new();
        for seat in book.seats() {
            let Some(http) = &seat.http else { continue };
            let place = (seat.identity.key.clone(), seat.product_type);
            let is_same = |client: &PartnerClient| {
                client.shared.rules == http.wire && client.shared.hosts == http.hosts
            };
            let same = self.of(seat).filter(is_same);
            match same.map_or_else(|| self.client(seat, http), Ok) {
                // New mappings declare other reasons.
                Ok(client) => {
                    let undeclared_reasons = Arc::new(UndeclaredReasons::of(seat));
                    drop(clients.insert(place, PartnerClient { undeclared_reasons, ..client }))
                }
                Err(found) => faults.extend(found.into_iter().map(|(key, message)| Fault {
                    file: Some(format!("{}.toml", seat.identity.key).into()),
                    line: http.lines.line_of(&key),
                    key: format!("products.{}.http.{key}", seat.product_type),
                    message,
                })),
            }
        }
        if faults.is_empty() { Ok(Self { wire: self.wire.clone(), clients }) } else { Err(faults) }
    }

    /// The client of a seat.
    pub fn of(&self, seat: &Seat) -> Option<PartnerClient> {
        self.clients.get(&(seat.identity.key.clone(), seat.product_type)).cloned()
    }

    fn client(&self, seat: &Seat, http: &HttpPartner) -> Result<PartnerClient, Vec<(String, String)>> {
        let rules = &http.wire;
        let pool = PoolRules {
            connect_timeout: rules.connect_timeout,
            http2: rules.http2,
            gzip: rules.gzip,
            max_response_bytes: rules.max_response_bytes,
            allow_addresses: rules.allow_addresses.clone(),
            identity: rules.client_certificate.clone(),
            extra_roots: rules.authorities.clone(),
            max_idle: rules.concurrency,
            ..PoolRules::default()
        };
        let endpoint = EndpointRules {
            concurrency: rules.concurrency,
            // As long again as an ask may take: the answers that twice the timeout would have caught.
            late_patience: seat.timeout.min(LATE_PATIENCE_MAX),
            ..EndpointRules::default()
        };
        let pool = self.wire.pool(&seat.identity.key, pool);
        let pool = pool.map_err(|fault| vec![("wire".to_owned(), fault)])?;
        let forbidden = http.hosts.iter().filter_map(|(key, host)| {
            let address = pool.forbids(host)?;
            let allows = format!("`wire.allow_addresses = [\"{address}\"]` allows it");
            Some((key.clone(), format!("is at {address}, a private, local or reserved address; {allows}")))
        });
        let forbidden: Vec<_> = forbidden.collect();
        if !forbidden.is_empty() {
            return Err(forbidden);
        }
        let product_type = seat.product_type.as_str();
        let test_endpoint = EndpointRules { breaker: None, ..endpoint };
        let test_endpoint = pool.endpoint(&format!("{product_type}_test"), test_endpoint);
        let endpoint = pool.endpoint(product_type, endpoint);
        let labels = [("partner", seat.identity.key.clone()), ("product_type", product_type.to_owned())];
        let shared = SharedClient {
            endpoint,
            test_endpoint,
            rules: rules.clone(),
            hosts: http.hosts.clone(),
            tokens: Default::default(),
            calls: histogram!(PARTNER_CALL_SECONDS, &labels),
            mappings: histogram!(PARTNER_MAPPING_SECONDS, &labels),
            late: LateAsks::default(),
        };
        Ok(PartnerClient {
            shared: Arc::new(shared),
            undeclared_reasons: Arc::new(UndeclaredReasons::of(seat)),
        })
    }
}

fn group_rules(settings: WireSettings) -> GroupRules {
    let WireSettings { max_open_percent, breakers_only_log, breaker_ceiling, answer_bytes, .. } = settings;
    GroupRules { max_open_percent, breakers_only_log, open_ceiling: breaker_ceiling, answer_bytes }
}

impl PartnerClient {
    /// Connects to one of the partner's hosts as an ask would, then disconnects without sending a request.
    pub async fn reach(&self, url: &str) -> Result<(), CallError> {
        self.shared.endpoint.reach(url).await
    }

    /// Asks a seat, with its `rendered` request or a new one. A failure quotes no message.
    pub async fn ask(
        &self,
        reader: &AnswerReader,
        (rendered, session): (Option<Rendered>, AskSession),
        (trace, facts): (Option<&TraceContext>, &mut CallFacts),
    ) -> AskResult {
        let result = self.try_ask(reader, (rendered, session), (trace, facts)).await;
        result.unwrap_or_else(|trouble| trouble.outcome().because(trouble.to_string()))
    }

    /// Makes a seat's calls and returns the last answer for inspection; `None` for a test lead of a partner
    /// without a sandbox. `seen` gets every answer with the progress of the calls.
    ///
    /// # Errors
    /// The cause, which quotes nothing of what was sent or answered.
    pub async fn fetch(
        &self,
        http: &HttpPartner,
        question: &LeadQuestion,
        deadline: Instant,
        seen: impl FnMut(&AskProgress, &CallReply),
    ) -> Result<Option<FinalReply>, String> {
        let conversation = Conversation { client: self, http, question, trace: None, deadline, reader: None };
        conversation.run(None, AskSession::default(), seen).await.map_err(|trouble| trouble.to_string())
    }

    /// Posts a lead whose offers were shown, resuming at `progress`; returns whether the partner accepts it.
    ///
    /// # Errors
    /// Why the result is unknown; quotes nothing of what was sent or answered.
    pub async fn post(
        &self,
        http: &HttpPartner,
        question: &LeadQuestion,
        (progress, session): (&AskProgress, &mut AskSession),
        deadline: Instant,
    ) -> Result<bool, String> {
        let conversation = Conversation { client: self, http, question, trace: None, deadline, reader: None };
        let reply = conversation.call(progress, None, session).await;
        let Some(reply) = reply.map_err(|trouble| trouble.to_string())? else {
            return Err("it has no sandbox for a test lead".to_owned());
        };
        let taken = http.accepts_lead(progress, received(&reply), question.given());
        self.shared.endpoint_of(question).report(taken.as_ref().map(|_| ()).map_err(String::clone));
        taken
    }

    /// Recent asks that timed out but whose answers were still awaited.
    pub fn late(&self) -> Vec<LateAsk> {
        self.shared.late.list()
    }

    /// The state of the endpoint of live leads, for display.
    pub fn state(&self) -> EndpointState {
        self.shared.endpoint.state()
    }

    async fn try_ask(
        &self,
        reader: &AnswerReader,
        (rendered, session): (Option<Rendered>, AskSession),
        (trace, facts): (Option<&TraceContext>, &mut CallFacts),
    ) -> Result<AskResult, AskError> {
        let AnswerReader { seat, question, .. } = reader;
        let Some(http) = &seat.http else { return Ok(Outcome::NoOffers(NoOfferReason::Declined).into()) };
        let mut mapping = rendered.as_ref().map_or(Duration::ZERO, |rendered| rendered.took);
        let deadline = reader.deadline;
        let conversation =
            Conversation { client: self, http, question, trace, deadline, reader: Some(reader) };
        let url = if question.asked.test { "sandbox_url" } else { "url" };
        facts.host = http.hosts.iter().find(|(key, _)| key.ends_with(url)).map(|(_, host)| host.clone());
        let begun = Instant::now();
        let conversed = conversation.run(rendered, session, |_, reply| facts.answered(reply)).await;
        facts.waited = begun.elapsed();
        let conversed = match conversed {
            Ok(Some(conversed)) => conversed,
            Ok(None) => return Ok(Outcome::NoOffers(NoOfferReason::NoSandbox).into()),
            Err(AskError::NotSent(reason, cause)) => return Ok(Outcome::NoOffers(reason).because(cause)),
            Err(trouble) => return Err(trouble),
        };
        let (bid, reached) = (conversed.progress.bid, conversed.progress.clone());
        let begun = std::time::Instant::now();
        let answered =
            reader.read_long_on_thread(conversed.reply.body.len(), |reader| reading(reader, conversed)).await;
        let answered = answered.ok_or(AskError::TimedOut)?;
        mapping += begun.elapsed();
        self.shared.mappings.record(mapping.as_secs_f64());
        facts.mapped = mapping;
        let unusable = |cause| AskError::Answer(cause).in_call(http, &reached);
        let answered = answered.map_err(|error| unusable(http.lines.locate(&error)));
        // Declining is healthy; an error or an unreadable answer is not.
        self.shared.endpoint_of(question).report(match &answered {
            Ok(AnswerReading { answered: Answered::Failed(cause), .. }) => Err(cause.clone()),
            Ok(_) => Ok(()),
            Err(trouble) => Err(trouble.to_string()),
        });
        let reading = answered?;
        let mut told = answer_diagnostics::report(seat, &reading);
        let AnswerReading { answered, undeclared, .. } = reading;
        if let Some(word) = undeclared {
            let is_nobodys = http.withheld().out_of(&word) == word && !is_of(&question.lead, &word);
            let word = if is_nobodys { word } else { UNNAMED.to_owned() };
            told = Some(unknown_reason(&word));
            self.undeclared_reasons.count(word);
        }
        let outcome = outcome_of(answered).map_err(unusable)?;
        let (is_sold, when_shown) = (!outcome.quotes().is_empty(), http.post.when_shown());
        let result = match (told, bid) {
            (None, None) => outcome.into(),
            (None, Some(bid)) if is_sold && when_shown => {
                let then = "it gets the lead once its offers are shown, unless paused by then";
                outcome.because(format!("{} was taken, and {then}", in_words(bid)))
            }
            (None, Some(bid)) => outcome.because(format!("{} was taken", in_words(bid))),
            (Some(cause), _) => outcome.because(cause),
        };
        Ok(AskResult { pays: bid.filter(|bid| is_sold && !when_shown && *bid > 0.0), ..result })
    }

    pub(super) async fn token(
        &self,
        http: &HttpPartner,
        question: &LeadQuestion,
        deadline: Instant,
    ) -> Result<Option<BearerToken>, AskError> {
        let test = question.asked.test;
        let request = http.token_request(test, Secrets::Real);
        let Some(request) = request.map_err(|error| AskError::Request(http.lines.locate(&error)))? else {
            return Ok(None);
        };
        let fetch = async {
            let reply = self.send(request, question, false, deadline, || None).await?;
            let token = BearerToken::read(reply.status, &reply.body);
            self.shared.endpoint_of(question).report(token.as_ref().map(|_| ()).map_err(String::clone));
            token.map_err(AskError::Answer)
        };
        let cache = &self.shared.tokens[usize::from(test)];
        tokio::time::timeout_at(deadline, cache.get(fetch)).await.unwrap_or(Err(AskError::TimedOut)).map(Some)
    }

    pub(super) async fn send(
        &self,
        request: HttpRequest,
        question: &LeadQuestion,
        once: bool,
        deadline: Instant,
        late: impl FnOnce() -> Option<OnLateReply>,
    ) -> Result<CallReply, AskError> {
        let HttpRequest { method, url, headers, body, .. } = request;
        // Repeating a safe request does no harm (RFC 9110, 9.2.2).
        let idempotent = !once && (self.shared.rules.idempotent == Some(true) || method.is_idempotent());
        let call = Call { method, url, headers, body, idempotent };
        let reply = self.shared.endpoint_of(question).call_heard(call, deadline, late).await;
        reply.map_err(|error| match error {
            CallError::BreakerOpen => {
                AskError::NotCalled(format!("the breaker is {}", self.state().description()))
            }
            CallError::Busy => AskError::NotCalled(format!(
                "as many calls are in flight as `wire.concurrency` allows ({}): the partner stalls, or raise it",
                self.shared.rules.concurrency
            )),
            error => AskError::Call(error),
        })
    }

    /// Lets the next calls through the seat's breaker at once. Returns whether it was not closed.
    pub fn probe(&self) -> bool {
        self.shared.endpoint.probe()
    }
}

impl SharedClient {
    pub(super) fn endpoint_of(&self, question: &LeadQuestion) -> &Endpoint {
        if question.asked.test { &self.test_endpoint } else { &self.endpoint }
    }
}

fn reading(reader: &AnswerReader, conversed: FinalReply) -> Result<AnswerReading, MappingError> {
    let Some(http) = &reader.seat.http else { return Ok(Answered::Declined(None).into()) };
    conversed.reading(http, &reader.question, &reader.offers())
}

/// A seat's request before it is sent. Holds personal data and secrets, so it is not `Debug`.
pub struct Rendered {
    /// `None` for a test lead of a partner without a sandbox.
    pub(super) request: Result<Option<HttpRequest>, AskError>,
    took: Duration,
}

impl Rendered {
    /// Renders the request of a question to a seat; `None` when it is not asked over HTTP.
    pub fn of(seat: &Seat, question: &LeadQuestion) -> Option<Self> {
        // The callback address is known only when the partner is asked.
        let http = seat.http.as_ref().filter(|http| !http.has_callback());
        http.map(|http| Self::by(http, &AskProgress::default(), question))
    }

    pub(super) fn by(http: &HttpPartner, progress: &AskProgress, question: &LeadQuestion) -> Self {
        let begun = std::time::Instant::now();
        let request = http.request(progress, question.given(), Secrets::Real);
        let request = request.map_err(|error| AskError::Request(http.lines.locate(&error)));
        Self { request, took: begun.elapsed() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::partner_files::far_lender;

    fn client_at(url: &str, earlier: &PartnerClients) -> (PartnerClients, Arc<SharedClient>) {
        let text = far_lender("amber", url, "").text();
        let book = Book::from_texts([(PathBuf::from("amber.toml"), text)]).expect("the file is good");
        let clients = earlier.opened(&book).expect("its host can be called");
        let shared = clients.of(&book.seats()[0]).expect("it is asked over HTTP").shared;
        (clients, shared)
    }

    #[test]
    fn a_partner_at_another_host_begins_without_the_failures_of_the_last() {
        let none = PartnerClients::new(WireSettings::default());
        let (clients, first) = client_at("https://wrong.example/v1", &none);
        let is_kept = |url| Arc::ptr_eq(&first, &client_at(url, &clients).1);
        assert!(is_kept("https://wrong.example/v1") && is_kept("https://wrong.example/v2"));
        assert!(!is_kept("https://right.example/v1"));
    }
}
