//! The connections to one remote system, and single attempts at a request.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING, USER_AGENT};
use hyper::http::uri::Scheme;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use metrics::{Counter, counter};
use thread_local::ThreadLocal;
use tokio::time::{Instant, timeout_at};
use tower_service::Service;

use super::address::AddressRules;
use super::body;
use super::call::{Call, CallReply, CallResult, Phases};
use super::connector::{Connector, GuardedResolver, forbidden};
use super::endpoint::{Endpoint, EndpointRules};
use super::endpoint_group::EndpointGroup;
use super::error::{CallError, FailedAttempt, HEAD_BYTES, HEAD_LINES, Phase, cause};
use super::room::AnswerRoom;
use super::{Wire, tls};
use offerd_base::telemetry::metrics::{WIRE_CONNECTIONS, WIRE_REQUESTS};

const AGENT: HeaderValue = HeaderValue::from_static(concat!("offerd/", env!("CARGO_PKG_VERSION")));

/// How often an HTTP/2 connection is asked whether it still lives, while it is in use.
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// How to connect to one remote system.
#[derive(Clone)]
pub struct PoolRules {
    /// Maximum time to connect: name resolution, TCP and TLS.
    pub connect_timeout: Duration,
    /// How long an idle connection is kept.
    pub idle_timeout: Duration,
    /// Maximum number of idle connections.
    pub max_idle: usize,
    /// Whether to use HTTP/2: by ALPN over TLS, by prior knowledge in clear text.
    pub http2: bool,
    /// Whether to request gzip; compressed answers are decoded in any case.
    pub gzip: bool,
    /// Maximum size of a body in bytes, both compressed and decompressed.
    pub max_response_bytes: usize,
    /// Host names, addresses and networks that are allowed even if not public.
    pub allow_addresses: Vec<String>,
    /// Client identity for mutual TLS in PEM, with its private key: so this type is not `Debug`.
    pub identity: Option<Vec<u8>>,
    /// CA certificates in PEM that are trusted in addition to the public ones.
    pub extra_roots: Option<Vec<u8>>,
}

impl Default for PoolRules {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(2),
            idle_timeout: Duration::from_secs(60),
            max_idle: 32,
            http2: false,
            gzip: false,
            max_response_bytes: 1024 * 1024,
            allow_addresses: Vec::new(),
            identity: None,
            extra_roots: None,
        }
    }
}

/// The connections to one remote system. Cheap to clone; all its endpoints share them.
#[derive(Clone)]
pub struct Pool(Arc<PoolInner>);

type HttpClient = Client<Connector, Full<Bytes>>;

struct Clients {
    secure: HttpClient,
    /// Differs from `secure` if HTTP/2 requires prior knowledge.
    plain: HttpClient,
}

struct PoolInner {
    name: String,
    group: Arc<EndpointGroup>,
    addresses: Arc<AddressRules>,
    connector: Connector,
    /// Per thread: a connection is used on the thread that made it, so that no call wakes another thread.
    clients: ThreadLocal<Clients>,
    rules: PoolRules,
    room: Arc<AnswerRoom>,
    requests: Counter,
}

impl Pool {
    pub(super) fn new(name: &str, rules: PoolRules, wire: &Wire) -> Result<Self, String> {
        let tls = tls::config(&wire.public_roots, rules.identity.as_deref(), rules.extra_roots.as_deref())?;
        let addresses = Arc::new(AddressRules::new(&rules.allow_addresses)?);
        let made = counter!(WIRE_CONNECTIONS, "pool" => name.to_owned());
        let requests = counter!(WIRE_REQUESTS, "pool" => name.to_owned());
        let resolver = GuardedResolver { lookups: Arc::clone(&wire.lookups), rules: Arc::clone(&addresses) };
        let connector = Connector::new(tls, rules.http2, resolver, rules.connect_timeout, made);
        let (name, group, clients) = (name.to_owned(), Arc::clone(&wire.group), ThreadLocal::new());
        let room = AnswerRoom::new(Arc::clone(&group));
        Ok(Self(Arc::new(PoolInner { name, group, addresses, connector, clients, rules, room, requests })))
    }

    /// The address in a URL without a host name, if the rules forbid it.
    pub fn forbids(&self, url: &str) -> Option<IpAddr> {
        forbidden(&self.0.addresses, &url.parse().ok()?)
    }

    /// Connects as a call would, within the connect timeout, and closes the connection without a request.
    pub async fn reach(&self, url: &str) -> Result<(), CallError> {
        let uri = url.parse().map_err(|_| CallError::BadUrl)?;
        // The connector is always ready.
        let connected = self.0.connector.clone().call(uri).await;
        connected.map(drop).map_err(|error| cause(&*error).unwrap_or(CallError::Connect))
    }

    /// Creates an endpoint: a kind of traffic with its own limits. `name` labels its metrics.
    pub fn endpoint(&self, name: &str, rules: EndpointRules) -> Endpoint {
        Endpoint::new(self.clone(), name, rules)
    }

    pub(super) fn group(&self) -> &EndpointGroup {
        &self.0.group
    }

    /// Name of the pool.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn prepare(&self, call: Call) -> Result<PreparedCall, CallError> {
        let uri = Uri::try_from(call.url).map_err(|_| CallError::BadUrl)?;
        let authority = uri.authority().ok_or(CallError::BadUrl)?;
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(CallError::BadUrl),
        };
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(CallError::BadUrl);
        }
        let mut headers = call.headers;
        headers.remove(CONTENT_LENGTH);
        headers.remove(TRANSFER_ENCODING);
        headers.entry(USER_AGENT).or_insert(AGENT);
        if self.0.rules.gzip {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let mut request = Request::new(Full::new(call.body));
        *request.method_mut() = call.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(PreparedCall { request, secure, idempotent: call.idempotent })
    }

    fn clients(&self) -> Clients {
        let (rules, connector) = (&self.0.rules, &self.0.connector);
        let secure = client(rules, connector.clone(), false);
        let plain = if rules.http2 { client(rules, connector.clone(), true) } else { secure.clone() };
        Clients { secure, plain }
    }

    /// Makes one attempt, until the deadline. `too_late` receives the future of a late answer.
    pub(super) async fn attempt(
        &self,
        prepared: &PreparedCall,
        deadline: Instant,
        too_late: impl FnOnce(BoxFuture<'static, CallResult>),
    ) -> Result<CallReply, FailedAttempt> {
        let (most, room) = (self.0.rules.max_response_bytes, &self.0.room);
        let mut request = prepared.request.clone();
        let mut connection = capture_connection(&mut request);
        let begun = Instant::now();
        let mut connected_at = None;
        let clients = self.0.clients.get_or(|| self.clients());
        let client = if prepared.secure { &clients.secure } else { &clients.plain };
        let mut answer = client.request(request);
        let head = timeout_at(deadline, async {
            tokio::select! {
                biased;
                head = &mut answer => return head,
                _ = connection.wait_for_connection_metadata() => connected_at = Some(Instant::now()),
            }
            (&mut answer).await
        })
        .await;
        let connected = connection.connection_metadata().is_some();
        if connected {
            self.0.requests.increment(1);
        }
        let response = head
            .map_err(|_| {
                if connected {
                    too_late(late_reply(answer, most, Arc::clone(room)).boxed());
                }
                let error = match connected {
                    true => CallError::TimedOut { during: Phase::Head },
                    false => self.0.connector.timed_out(prepared.request.uri(), begun.elapsed()),
                };
                FailedAttempt { error, never_sent: !connected }
            })?
            .map_err(|error| FailedAttempt::of_request(&error))?;
        let (connected_at, answered_at) = (connected_at.unwrap_or(begun), Instant::now());
        let reply = timeout_at(deadline, read(response, most, room)).await;
        let reply = reply.map_err(|_| FailedAttempt::sent(CallError::TimedOut { during: Phase::Body }))??;
        let (wait, read) = (answered_at - connected_at, answered_at.elapsed());
        Ok(CallReply { took: Phases { connect: connected_at - begun, wait, read }, ..reply })
    }
}

async fn late_reply(answer: ResponseFuture, most: usize, room: Arc<AnswerRoom>) -> CallResult {
    let response = answer.await.map_err(|error| FailedAttempt::of_request(&error).error)?;
    read(response, most, &room).await.map_err(|failed| failed.error)
}

/// Reads the body of an answer, of at most `most` bytes.
async fn read(
    response: Response<Incoming>,
    most: usize,
    room: &Arc<AnswerRoom>,
) -> Result<CallReply, FailedAttempt> {
    let (mut head, body) = response.into_parts();
    let body = body::whole(body, &mut head.headers, (most, room)).await?;
    Ok(CallReply { status: head.status, headers: head.headers, body, sent: 1, took: Phases::default() })
}

fn client(rules: &PoolRules, connector: Connector, http2_only: bool) -> HttpClient {
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(rules.idle_timeout)
        .pool_max_idle_per_host(rules.max_idle)
        .http1_max_buf_size(HEAD_BYTES as usize)
        .http1_max_headers(HEAD_LINES)
        // Tolerance required of clients (RFC 9112, 5.1 and 5.2); invalid header lines are skipped.
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true)
        .http2_only(http2_only)
        .http2_max_header_list_size(HEAD_BYTES)
        .http2_keep_alive_interval(PING_EVERY)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        // Retries go through the retry budget.
        .retry_canceled_requests(false)
        .build(connector)
}

pub(super) struct PreparedCall {
    request: Request<Full<Bytes>>,
    secure: bool,
    pub(super) idempotent: bool,
}
