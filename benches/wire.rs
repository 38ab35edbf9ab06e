//! The CPU time of a call, compared with a bare client's: `cargo bench --bench wire`.
//!
//! A lead of 10 partners makes ten concurrent calls, each over its own pool, to one server in another thread.
//! The clients run on this thread in turn, and only this thread's CPU time counts, without the server's share
//! and the waiting. The bare client is hyper-util's with `TCP_NODELAY`; it reads whole bodies. Beside it are
//! bare connections of hyper without a pool: with a task of their own, and polled by their call.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1 as connection;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use offerd::wire::{Call, Endpoint, EndpointRules, GroupRules, PoolRules, Wire};
use rustix::time::{ClockId, clock_gettime};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

const PARTNERS: usize = 10;
/// Leads of one round; the clients alternate by round.
const LEADS: u32 = 400;
/// Rounds, of which the median counts.
const ROUNDS: usize = 21;
/// The bar for a call's CPU time, as a multiple of the bare client's.
const BAR: f64 = 1.5;

const REQUEST: &[u8] = include_bytes!("../tests/leads/personal_loan.json");
const ANSWER: &[u8] = &[b'x'; 1024];

fn main() {
    let server = serve();
    let url = format!("http://{server}/offers");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let wire = Wire::new(GroupRules {
            max_open_percent: 50,
            breakers_only_log: false,
            open_ceiling: Duration::MAX,
            answer_bytes: usize::MAX,
        });
        let endpoints: Vec<Endpoint> = (0..PARTNERS).map(|number| endpoint(&wire, number)).collect();
        let bare: Vec<Bare> = (0..PARTNERS).map(|_| bare_client()).collect();
        let mut spawned = join_all((0..PARTNERS).map(|_| BareConnection::open(server, true))).await;
        let mut polled = join_all((0..PARTNERS).map(|_| BareConnection::open(server, false))).await;
        let through_endpoints =
            async || drop(join_all(endpoints.iter().map(|endpoint| through_endpoint(endpoint, &url))).await);
        let through_bare =
            async || drop(join_all(bare.iter().map(|client| through_bare(client, &url))).await);
        let mut through_spawned = async || drop(join_all(spawned.iter_mut().map(BareConnection::call)).await);
        let mut through_polled = async || drop(join_all(polled.iter_mut().map(BareConnection::call)).await);
        // Opens the connections in advance.
        for _ in 0..50 {
            through_endpoints().await;
            through_bare().await;
        }
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push([
                cpu_of(&through_bare).await,
                cpu_of(&through_endpoints).await,
                cpu_of(&mut through_spawned).await,
                cpu_of(&mut through_polled).await,
            ]);
        }
        println!("CPU time of the client for a lead of {PARTNERS} partners, median of {ROUNDS} rounds");
        let names =
            ["hyper-util", "endpoints", "conn::http1, a task each", "conn::http1, polled by the call"];
        let mut ratios = Vec::new();
        for (nth, name) in names.into_iter().enumerate() {
            rounds.sort_by_key(|round| round[nth]);
            let time = rounds[ROUNDS / 2][nth];
            let ratio = |round: &[Duration; 4]| round[nth].as_secs_f64() / round[0].as_secs_f64();
            rounds.sort_by(|one, two| ratio(one).total_cmp(&ratio(two)));
            let [least, middle, most] = [0, ROUNDS / 2, ROUNDS - 1].map(|round| ratio(&rounds[round]));
            println!("{name:<32} {:>7.1} µs  {middle:>5.2} ({least:.2} to {most:.2})", micros(time));
            ratios.push(middle);
        }
        println!("the bar of endpoints is {BAR}");
        assert!(ratios[1] <= BAR, "a call costs more than {BAR} times that of a bare client");
    });
}

/// CPU time of this thread for one lead.
async fn cpu_of(mut lead: impl AsyncFnMut()) -> Duration {
    let before = cpu();
    for _ in 0..LEADS {
        lead().await;
    }
    (cpu() - before) / LEADS
}

/// User and system time of this thread so far.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).expect("less than a second"))
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn endpoint(wire: &Wire, number: usize) -> Endpoint {
    let rules = PoolRules { allow_addresses: vec!["127.0.0.1".to_owned()], ..PoolRules::default() };
    let pool = wire.pool(&format!("partner {number}"), rules).expect("a pool");
    pool.endpoint("loan", EndpointRules::default())
}

async fn through_endpoint(endpoint: &Endpoint, url: &str) {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let body = Bytes::from_static(REQUEST);
    let call = Call { method: Method::POST, url: url.to_owned(), headers, body, idempotent: false };
    let reply = endpoint.call(call, Instant::now() + Duration::from_secs(30)).await.expect("a reply");
    assert_eq!(reply.body.len(), ANSWER.len());
    endpoint.report(Ok(()));
}

type Bare = Client<HttpConnector, Full<Bytes>>;

fn bare_client() -> Bare {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

async fn through_bare(client: &Bare, url: &str) {
    let request = Request::post(url)
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .body(Full::new(Bytes::from_static(REQUEST)))
        .expect("a request");
    let response = client.request(request).await.expect("a response");
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    assert_eq!(body.len(), ANSWER.len());
}

/// One connection of hyper, without a pool.
struct BareConnection {
    sender: connection::SendRequest<Full<Bytes>>,
    /// Polled by the calls, where it has no task of its own.
    connection: Option<BoxFuture<'static, ()>>,
}

impl BareConnection {
    /// Connects. The connection has a task of its own, or its calls poll it.
    async fn open(server: SocketAddr, is_spawned: bool) -> Self {
        let stream = TcpStream::connect(server).await.expect("a connection");
        stream.set_nodelay(true).expect("a TCP socket");
        let (sender, connection) = connection::handshake(TokioIo::new(stream)).await.expect("a handshake");
        let connection = connection.map(|ended| ended.expect("it works")).boxed();
        let connection = match is_spawned {
            true => {
                tokio::spawn(connection);
                None
            }
            false => Some(connection),
        };
        Self { sender, connection }
    }

    async fn call(&mut self) {
        let Self { sender, connection } = self;
        let mut call = pin!(async {
            sender.ready().await.expect("a connection");
            let request = Request::post("/offers")
                .header(HOST, HeaderValue::from_static("127.0.0.1"))
                .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .body(Full::new(Bytes::from_static(REQUEST)))
                .expect("a request");
            let response = sender.send_request(request).await.expect("a response");
            let body = response.into_body().collect().await.expect("a body").to_bytes();
            assert_eq!(body.len(), ANSWER.len());
        });
        let Some(connection) = connection else { return call.await };
        poll_fn(|cx| {
            if call.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let _ = connection.poll_unpin(cx);
            call.as_mut().poll(cx)
        })
        .await;
    }
}

/// Serves on a thread of its own until the process ends.
fn serve() -> SocketAddr {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            tell.send(listener.local_addr().expect("an address")).expect("the bench waits for it");
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                stream.set_nodelay(true).expect("a TCP socket");
                let service = service_fn(async |request: Request<Incoming>| {
                    request.into_body().collect().await.expect("a whole request");
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(ANSWER))))
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
    });
    told.recv().expect("the server starts")
}
