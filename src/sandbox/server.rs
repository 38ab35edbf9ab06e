//! Serves the cases over HTTP/1.1.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;

use super::behaviour::{Behaviour, Behaviours};
use super::callback;
use super::cases::{CaseAnswer, SandboxCases, SimulatedAnswer, SimulatedCallback};
use super::chance::Fate;

const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Time between the bytes of a slow drip.
const DRIP_EVERY: Duration = Duration::from_secs(1);

const ACCEPT_REST: Duration = Duration::from_millis(100);

type SandboxBody = BoxBody<Bytes, Infallible>;

struct Simulator {
    cases: SandboxCases,
    behaviours: Behaviours,
    told: fn(&str),
}

/// Answers on a listener for ever. The callback gets a line for each request, without any of its body.
pub async fn serve(listener: TcpListener, cases: SandboxCases, behaviours: Behaviours, told: fn(&str)) {
    let simulator = Arc::new(Simulator { cases, behaviours, told });
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_REST).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let simulator = Arc::clone(&simulator);
        tokio::spawn(async move {
            let service = service_fn(|request| simulator.answer(request));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Simulator {
    /// Answers a request; an error ends the connection.
    async fn answer(&self, request: Request<Incoming>) -> io::Result<Response<SandboxBody>> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let target = request.uri().path_and_query().map_or_else(|| path.clone(), ToString::to_string);
        let tell = |case: &str, deed: &str| (self.told)(&format!("{method} {path} {case} {deed}"));
        let mut segments = path.trim_matches('/').split('/');
        let key = segments.next().unwrap_or_default();
        if method == Method::GET && key.is_empty() {
            tell("-", "listed");
            return Ok(json_response(StatusCode::OK, &json!(self.cases.names())));
        }
        let Ok(body) = Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await else {
            tell("-", "unreadable");
            return Ok(json_response(StatusCode::BAD_REQUEST, &json!({"error": "the body cannot be read"})));
        };
        if self.cases.knows(key) && segments.next_back() == Some("token") {
            tell("-", "token");
            let token = json!({"access_token": "sandbox", "token_type": "Bearer", "expires_in": 3600});
            return Ok(json_response(StatusCode::OK, &token));
        }
        let (behaviour, fault) = self.behaviours.now(key);
        fault.iter().for_each(|fault| tell("-", fault));
        let (fate, after) = behaviour.chance.draw();
        let body = body.to_bytes();
        let Some(asked) = self.cases.asked(key, method.as_str(), &target, &body) else {
            tell("-", "unknown");
            let error =
                json!({"error": "no such partner or case at the start of the simulator; `/` lists them"});
            return Ok(json_response(StatusCode::NOT_FOUND, &error));
        };
        let CaseAnswer { case, named, answer, callbacks } = asked;
        let fate = if named { Fate::Answered } else { fate };
        tell(case, &format!("{} after {} ms", fate.word(), after.as_millis()));
        tokio::time::sleep(after).await;
        if fate == Fate::Answered {
            self.call_back(callbacks, &behaviour, &String::from_utf8_lossy(&body));
        }
        respond(answer, fate)
    }

    /// Makes the callbacks of the case, if the request gives an address.
    fn call_back(&self, callbacks: &[SimulatedCallback], behaviour: &Behaviour, body: &str) {
        let told = self.told;
        let Some(url) = callback::address(body) else { return };
        for callback in callbacks {
            let url = url.clone();
            let (callback, secrets) = (callback.clone(), Arc::clone(&behaviour.secrets));
            tokio::spawn(async move {
                let how = callback::call(&callback, &secrets, &url).await;
                told(&format!("POST {url} callback {how}"));
            });
        }
    }
}

fn respond(answer: &SimulatedAnswer, fate: Fate) -> io::Result<Response<SandboxBody>> {
    let (head, body) = answer.clone().into_parts();
    let body = match fate {
        Fate::Answered => Full::new(body).boxed(),
        Fate::Error => {
            return Ok(json_response(
                StatusCode::INTERNAL_SERVER_ERROR,
                &json!({"error": "drawn by chance"}),
            ));
        }
        Fate::Garbage => Full::from("\u{1}<{[ this is nothing").boxed(),
        Fate::Drip => dripping(body),
        Fate::Reset => return Err(io::ErrorKind::ConnectionReset.into()),
    };
    Ok(Response::from_parts(head, body))
}

fn dripping(body: Bytes) -> SandboxBody {
    let bytes = stream::iter(0..body.len()).then(move |at| {
        let byte = body.slice(at..=at);
        async move {
            tokio::time::sleep(DRIP_EVERY).await;
            Ok(Frame::data(byte))
        }
    });
    BodyExt::boxed(StreamBody::new(bytes))
}

fn json_response(status: StatusCode, value: &serde_json::Value) -> Response<SandboxBody> {
    let mut response = Response::new(Full::from(value.to_string()).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
