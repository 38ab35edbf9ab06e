//! Bodies that are announced too long: refused by their head alone, and who goes on sending is heard out to be heard.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, Pending};
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http2::SendRequest;
use hyper::header::CONTENT_LENGTH;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::wire::{PATIENCE, Received};
use super::{BODY_MAX, assert_unharmed, daemon, plan};
use crate::conformance::schema::{Edition, assert_conforms};
use crate::kit::Daemon;

/// More than the daemon takes, on whichever listener, and than a system takes in for who does not read.
const TOO_LONG: usize = 5 * BODY_MAX;

/// A body that never comes, or one that does.
type Body = Either<StreamBody<Pending<Result<Frame<Bytes>, Infallible>>>, Full<Bytes>>;

/// The head of a request that announces too much, to each listener, in each edition, and with each kind of body: where it goes,
/// and what it says.
fn heads(daemon: &Daemon) -> Vec<(&str, String)> {
    let head = |path: &str, token: &str, lines: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {TOO_LONG}\r\n{lines}"
        )
    };
    let (token, admin_key) = (&daemon.publishable, &daemon.admin_key);
    let old = "Accept: application/vnd.offerd.v1+json\r\n";
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    vec![
        (&daemon.api, head("/leads/rateTables", token, "")),
        (&daemon.api, head("/leads/rateTables", token, old)),
        (&daemon.integrations, head("/blocking/leads/rateTables", token, "")),
        (&daemon.integrations, head("/blocking/leads/rateTables", token, old)),
        (&daemon.admin, head("/tokens", admin_key, "")),
        (&daemon.admin, head("/console/signIn", "", form)),
    ]
}

/// Sends bytes, and reads until the daemon closes, which it does in peace.
async fn exchange(url: &str, bytes: &[u8]) -> Received {
    let talking = async {
        let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap();
        stream.write_all(bytes).await.expect("the daemon listens");
        let mut received = String::new();
        stream.read_to_string(&mut received).await.expect("the connection is not reset");
        Received(received)
    };
    tokio::time::timeout(PATIENCE, talking).await.expect("the daemon answers and closes")
}

/// Holds the only answer of a connection against what is said of a body that is too long.
#[track_caller]
fn assert_too_large(answer: &Received, why: &str) {
    assert_eq!((answer.status(), answer.answers()), (Some(413), 1), "{why}: {}", answer.0);
    assert!(answer.0.contains("connection: close\r\n"), "{why}: {}", answer.0);
    // The console answers people.
    match why.contains("/console") {
        true => assert!(answer.body().starts_with("<!doctype html>"), "{why}: {}", answer.0),
        false => assert_of_us(answer.body().as_bytes()),
    }
}

/// A refusal in the words of the interface.
#[track_caller]
fn assert_of_us(body: &[u8]) {
    let errors = serde_json::from_slice(body).unwrap();
    assert_conforms(Edition::Current, "ApiErrors", &errors);
    assert_eq!(errors[0]["type"], "tooLarge");
}

#[tokio::test]
async fn what_is_announced_too_long_is_refused_before_any_of_it_comes() {
    let daemon = daemon().await;
    for (url, head) in heads(&daemon) {
        for end in ["\r\n", "Expect: 100-continue\r\n\r\n"] {
            let head = format!("{head}{end}");
            assert_too_large(&exchange(url, head.as_bytes()).await, &head);
        }
    }
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn who_sends_it_all_the_same_reads_the_answer() {
    let daemon = daemon().await;
    let body = " ".repeat(TOO_LONG);
    for (url, head) in heads(&daemon) {
        for end in ["\r\n", "Expect: 100-continue\r\n\r\n"] {
            let sent = format!("{head}{end}{body}");
            assert_too_large(&exchange(url, sent.as_bytes()).await, &head);
        }
    }
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn chunks_are_refused_as_soon_as_they_are_too_many() {
    let daemon = daemon().await;
    let head = format!(
        "POST /leads/rateTables HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nTransfer-Encoding: chunked\r\n",
        daemon.publishable
    );
    let chunk = format!("{TOO_LONG:x}\r\n{}\r\n", " ".repeat(TOO_LONG));
    for end in ["", "0\r\n\r\n"] {
        let sent = format!("{head}\r\n{chunk}{end}");
        assert_too_large(&exchange(&daemon.api, sent.as_bytes()).await, &format!("{end:?}"));
    }
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn over_http_2_the_other_requests_of_the_connection_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = (directory.path().join("certificate.pem"), directory.path().join("key.pem"));
    let roots = write_pair(&certificate, &key);
    let daemon = plan()
        .setting("integrations.tls.certificate", certificate.to_str().unwrap())
        .setting("integrations.tls.key", key.to_str().unwrap())
        .start()
        .await;
    let requests = connect(&daemon, roots).await;
    let never: Body = Either::Left(StreamBody::new(stream::pending()));
    let all: Body = Either::Right(Full::new(" ".repeat(TOO_LONG).into()));
    for body in [never, all] {
        let (status, body) = ask(&daemon, requests.clone(), Some(TOO_LONG), body).await;
        assert_eq!(status, 413, "{}", String::from_utf8_lossy(&body));
        assert_of_us(&body);
    }
    for announced in [Some(2), None] {
        let lead = Either::Right(Full::new(Bytes::from_static(b"{}")));
        let (status, body) = ask(&daemon, requests.clone(), announced, lead).await;
        assert_eq!(status, 200, "{announced:?}: {}", String::from_utf8_lossy(&body));
    }
    assert_unharmed(&daemon).await;
}

/// Writes a certificate for `localhost` and its key; gives whom to trust then.
fn write_pair(certificate: &Path, key: &Path) -> RootCertStore {
    let pair = KeyPair::generate().unwrap();
    let signed = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&pair).unwrap();
    std::fs::write(certificate, signed.pem()).unwrap();
    std::fs::write(key, pair.serialize_pem()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(signed.der().clone()).unwrap();
    roots
}

/// A connection to the integrations listener that speaks HTTP/2.
async fn connect(daemon: &Daemon, roots: RootCertStore) -> SendRequest<Body> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let address = daemon.integrations.strip_prefix("https://").unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await;
    let handshake =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream.unwrap()));
    let (requests, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    requests
}

/// Submits a body that is announced so long, or not at all; the status and the body of the answer.
async fn ask(
    daemon: &Daemon,
    mut requests: SendRequest<Body>,
    announced: Option<usize>,
    body: Body,
) -> (u16, Bytes) {
    let request = Request::post("https://localhost/blocking/leads/rateTables")
        .header("authorization", format!("Bearer {}", daemon.publishable));
    let request = match announced {
        Some(length) => request.header(CONTENT_LENGTH, length),
        None => request,
    };
    let answering = async {
        let answer = requests.send_request(request.body(body).unwrap()).await.expect("it is answered");
        let (head, body) = Response::into_parts(answer);
        (head.status.as_u16(), body.collect().await.expect("the answer is whole").to_bytes())
    };
    tokio::time::timeout(PATIENCE, answering).await.expect("the daemon answers")
}
