//! The clients to partners that are asked over HTTP: how a seat's request gets there and what its answer means.
//!
//! A client is the seat's endpoint on the wire, with its breaker, and the token of its authorization server. Each book has clients
//! of its own; those where what reaches the partner has not changed are handed on, so that a breaker stays open and
//! connections stay warm.

use std::collections::HashMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use metrics::{Histogram, histogram};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::Instant;
use tracing::warn;

use super::question::Question;
use super::token_cache::TokenCache;
use crate::config::WireSettings;
use crate::model::ProductType;
use crate::partners::catalog::CatalogOffer;
use crate::partners::http::auth::BearerToken;
use crate::partners::http::source::WireRules;
use crate::partners::http::{
    Answered, Exchange, HttpRequest, HttpSource, MappingError, Next, Reading, Received, Secrets,
};
use crate::partners::{Book, Quote, Seat};
use crate::rate_table::outcome::{AskEnd, Failure, NoOfferReason, Outcome};
use crate::telemetry::metrics::{PARTNER_CALL_SECONDS, PARTNER_MAPPING_SECONDS};
use crate::telemetry::traces::{TRACEPARENT, TraceContext};
pub use crate::wire::{BreakerState, EndpointState};
use crate::wire::{
    Call, CallError, ClientIdentity, Endpoint, EndpointRules, PanelRules, PoolRules, Reply, Wire,
};

/// Longest time that a late answer is watched for.
const LATE_PATIENCE_MAX: Duration = Duration::from_secs(60);

/// An answer of more bytes is read aside: its mappings may take some milliseconds.
const LONG_ANSWER: usize = 32 * 1024;

/// Who a client leads to.
type SeatKey = (String, ProductType);

/// The clients of one book.
pub struct PartnerClients {
    wire: Wire,
    clients: HashMap<SeatKey, PartnerClient>,
}

/// The client to one seat. Cheap to clone.
#[derive(Clone)]
pub struct PartnerClient {
    wired: Arc<Wired>,
    /// Whether it was told that an answer had no list of offers, since the files were read.
    told_absent: Arc<AtomicBool>,
}

/// What stays of a client as long as what reaches the partner does.
struct Wired {
    endpoint: Endpoint,
    rules: WireRules,
    /// By whether leads are tests: the sandbox gives tokens of its own.
    tokens: [TokenCache; 2],
    calls: Histogram,
    mappings: Histogram,
}

impl PartnerClients {
    /// No clients yet.
    pub fn new(settings: WireSettings) -> Self {
        let wire = Wire::new(panel_rules(settings)).expect(SETTINGS_ARE_CHECKED);
        Self { wire, clients: HashMap::new() }
    }

    /// Other limits for the breakers of all books' clients, from now on.
    pub fn set_rules(&self, settings: WireSettings) {
        self.wire.set_rules(panel_rules(settings)).expect(SETTINGS_ARE_CHECKED);
    }

    /// The clients of a book; those that it has in common with these are the same.
    ///
    /// # Errors
    /// Every client that cannot be opened, with its partner.
    pub fn opened(&self, book: &Book) -> Result<Self, Vec<String>> {
        let mut clients = HashMap::new();
        let mut faults = Vec::new();
        for seat in book.seats() {
            let Some(source) = &seat.http else { continue };
            let place = (seat.identity.key.clone(), seat.product_type);
            let same = self.of(seat).filter(|client| client.wired.rules == source.wire);
            match same.map_or_else(|| self.client(seat, source), Ok) {
                // New mappings may be wrong in new ways.
                Ok(client) => {
                    drop(clients.insert(place, PartnerClient { told_absent: Arc::default(), ..client }))
                }
                Err(fault) => faults.push(format!("{}, {}: {fault}", seat.identity.key, seat.product_type)),
            }
        }
        if faults.is_empty() { Ok(Self { wire: self.wire.clone(), clients }) } else { Err(faults) }
    }

    /// The client to a seat.
    pub fn of(&self, seat: &Seat) -> Option<PartnerClient> {
        self.clients.get(&(seat.identity.key.clone(), seat.product_type)).cloned()
    }

    fn client(&self, seat: &Seat, source: &HttpSource) -> Result<PartnerClient, String> {
        let rules = &source.wire;
        let identity = rules.client_certificate.as_ref();
        let pool = PoolRules {
            connect_timeout: rules.connect_timeout,
            http2: rules.http2,
            gzip: rules.gzip,
            max_response_bytes: rules.max_response_bytes,
            allow_addresses: rules.allow_addresses.clone(),
            // One file holds both.
            identity: identity.map(|pem| ClientIdentity { chain: pem.clone(), key: pem.clone() }),
            extra_roots: rules.authorities.clone(),
            max_idle: rules.concurrency,
            ..PoolRules::default()
        };
        let endpoint = EndpointRules {
            concurrency: rules.concurrency,
            // As long again as an ask may take: what twice the timeout would have won is seen.
            late_patience: seat.timeout.min(LATE_PATIENCE_MAX),
            ..EndpointRules::default()
        };
        let pool = self.wire.pool(&seat.identity.key, pool)?;
        for (key, host) in &source.hosts {
            if let Some(address) = pool.forbids(host) {
                return Err(format!(
                    "`{key}` is at {address}, a private, local or reserved address; `wire.allow_addresses = [\"{address}\"]` allows it"
                ));
            }
        }
        let endpoint = pool.endpoint(seat.product_type.as_str(), endpoint);
        let labels =
            [("partner", seat.identity.key.clone()), ("product_type", seat.product_type.as_str().to_owned())];
        let wired = Wired {
            endpoint,
            rules: rules.clone(),
            tokens: Default::default(),
            calls: histogram!(PARTNER_CALL_SECONDS, &labels),
            mappings: histogram!(PARTNER_MAPPING_SECONDS, &labels),
        };
        Ok(PartnerClient { wired: Arc::new(wired), told_absent: Arc::default() })
    }
}

const SETTINGS_ARE_CHECKED: &str = "settings hold no more than a hundred percent";

fn panel_rules(settings: WireSettings) -> PanelRules {
    let WireSettings { max_ejected_percent, simulate_only } = settings;
    PanelRules { max_ejected_percent, simulate_only }
}

impl PartnerClient {
    /// Makes a connection to one of the partner's hosts as an ask would, and drops it: nothing is asked.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn reach(&self, url: &str) -> Result<(), CallError> {
        self.wired.endpoint.reach(url).await
    }

    /// Asks a seat, of whose offers those at `offers` fit the lead, with its `rendered` request or one that is
    /// made now. Whatever goes wrong is logged in one line, without a word of what was sent or answered.
    ///
    /// The partner is told the span of the ask, so that it can go on with the `trace`.
    pub async fn ask(
        &self,
        seat: &Arc<Seat>,
        offers: &[usize],
        question: &Arc<Question>,
        rendered: Option<Rendered>,
        trace: Option<&TraceContext>,
        deadline: Instant,
    ) -> AskEnd {
        let (outcome, cause) = match self.exchange(seat, offers, question, rendered, trace, deadline).await {
            Ok(end) => return end,
            Err(trouble) => trouble.outcome(),
        };
        warn!(
            partner = seat.identity.key,
            product_type = seat.product_type.as_str(),
            rate_table = %question.asked.rate_table,
            outcome = outcome.word(),
            cause,
            "a partner gave no answer that could be used"
        );
        outcome.because(cause)
    }

    /// Makes the calls of a seat and hands back the last answer, for whoever wants to look at it; `None` for a test lead of
    /// a partner that has no sandbox. `seen` is shown every answer, with how far the calls were.
    ///
    /// # Errors
    /// The cause, without a word of what was sent or answered.
    pub async fn fetch(
        &self,
        source: &HttpSource,
        question: &Question,
        deadline: Instant,
        seen: impl FnMut(&Exchange, &Reply),
    ) -> Result<Option<Conversed>, String> {
        let first = Rendered::by(source, &Exchange::default(), question);
        let conversed = self.converse(source, question, first, None, deadline, seen).await;
        conversed.map_err(|trouble| trouble.outcome().1)
    }

    /// How long the last asks took in all that ran out of time and were watched; nothing of one that was never answered.
    pub fn late(&self) -> Vec<Option<Duration>> {
        self.wired.endpoint.late()
    }

    /// How the endpoint stands, for display.
    pub fn state(&self) -> EndpointState {
        self.wired.endpoint.state()
    }

    async fn exchange(
        &self,
        seat: &Arc<Seat>,
        offers: &[usize],
        question: &Arc<Question>,
        rendered: Option<Rendered>,
        trace: Option<&TraceContext>,
        deadline: Instant,
    ) -> Result<AskEnd, Trouble> {
        let Some(source) = &seat.http else { return Ok(Outcome::NoOffers(NoOfferReason::Declined).into()) };
        let first = rendered.unwrap_or_else(|| Rendered::by(source, &Exchange::default(), question));
        let mut mapping = first.took;
        let Some(conversed) = self.converse(source, question, first, trace, deadline, |_, _| ()).await?
        else {
            return Ok(Outcome::NoOffers(NoOfferReason::NoSandbox).into());
        };
        let begun = std::time::Instant::now();
        let answered = read(seat, offers, question, conversed).await?;
        mapping += begun.elapsed();
        self.wired.mappings.record(mapping.as_secs_f64());
        let answered = answered.map_err(|error| Trouble::Answer(source.places.locate(&error)));
        // A partner that declines is well; one that answers with garbage or an error is not.
        self.wired
            .endpoint
            .judged(matches!(&answered, Ok(reading) if !matches!(reading.answered, Answered::Failed(_))));
        let reading = answered?;
        self.tell_absent(seat, &reading);
        let Reading { answered, dropped, .. } = reading;
        for offer in &dropped {
            warn!(
                partner = seat.identity.key,
                product_type = seat.product_type.as_str(),
                position = offer.position,
                reason = offer.reason,
                "an offer of a partner is not shown"
            );
        }
        let outcome = match answered {
            Answered::Offers(quotes) => offered(quotes),
            Answered::Declined(Some(reason)) => Outcome::NoOffers(NoOfferReason::Rejected(reason)),
            Answered::Declined(None) => Outcome::NoOffers(NoOfferReason::Declined),
            Answered::Failed(cause) => return Err(Trouble::Answer(cause)),
        };
        Ok(match dropped.first() {
            None => outcome.into(),
            Some(first) => {
                outcome.because(format!("{} of its offers not shown: {}", dropped.len(), first.reason))
            }
        })
    }

    /// Makes the calls of an ask, one after the other, until one has the last answer or the partner ends them.
    async fn converse(
        &self,
        source: &HttpSource,
        question: &Question,
        first: Rendered,
        trace: Option<&TraceContext>,
        deadline: Instant,
        mut seen: impl FnMut(&Exchange, &Reply),
    ) -> Result<Option<Conversed>, Trouble> {
        let mut exchange = Exchange::default();
        let mut rendered = first;
        loop {
            let Some(mut request) = rendered.request? else { return Ok(None) };
            if let Some(token) = self.token(source, question, deadline).await? {
                request.headers.insert(hyper::header::AUTHORIZATION, token.authorization);
            }
            if let Some(trace) = trace {
                request.headers.insert(TRACEPARENT, trace.header());
            }
            let called = std::time::Instant::now();
            let reply = self.send(request, deadline).await.map_err(Trouble::Call)?;
            self.wired.calls.record(called.elapsed().as_secs_f64());
            seen(&exchange, &reply);
            let next = source.take(&mut exchange, received(&reply), question.given());
            match next.map_err(|error| Trouble::Answer(source.places.locate(&error)))? {
                Next::Read => return Ok(Some(Conversed { exchange, reply, ended: None })),
                Next::Ended(reading) => return Ok(Some(Conversed { exchange, reply, ended: Some(reading) })),
                Next::Call => {}
                Next::Again(wait) => self.wait(wait, deadline).await?,
            }
            self.wired.endpoint.judged(true);
            rendered = Rendered::by(source, &exchange, question);
        }
    }

    /// Waits before a call is made again, unless there would be no time for it.
    async fn wait(&self, wait: Duration, deadline: Instant) -> Result<(), Trouble> {
        let again = Instant::now() + wait;
        if again >= deadline {
            self.wired.endpoint.judged(true);
            return Err(Trouble::Pending);
        }
        tokio::time::sleep_until(again).await;
        Ok(())
    }

    /// Tells once that the list of offers was not where it was looked for: an answer that looks like "no offers" for ever.
    fn tell_absent(&self, seat: &Seat, reading: &Reading) {
        let Some(absent) = reading.absent.iter().find(|absent| absent.offer.is_none()) else { return };
        if !self.told_absent.swap(true, Ordering::Relaxed) {
            warn!(
                partner = seat.identity.key,
                product_type = seat.product_type.as_str(),
                cause = %absent,
                "an answer of a partner has no list of offers; told once until the partner files are read again"
            );
        }
    }

    /// The token of the partner's authorization server, where it wants one.
    async fn token(
        &self,
        source: &HttpSource,
        question: &Question,
        deadline: Instant,
    ) -> Result<Option<BearerToken>, Trouble> {
        let test = question.asked.test;
        let request = source.token_request(test, Secrets::Real);
        let Some(request) = request.map_err(|error| Trouble::Request(source.places.locate(&error)))? else {
            return Ok(None);
        };
        let fetch = async {
            let reply = self.send(request, deadline).await.map_err(Trouble::Call)?;
            let token = BearerToken::read(reply.status, &reply.body);
            self.wired.endpoint.judged(token.is_ok());
            token.map_err(Trouble::Answer)
        };
        let cache = &self.wired.tokens[usize::from(test)];
        let fetched = tokio::time::timeout_at(deadline, cache.get(fetch)).await;
        fetched.unwrap_or(Err(Trouble::TimedOut)).map(Some)
    }

    async fn send(&self, request: HttpRequest, deadline: Instant) -> Result<Reply, CallError> {
        let HttpRequest { method, url, headers, body } = request;
        // To look again does no harm (RFC 9110, 9.2.2).
        let idempotent = self.wired.rules.idempotent || method.is_idempotent();
        let call = Call { method, url, headers, body, idempotent };
        self.wired.endpoint.call(call, deadline).await
    }
}

/// The last answer of a partner, and what its calls have come to.
pub struct Conversed {
    /// How far they were, and what they have kept.
    pub exchange: Exchange,
    /// The last answer.
    pub reply: Reply,
    /// What it means, where it ended the calls before the last one.
    ended: Option<Reading>,
}

impl Conversed {
    /// What the partner said. `offers` are those of the catalog that fit the lead.
    ///
    /// # Errors
    /// The first mapping that could not be run.
    pub fn reading(
        self,
        source: &HttpSource,
        question: &Question,
        offers: &[&CatalogOffer],
    ) -> Result<Reading, MappingError> {
        let Self { exchange, reply, ended } = self;
        let read = || source.answer(&exchange, received(&reply), question.given(), &question.facts(), offers);
        ended.map_or_else(read, Ok)
    }
}

fn received(reply: &Reply) -> Received<'_> {
    Received { status: reply.status, headers: &reply.headers, body: &reply.body }
}

/// What an answer says. A long one is read aside, since that takes longer than other leads of the thread may wait.
async fn read(
    seat: &Arc<Seat>,
    offers: &[usize],
    question: &Arc<Question>,
    conversed: Conversed,
) -> Result<Result<Reading, MappingError>, Trouble> {
    if conversed.reply.body.len() <= LONG_ANSWER {
        return Ok(reading(seat, offers, question, conversed));
    }
    let (seat, offers, question) = (Arc::clone(seat), offers.to_vec(), Arc::clone(question));
    let aside = spawn_blocking(move || reading(&seat, &offers, &question, conversed));
    match aside.await.map_err(JoinError::try_into_panic) {
        Ok(reading) => Ok(reading),
        Err(Ok(panic)) => resume_unwind(panic),
        // The process ends.
        Err(Err(_)) => Err(Trouble::TimedOut),
    }
}

fn reading(
    seat: &Seat,
    offers: &[usize],
    question: &Question,
    conversed: Conversed,
) -> Result<Reading, MappingError> {
    let Some(source) = &seat.http else { return Ok(Answered::Declined(None).into()) };
    let fitting: Vec<&CatalogOffer> = offers.iter().map(|position| &seat.offers[*position]).collect();
    conversed.reading(source, question, &fitting)
}

fn offered(quotes: Vec<Quote>) -> Outcome {
    if quotes.is_empty() { Outcome::NoOffers(NoOfferReason::Declined) } else { Outcome::Offers(quotes) }
}

/// A seat's request, not sent yet.
pub struct Rendered {
    /// `None` for a test lead of a partner that has no sandbox.
    request: Result<Option<HttpRequest>, Trouble>,
    took: Duration,
}

impl Rendered {
    /// The request that puts a question to a seat; `None` when it is not asked over HTTP.
    pub fn of(seat: &Seat, question: &Question) -> Option<Self> {
        seat.http.as_ref().map(|source| Self::by(source, &Exchange::default(), question))
    }

    fn by(source: &HttpSource, exchange: &Exchange, question: &Question) -> Self {
        let begun = std::time::Instant::now();
        let request = source.request(exchange, question.given(), Secrets::Real);
        let request = request.map_err(|error| Trouble::Request(source.places.locate(&error)));
        Self { request, took: begun.elapsed() }
    }
}

/// Tells nothing of what it holds, a person's data and secrets.
impl fmt::Debug for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendered").field("took", &self.took).finish_non_exhaustive()
    }
}

/// Why there is no answer that could be used. No part of what was sent or answered stands in it.
enum Trouble {
    Request(String),
    Call(CallError),
    Answer(String),
    TimedOut,
    Pending,
}

impl Trouble {
    /// How the ask ends, and the cause in words.
    fn outcome(self) -> (Outcome, String) {
        match self {
            Self::Request(cause) => (Outcome::Failed(Failure::Request), cause),
            Self::Answer(cause) => (Outcome::Failed(Failure::Answer), cause),
            Self::TimedOut => (Outcome::TimedOut, "time ran out while a token was fetched".to_owned()),
            Self::Pending => (
                Outcome::TimedOut,
                "the partner was still at work, and there is no time to ask again".to_owned(),
            ),
            Self::Call(error) => {
                let outcome = match error {
                    CallError::TimedOut { .. } | CallError::NoTime => Outcome::TimedOut,
                    CallError::Busy | CallError::BreakerOpen => Outcome::Failed(Failure::KeptOut),
                    CallError::TooLarge | CallError::Malformed => Outcome::Failed(Failure::Answer),
                    _ => Outcome::Failed(Failure::Unreachable),
                };
                (outcome, error.to_string())
            }
        }
    }
}

impl fmt::Debug for PartnerClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clients.keys()).finish()
    }
}

impl fmt::Debug for PartnerClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.wired.endpoint.fmt(f)
    }
}
