//! Requests as they come off the wire: the line, the headers, the body.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use offerd::model::{InDoubt, TokenKind};
use offerd::web::{
    AccessToken, AnswerMeter, Authenticate, Caller, Context, Cors, CorsVendorPolicy, Edition, Editions,
    Failure, Gate, GateRules, Handler, HttpService, Peer, Principal, QuerySigningKey, Rate, Reply, Route,
    Router, Scope, Surface, query, service,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use uuid::Uuid;

/// Bytes of a body that the application reads.
const BODY_BYTES: usize = 256;

/// The token in the corpus: no answer repeats it.
const TOKEN: &str = "11111111-1111-4111-8111-111111111111_11111111-1111-4111-8111-111111111111";

/// The statuses that are answered to bytes of a client; none of them is the service's own fault.
const STATUSES: [u16; 16] = [200, 201, 204, 304, 400, 401, 404, 405, 408, 413, 414, 415, 417, 422, 429, 431];

/// Whatever is sent on a connection, it is answered with statuses that blame nobody here, and ends. What is let in has its
/// token, and no token comes back.
pub fn holds(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let received = runtime.block_on(exchange(bytes));
    let text = String::from_utf8_lossy(&received);
    assert!(!text.contains(TOKEN), "a token comes back: {text}");
    for answer in text.split("HTTP/1.1 ").skip(1).filter(|answer| !answer.starts_with("100 ")) {
        let status = answer.get(..3).and_then(|status| status.parse().ok()).unwrap_or(0);
        assert!(STATUSES.contains(&status), "{answer}");
        let is_ours = answer.contains("request-id: ");
        assert!(
            is_ours || (matches!(status, 400 | 414 | 431) && answer.contains("content-length: 0")),
            "{answer}"
        );
    }
}

/// Sends the bytes and reads what comes back until the connection ends.
async fn exchange(bytes: &[u8]) -> Vec<u8> {
    let (mut client, server) = tokio::io::duplex(64 * 1024);
    let served = served();
    let peer = Peer(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)));
    let with_peer = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        served.call(request)
    });
    let serving = tokio::spawn(async move {
        // A connection that breaks off is the client's to explain.
        let _ = http1::Builder::new().serve_connection(TokioIo::new(server), with_peer).await;
    });
    let mut received = Vec::new();
    // A server that has heard enough does not read the rest.
    let _ = client.write_all(bytes).await;
    let _ = client.shutdown().await;
    let _ = client.read_to_end(&mut received).await;
    serving.await.expect("serving does not panic");
    received
}

/// The application: a route for each way of reading a request.
struct App;

impl Authenticate for App {
    fn principal(&self, token: &AccessToken) -> Result<Option<Principal>, InDoubt> {
        assert_eq!(token.as_str(), token.as_str().to_ascii_lowercase(), "a token is looked up in lower case");
        let known = Caller {
            company: Uuid::nil(),
            company_name: "Acme".into(),
            kind: if token.as_str().ends_with('1') {
                TokenKind::Confidential
            } else {
                TokenKind::Publishable
            },
            test: true,
            lenient: false,
            duplicate_look_back_minutes: None,
        };
        Ok(token.as_str().starts_with("11111111-").then_some(Principal::Company(known)))
    }

    fn signing_key(&self, _: Uuid) -> Result<Option<QuerySigningKey>, InDoubt> {
        Ok(Some(QuerySigningKey { partner: "bank".into(), secret: "secret".to_owned() }))
    }
}

/// What all connections share.
struct Shared {
    app: Arc<App>,
    gate: Arc<Gate>,
    policy: watch::Sender<Arc<CorsVendorPolicy>>,
}

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let rate = Rate { burst: NonZeroU32::MAX, refill: Duration::from_secs(1) };
    let rules = GateRules {
        per_company: Some(rate),
        per_address: Some(rate),
        trusted_proxies: vec!["127.0.0.0/8".parse().expect("a network")],
        ..GateRules::default()
    };
    let cors = Cors::new(&["https://shop.example".to_owned()]);
    let policy = CorsVendorPolicy { cors, vendors: vec!["offerd".to_owned()] };
    Shared {
        app: Arc::new(App),
        gate: Arc::new(Gate::new(rules, || None)),
        policy: watch::channel(Arc::new(policy)).0,
    }
});

fn served() -> HttpService {
    service(Surface {
        meter: AnswerMeter::of("fuzz"),
        app: Arc::clone(&SHARED.app),
        router: Router::new(ROUTES),
        wrong_listener_hint: Arc::default(),
        gate: Arc::clone(&SHARED.gate),
        failure_page: |_, _, _, _| None,
        policy: SHARED.policy.subscribe(),
    })
}

const fn row(method: Method, path: &'static str, scope: Scope, handler: Handler<App>) -> Route<Handler<App>> {
    Route { method, path, scope, editions: Editions::All, about: "", handler }
}

const ROUTES: &[Route<Handler<App>>] = &[
    row(Method::POST, "/leads/rateTables", Scope::Publishable, |context| Box::pin(submit(context))),
    row(Method::GET, "/leads/{uuid}", Scope::Confidential, |context| Box::pin(lead(context))),
    row(Method::GET, "/query", Scope::None, |context| Box::pin(parameters(context))),
    row(Method::GET, "/signed", Scope::Signed, |context| Box::pin(signed(context))),
    row(Method::GET, "/seen/{lead}/{offer}/pixel.gif", Scope::None, |context| Box::pin(pixel(context))),
];

async fn submit(mut context: Context<App>) -> Result<Reply, Failure> {
    context.caller()?;
    let body = context.request.read_body(BODY_BYTES, Duration::from_secs(1)).await?;
    assert!(body.len() <= BODY_BYTES, "no more of a body is read than its cap");
    let status = match context.edition {
        Edition::Current => hyper::StatusCode::OK,
        Edition::V1 => hyper::StatusCode::CREATED,
    };
    Ok(Reply::json(&body.len())?.status(status))
}

async fn lead(context: Context<App>) -> Result<Reply, Failure> {
    assert_eq!(context.caller()?.kind, TokenKind::Confidential);
    let uuid = context.params.uuid("uuid")?;
    Ok(Reply::json(&uuid)?.etag("v1"))
}

async fn parameters(context: Context<App>) -> Result<Reply, Failure> {
    let found = query::read(&context.request, |query| {
        let limit = query.required("limit", query::integer::<i64>(1..=100));
        let name = query.optional("name", query::text);
        Some((limit?, name.map(str::len)))
    })?;
    Reply::json(&found)
}

async fn signed(context: Context<App>) -> Result<Reply, Failure> {
    assert_eq!(context.partner()?, "bank");
    Reply::json(&"signed")
}

async fn pixel(_: Context<App>) -> Result<Reply, Failure> {
    Ok(Reply::bytes("image/gif", "GIF89a"))
}
