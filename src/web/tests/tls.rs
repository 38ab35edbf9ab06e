//! TLS, with our own certificates.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Empty;
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::kit::{Client, Server, bind, limits, serve};
use crate::{Gate, Limits, TlsIdentity};

/// A certificate and its key, in files.
struct Pair {
    _directory: tempfile::TempDir,
    certificate: PathBuf,
    key: PathBuf,
}

impl Pair {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("certificate.pem"), directory.path().join("key.pem"));
        let pair = Self { _directory: directory, certificate, key };
        pair.renew();
        pair
    }

    /// Writes a new pair into the files; returns its certificate.
    fn renew(&self) -> CertificateDer<'static> {
        self.write(CertificateParams::new(vec!["localhost".to_owned()]).unwrap())
    }

    fn write(&self, params: CertificateParams) -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(&self.certificate, certificate.pem()).unwrap();
        std::fs::write(&self.key, key.serialize_pem()).unwrap();
        certificate.der().clone()
    }

    fn read(&self) -> Result<TlsIdentity, String> {
        TlsIdentity::read(&self.certificate, &self.key)
    }

    fn fault(&self) -> String {
        self.read().unwrap_err()
    }
}

fn start(identity: &TlsIdentity, limits: Limits) -> Server {
    let listener = bind(limits).with_identity(Some(identity.clone()));
    assert!(listener.url().starts_with("https://127.0.0.1:"));
    serve(listener, Gate::open(), limits.drain, &["*"])
}

async fn connect(
    address: SocketAddr,
    trusted: &CertificateDer<'static>,
    protocols: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let stream = TcpStream::connect(address).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await
}

#[tokio::test]
async fn who_asks_for_no_protocol_gets_http_1() {
    let pair = Pair::new();
    let certificate = pair.renew();
    let server = start(&pair.read().unwrap(), limits());
    for protocols in [&[][..], &[&b"http/1.1"[..]][..]] {
        let mut stream = connect(server.address, &certificate, protocols).await.unwrap();
        stream.write_all(b"GET /hello HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        // Some TLS connections end without `close_notify`.
        let _ = stream.read_to_string(&mut answer).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(r#"["hello"]"#), "{answer}");
    }
}

#[tokio::test]
async fn http_2_is_negotiated_and_answers_many_at_once() {
    let pair = Pair::new();
    let certificate = pair.renew();
    let server = start(&pair.read().unwrap(), limits());
    let stream = connect(server.address, &certificate, &[b"h2", b"http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (requests, connection) = handshake.await.unwrap();
    let connection = tokio::spawn(connection);
    let ask = |path: &str| {
        let request = Request::get(format!("https://localhost{path}")).body(Empty::<bytes::Bytes>::new());
        requests.clone().send_request(request.unwrap())
    };
    let gated = tokio::spawn(ask("/gated"));
    server.app.entered.acquire().await.unwrap().forget();
    assert_eq!(ask("/query").await.unwrap().status(), 200, "beside one that waits; the peer is known");

    // A drain completes requests under way.
    let app = Arc::clone(&server.app);
    let serving = server.stop();
    app.gate.add_permits(1);
    assert_eq!(gated.await.unwrap().unwrap().status(), 200);
    drop(requests);
    connection.await.unwrap().unwrap();
    assert_eq!(serving.await.unwrap().unwrap().cut, 0);
}

#[tokio::test]
async fn a_new_pair_is_shown_to_new_connections_and_a_bad_one_to_nobody() {
    let pair = Pair::new();
    let first = pair.renew();
    let identity = pair.read().unwrap();
    let server = start(&identity, limits());
    let mut open = connect(server.address, &first, &[]).await.unwrap();

    let second = pair.renew();
    connect(server.address, &first, &[]).await.expect("nobody has read the files yet");
    identity.read_again().unwrap().show();
    connect(server.address, &second, &[]).await.unwrap();
    connect(server.address, &first, &[]).await.expect_err("the old one is no longer shown");

    std::fs::write(&pair.certificate, "nonsense").unwrap();
    assert!(identity.read_again().is_err());
    connect(server.address, &second, &[]).await.expect("the last good pair stays");

    open.write_all(b"GET /hello HTTP/1.1\r\nHost: test\r\n\r\n").await.unwrap();
    let mut status = [0; 12];
    open.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200", "connections that are open go on");
}

#[tokio::test]
async fn who_is_silent_or_does_not_speak_tls_is_closed() {
    let pair = Pair::new();
    let certificate = pair.renew();
    let short = Duration::from_millis(50);
    let impatient = Limits { header_timeout: short, idle_timeout: short, ..limits() };
    let server = start(&pair.read().unwrap(), impatient);
    Client::to(server.address).await.until_closed_by_any_means().await;
    let mut clear = Client::to(server.address).await;
    clear.send("GET /hello HTTP/1.1\r\nHost: test\r\n\r\n").await;
    clear.until_closed_by_any_means().await;

    // HTTP/2: silence, and half of the preface.
    for said in [&b""[..], &b"PRI * HTTP/2.0\r\n"[..]] {
        let mut stream = connect(server.address, &certificate, &[b"h2"]).await.unwrap();
        stream.write_all(said).await.unwrap();
        let mut received = Vec::new();
        // The connection must be closed; how does not matter.
        let _ = stream.read_to_end(&mut received).await;
    }
}

#[test]
fn a_pair_with_a_fault_is_told_by_its_file() {
    let (pair, other) = (Pair::new(), Pair::new());
    let (certificate, key) = (pair.certificate.display().to_string(), pair.key.display().to_string());
    let secret = std::fs::read_to_string(&pair.key).unwrap();
    let printed = format!("{:?}", pair.read().unwrap());
    assert!(!printed.contains(secret.lines().nth(1).unwrap()), "a key is not printed");

    let mixed = TlsIdentity::read(&pair.certificate, &other.key).unwrap_err();
    assert_eq!(mixed, format!("{}: is not the key of the certificate in {certificate}", other.key.display()));
    let swapped = TlsIdentity::read(&pair.key, &pair.certificate).unwrap_err();
    assert_eq!(swapped, format!("{key}: holds no certificate in PEM"));

    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(2002, 1, 1);
    pair.write(params.clone());
    assert_eq!(pair.fault(), format!("{certificate}: the certificate has expired"));
    params.not_before = date_time_ymd(2901, 1, 1);
    params.not_after = date_time_ymd(2902, 1, 1);
    pair.write(params);
    assert_eq!(pair.fault(), format!("{certificate}: the certificate is not valid yet"));

    pair.renew();
    std::fs::write(&pair.key, "secret").unwrap();
    assert_eq!(pair.fault(), format!("{key}: must hold a private key in PEM"));
    std::fs::remove_file(&pair.key).unwrap();
    assert!(pair.fault().starts_with(&format!("{key}: cannot be read: ")), "{}", pair.fault());
}

#[tokio::test]
async fn who_has_not_shaken_hands_does_not_hold_a_drain() {
    let pair = Pair::new();
    let server = start(&pair.read().unwrap(), limits());
    let silent = server.connect().await;
    let serving = server.stop();
    assert_eq!(silent.until_closed().await, "");
    assert_eq!(serving.await.unwrap().unwrap().cut, 0);
}
