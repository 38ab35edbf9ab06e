//! Timeouts that HTTP/2 leaves to us: silent clients, neglected answers, and clients that do not disconnect.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::kit::{Server, limits, start_with};
use crate::{Drained, Limits};

/// The flow-control window of a client, in bytes.
const WINDOW: u32 = 16;

/// A connection that speaks HTTP/2, and its driver.
struct Speaker {
    requests: SendRequest<Empty<Bytes>>,
    connection: JoinHandle<hyper::Result<()>>,
}

impl Speaker {
    async fn to(server: &Server) -> Self {
        let stream = TokioIo::new(TcpStream::connect(server.address).await.unwrap());
        let mut builder = Builder::new(TokioExecutor::new());
        let (requests, connection) =
            builder.initial_stream_window_size(WINDOW).handshake(stream).await.unwrap();
        Self { requests, connection: tokio::spawn(connection) }
    }

    fn ask(&self, path: &str) -> impl Future<Output = hyper::Result<Response<Incoming>>> + Send + use<> {
        let request = Request::get(format!("http://localhost{path}")).body(Empty::new());
        self.requests.clone().send_request(request.unwrap())
    }
}

async fn next_piece(answer: &mut Response<Incoming>) -> Bytes {
    answer.frame().await.unwrap().unwrap().into_data().unwrap()
}

#[tokio::test]
async fn an_answer_that_has_nothing_to_say_for_long_lives_and_a_connection_without_one_ends() {
    let short = Duration::from_millis(200);
    let impatient = Limits { header_timeout: short, idle_timeout: short, ..limits() };
    let server = start_with(impatient, limits().drain, &["*"]);
    let speaker = Speaker::to(&server).await;
    let mut answer = speaker.ask("/quiet").await.unwrap();
    assert_eq!(next_piece(&mut answer).await, "one ");
    for _ in 0..5 {
        // A silent client is disconnected each time the idle timeout passes.
        server.connect().await.until_closed().await;
    }
    server.app.gate.add_permits(1);
    assert_eq!(next_piece(&mut answer).await, "two");
    drop(answer);
    speaker.connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_answer_that_is_not_taken_ends_its_connection_once_the_others_have_theirs() {
    let impatient = Limits { write_timeout: Duration::from_millis(200), ..limits() };
    let server = start_with(impatient, limits().drain, &["*"]);
    let speaker = Speaker::to(&server).await;
    let gated = tokio::spawn(speaker.ask("/gated"));
    server.app.entered.acquire().await.unwrap().forget();
    let neglected = speaker.ask("/endless").await.unwrap();

    // A later connection with only a neglected answer is cut.
    let other = Speaker::to(&server).await;
    let also_neglected = other.ask("/endless").await.unwrap();
    let _ = other.connection.await.unwrap();
    assert!(also_neglected.into_body().collect().await.is_err());

    server.app.gate.add_permits(1);
    let through = gated.await.unwrap().unwrap().into_body().collect().await.unwrap().to_bytes();
    assert_eq!(through, r#""through""#);
    let _ = speaker.connection.await.unwrap();
    assert!(neglected.into_body().collect().await.is_err());
}

/// Heads and bodies that never end, over HTTP/1.1 too.
#[tokio::test]
async fn who_has_no_request_under_way_does_not_hold_a_drain() {
    let server = start_with(Limits { drain: Duration::from_secs(4), ..limits() }, limits().drain, &["*"]);
    let mut deaf = server.connect().await;
    // The preface and empty settings; pings are not answered.
    deaf.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0").await;
    let mut half_a_head = server.connect().await;
    half_a_head.send("GET /hello HTTP/1.1\r\nHost: te").await;
    let mut half_a_body = server.connect().await;
    half_a_body.send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\n{").await;
    let busy = Speaker::to(&server).await;
    let gated = tokio::spawn(busy.ask("/gated"));
    server.app.entered.acquire().await.unwrap().forget();

    let app = Arc::clone(&server.app);
    let serving = server.stop();
    deaf.until_closed_by_any_means().await;
    assert_eq!(half_a_head.until_closed().await, "");
    let answer = half_a_body.answer(false).await;
    assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
    drop(half_a_body);
    app.gate.add_permits(1);
    assert_eq!(gated.await.unwrap().unwrap().status(), 200);
    assert_eq!(serving.await.unwrap().unwrap(), Drained { cut: 0 });
}
