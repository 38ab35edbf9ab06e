//! A small application on a real listener, and a raw HTTP client.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use hyper::{Method, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::{
    AccessToken, AnswerMeter, Authenticate, Caller, Context, Cors, CorsVendorPolicy, Drained, Edition,
    Editions, Failure, Gate, Handler, Limits, Listener, Principal, Reply, Route, Router, Scope, Surface,
    handler, service,
};
use offerd_model::{InDoubt, TokenKind};

pub(super) const PUBLISHABLE: &str =
    "Bearer 11111111-1111-4111-8111-111111111111_11111111-1111-4111-8111-111111111111";
pub(super) const CONFIDENTIAL: &str =
    "Bearer 22222222-2222-4222-8222-222222222222_22222222-2222-4222-8222-222222222222";
pub(super) const UNISSUED: &str =
    "Bearer 33333333-3333-4333-8333-333333333333_33333333-3333-4333-8333-333333333333";
/// A publishable token of another company.
pub(super) const OF_ANOTHER: &str =
    "Bearer 55555555-5555-4555-8555-555555555555_55555555-5555-4555-8555-555555555555";
pub(super) const PARTNER: &str =
    "Bearer 44444444-4444-4444-8444-444444444444_44444444-4444-4444-8444-444444444444";

/// The cap of every body in these tests.
pub(super) const BODY_CAP_BYTES: usize = 64;

/// Fails a test that would otherwise hang; a passing test never waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// State that test handlers share with the test.
pub(super) struct App {
    pub(super) entered: Semaphore,
    pub(super) gate: Semaphore,
    pub(super) finished: Semaphore,
    body_timeout: Duration,
}

impl Authenticate for App {
    fn principal(&self, token: &AccessToken) -> Result<Option<Principal>, InDoubt> {
        let another = token.as_str().starts_with('5');
        let kind = match token.as_str().as_bytes()[0] {
            b'1' | b'5' => TokenKind::Publishable,
            b'2' => TokenKind::Confidential,
            b'4' => return Ok(Some(Principal::Partner("bank".into()))),
            b'6' => return Err(InDoubt),
            _ => return Ok(None),
        };
        let company = if another { Uuid::max() } else { Uuid::nil() };
        let caller = Caller {
            company,
            company_name: "Acme".into(),
            kind,
            test: true,
            lenient: false,
            duplicate_look_back_minutes: None,
        };
        Ok(Some(Principal::Company(caller)))
    }
}

const fn open(method: Method, path: &'static str, handler: Handler<App>) -> Route<Handler<App>> {
    Route { method, path, scope: Scope::None, editions: Editions::CurrentOnly, about: "", handler }
}

const ROUTES: &[Route<Handler<App>>] = &[
    open(Method::GET, "/hello", handler!(hello)),
    open(Method::GET, "/query", handler!(query)),
    open(Method::POST, "/echo", handler!(echo)),
    Route {
        method: Method::POST,
        path: "/told",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "",
        handler: handler!(echo),
    },
    open(Method::GET, "/panic", handler!(panics)),
    open(Method::GET, "/gated", handler!(gated)),
    open(Method::POST, "/gated", handler!(gated)),
    open(Method::GET, "/stream", handler!(stream)),
    open(Method::GET, "/endless", handler!(endless)),
    open(Method::GET, "/quiet", handler!(quiet)),
    Route {
        method: Method::GET,
        path: "/held",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "",
        handler: handler!(gated),
    },
    Route {
        method: Method::GET,
        path: "/leads/{uuid}",
        scope: Scope::Confidential,
        editions: Editions::All,
        about: "",
        handler: handler!(lead),
    },
    Route {
        method: Method::POST,
        path: "/leads/rateTables",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "",
        handler: handler!(submit),
    },
];

async fn hello(_: Context<App>) -> Result<Reply, Failure> {
    Ok(Reply::json(&["hello"])?.etag("v1"))
}

async fn query(context: Context<App>) -> Result<Reply, Failure> {
    assert!(context.request.peer.is_some(), "the listener notes the peer");
    Reply::json(&context.request.query_value("name"))
}

async fn echo(mut context: Context<App>) -> Result<Reply, Failure> {
    let body = context.request.read_body(BODY_CAP_BYTES, context.app.body_timeout).await?;
    Ok(Reply::json_bytes(body).status(StatusCode::CREATED))
}

async fn panics(_: Context<App>) -> Result<Reply, Failure> {
    panic!("secret");
}

async fn gated(context: Context<App>) -> Result<Reply, Failure> {
    context.app.entered.add_permits(1);
    context.app.gate.acquire().await.unwrap().forget();
    context.app.finished.add_permits(1);
    Reply::json(&"through")
}

async fn stream(_: Context<App>) -> Result<Reply, Failure> {
    let chunks = futures_util::stream::iter(["one ", "two"].map(|chunk| Ok(chunk.into())));
    Ok(Reply::stream("text/plain", chunks))
}

async fn endless(context: Context<App>) -> Result<Reply, Failure> {
    context.app.entered.add_permits(1);
    let chunks = futures_util::stream::repeat_with(|| Ok(vec![b' '; 1 << 16].into()));
    Ok(Reply::stream("text/plain", chunks))
}

/// Streams one event, and another when the test allows it.
async fn quiet(context: Context<App>) -> Result<Reply, Failure> {
    let app = Arc::clone(&context.app);
    let one = stream::once(async { Ok("one ".into()) });
    let two = stream::once(async move {
        app.gate.acquire().await.unwrap().forget();
        Ok("two".into())
    });
    Ok(Reply::stream("text/plain", one.chain(two)))
}

async fn lead(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    if uuid.is_nil() { Err(Failure::unknown_uuid("Lead", uuid)) } else { Reply::json(&uuid) }
}

async fn submit(context: Context<App>) -> Result<Reply, Failure> {
    let company = &*context.caller()?.company_name;
    match context.edition {
        Edition::Current => Reply::json(company),
        Edition::V1 => Ok(Reply::json(company)?.status(StatusCode::CREATED)),
    }
}

pub(super) struct Server {
    pub(super) app: Arc<App>,
    pub(super) address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<Drained>>,
}

pub(super) fn limits() -> Limits {
    Limits {
        connections: 16,
        header_timeout: PATIENCE,
        idle_timeout: PATIENCE,
        write_timeout: PATIENCE,
        head_bytes: 4096,
        drain: PATIENCE,
    }
}

pub(super) fn start() -> Server {
    start_with(limits(), PATIENCE, &["*"])
}

pub(super) fn start_with(limits: Limits, body_timeout: Duration, origins: &[&str]) -> Server {
    serve(bind(limits), Gate::open(), body_timeout, origins)
}

pub(super) fn start_behind(gate: Gate) -> Server {
    serve(bind(limits()), gate, PATIENCE, &["*"])
}

pub(super) fn bind(limits: Limits) -> Listener {
    Listener::bind("test", "127.0.0.1:0".parse().unwrap(), limits).unwrap()
}

pub(super) fn serve(listener: Listener, gate: Gate, body_timeout: Duration, origins: &[&str]) -> Server {
    let nothing = || Semaphore::new(0);
    let app = Arc::new(App { entered: nothing(), gate: nothing(), finished: nothing(), body_timeout });
    let origins: Vec<String> = origins.iter().map(|&origin| origin.to_owned()).collect();
    let vendors = vec!["offerd".to_owned()];
    let surface = Surface {
        meter: AnswerMeter::of("test"),
        app: Arc::clone(&app),
        router: Router::new(ROUTES),
        wrong_listener_hint: Arc::default(),
        gate: Arc::new(gate),
        failure_page: |_, _, _, _| None,
        policy: watch::channel(Arc::new(CorsVendorPolicy { cors: Cors::new(&origins), vendors })).1,
    };
    let (stop, stopped) = oneshot::channel();
    let address = listener.local_addr;
    let shutdown = async { stopped.await.unwrap_or(()) };
    let serving = tokio::spawn(listener.serve(service(surface), shutdown));
    Server { app, address, stop, serving }
}

impl Server {
    pub(super) async fn connect(&self) -> Client {
        Client::to(self.address).await
    }

    pub(super) async fn ask(&self, request_line: &str, headers: &[(&str, &str)]) -> Answer {
        self.connect().await.ask(request_line, headers, "").await
    }

    /// Starts the drain; returns a handle to its result.
    pub(super) fn stop(self) -> JoinHandle<std::io::Result<Drained>> {
        self.stop.send(()).unwrap();
        self.serving
    }
}

pub(super) struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

impl Client {
    pub(super) async fn to(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), received: Vec::new() }
    }

    pub(super) async fn send(&mut self, bytes: &str) {
        self.stream.write_all(bytes.as_bytes()).await.unwrap();
    }

    /// Sends a request, with `Content-Length` when there is a body, and reads its answer.
    pub(super) async fn ask(&mut self, request_line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut head = format!("{request_line} HTTP/1.1\r\nHost: test\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.send(&format!("{head}\r\n{body}")).await;
        let bodiless = request_line.starts_with("HEAD");
        self.answer(bodiless).await
    }

    pub(super) async fn answer(&mut self, bodiless: bool) -> Answer {
        let head_end = loop {
            match self.received.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(position) => break position + 4,
                None => assert!(self.receive().await > 0, "closed before an answer"),
            }
        };
        let head: Vec<u8> = self.received.drain(..head_end).collect();
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status: u16 = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        };
        let headers: BTreeMap<_, _> = lines.map(header).collect();
        let length = headers.get("content-length").map_or(0, |length| length.parse::<usize>().unwrap());
        let length = if bodiless || status == 304 { 0 } else { length };
        while self.received.len() < length {
            assert!(self.receive().await > 0, "closed before the end of a body");
        }
        let body = String::from_utf8(self.received.drain(..length).collect()).unwrap();
        Answer { status, headers, body }
    }

    /// Reads until the server closes, and returns everything it sent.
    pub(super) async fn until_closed(mut self) -> String {
        while self.receive().await > 0 {}
        String::from_utf8(self.received).unwrap()
    }

    /// Reads until the server closes or resets the connection.
    pub(super) async fn until_closed_by_any_means(mut self) {
        while self.receive().await > 0 {}
    }

    async fn receive(&mut self) -> usize {
        let reading = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.received));
        reading.await.expect("the server keeps silent").unwrap_or(0)
    }
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The single error of a failed request: its type and message.
    pub(super) fn fault(&self) -> (String, String) {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let errors: Vec<offerd_model::ApiError> = serde_json::from_str(&self.body).unwrap();
        let [error] = &errors[..] else { panic!("not one fault: {}", self.body) };
        let error_type = serde_json::to_value(error.error_type).unwrap();
        let error_type = error_type.as_str().unwrap_or_default().to_owned();
        (error_type, error.message.clone().unwrap_or_default())
    }
}
