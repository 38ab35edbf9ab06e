//! TLS, with a CA of the tests.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls::{ConfigBuilder, RootCertStore, WantsVerifier};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use uuid::Uuid;

use super::http2;
use super::kit::{Server, answer, endpoint, near, request, send, wire};
use crate::{CallError, PoolRules, TlsFault};

const DAY: Duration = Duration::from_secs(86_400);

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = named(&Uuid::new_v4().to_string());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    fn certify(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        (named(name).signed_by(&key, &self.0).unwrap(), key)
    }

    fn identity(&self) -> Vec<u8> {
        let (certificate, key) = self.certify("offerd");
        (certificate.pem() + &key.serialize_pem()).into_bytes()
    }

    /// A server for `name`; with `clients`, it requires a certificate from that authority.
    async fn serve(&self, name: &str, clients: Option<&Self>, protocols: &[&str]) -> Server {
        let (certificate, key) = self.certify(name);
        let config = match clients {
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from(clients.0.der().to_vec())).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider());
                builder().with_client_cert_verifier(verifier.build().unwrap())
            }
            None => builder().with_no_client_auth(),
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        run(config).await
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn builder() -> ConfigBuilder<ServerConfig, WantsVerifier> {
    ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap()
}

async fn run(config: ServerConfig) -> Server {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    Server::run(move |stream, _| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                return http2::serve(stream).await;
            }
            while request(&mut stream).await.is_some() {
                stream.write_all(answer("200 OK", "secured").as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
            }
        }
    })
    .await
}

fn url(server: &Server) -> String {
    format!("https://localhost:{}/", server.port)
}

fn trusting(authority: &Authority) -> PoolRules {
    PoolRules { extra_roots: Some(authority.pem()), ..near() }
}

#[tokio::test]
async fn a_private_authority_is_trusted_where_it_is_declared() {
    let authority = Authority::new();
    let server = authority.serve("localhost", None, &[]).await;
    assert_eq!(send(&endpoint(trusting(&authority)), url(&server)).await.unwrap().body, "secured");
    let unknown = CallError::Tls(TlsFault::NoIntermediate);
    assert_eq!(send(&endpoint(near()), url(&server)).await.unwrap_err(), unknown);
    assert_eq!(send(&endpoint(trusting(&Authority::new())), url(&server)).await.unwrap_err(), unknown);
}

/// A certificate for a host, which is also its subject.
fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// A certificate for a host, valid for a range of days relative to now.
fn certificate(name: &str, days: std::ops::Range<i64>) -> CertificateParams {
    let mut params = named(name);
    let ago = SystemTime::now() - DAY * 100;
    let day = |days: i64| ago + DAY * u32::try_from(100 + days).unwrap();
    params.not_before = day(days.start).into();
    params.not_after = day(days.end).into();
    params
}

async fn serve(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> Server {
    let config = builder().with_no_client_auth();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    run(config.with_single_cert(chain, key).unwrap()).await
}

#[tokio::test]
async fn each_fault_of_tls_has_its_own_cause() {
    let (authority, key) = (Authority::new(), KeyPair::generate().unwrap());
    let mut middle = certificate("middle", -1..9);
    middle.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let middle = CertifiedIssuer::signed_by(middle, KeyPair::generate().unwrap(), &authority.0).unwrap();
    let own = |name, days| certificate(name, days).signed_by(&key, &authority.0).unwrap().der().clone();
    let below = certificate("localhost", -1..9).signed_by(&key, &middle).unwrap().der().clone();
    let alone = certificate("localhost", -1..9).self_signed(&key).unwrap().der().clone();
    let between = middle.der().clone();
    let mut authorities_own = certificate("localhost", -1..9);
    authorities_own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authorities_own = authorities_own.self_signed(&key).unwrap();
    let listed = PoolRules { extra_roots: Some(authorities_own.pem().into_bytes()), ..near() };
    let mut for_clients = certificate("localhost", -1..9);
    for_clients.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let for_clients = for_clients.signed_by(&key, &authority.0).unwrap().der().clone();
    let (known, stranger) = (trusting(&authority), trusting(&Authority::new()));
    let cases = [
        // What `openssl req -x509` makes where nothing else is said, trusted or not.
        (TlsFault::AuthorityAsServer, vec![authorities_own.der().clone()], &known),
        (TlsFault::AuthorityAsServer, vec![authorities_own.der().clone()], &listed),
        // The certificate with which the partner calls others.
        (TlsFault::NotForServers, vec![for_clients], &known),
        // A partner's certificate ran out overnight: payment gateways, every few months.
        (TlsFault::Expired, vec![own("localhost", -9..-1)], &known),
        // A machine without a battery boots with a clock in the past.
        (TlsFault::NotYetValid, vec![own("localhost", 2..9)], &known),
        // The address of a load balancer in place of the partner's name.
        (TlsFault::WrongName, vec![own("lender.example", -1..9)], &known),
        // A test host with a self-made certificate.
        (TlsFault::SelfSigned, vec![alone], &known),
        // The bank's own authority.
        (TlsFault::UnknownIssuer, vec![below.clone(), between], &stranger),
        // Browsers fetch the missing certificate themselves, so the fault goes unnoticed.
        (TlsFault::NoIntermediate, vec![below], &known),
    ];
    for (fault, chain, rules) in cases {
        let server = serve(chain, &key).await;
        assert_eq!(send(&endpoint(rules.clone()), url(&server)).await.unwrap_err(), CallError::Tls(fault));
    }
}

/// What is advised where a server shows an authority's certificate.
#[tokio::test]
async fn a_self_signed_certificate_of_a_server_is_trusted_where_it_is_declared() {
    let key = KeyPair::generate().unwrap();
    let alone = certificate("localhost", -1..9).self_signed(&key).unwrap();
    let server = serve(vec![alone.der().clone()], &key).await;
    let rules = PoolRules { extra_roots: Some(alone.pem().into_bytes()), ..near() };
    assert_eq!(send(&endpoint(rules), url(&server)).await.unwrap().body, "secured");
}

#[tokio::test]
async fn a_server_without_tls_or_with_an_older_one_is_named() {
    let alerts: [(TlsFault, &[u8]); 5] = [
        // The port of plain HTTP in an https URL.
        (TlsFault::NotTls, b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"),
        // Appliances that stay at TLS 1.0: protocol_version; at RC4: handshake_failure; or want more: insufficient_security.
        (TlsFault::TooOld, &[21, 3, 1, 0, 2, 2, 70]),
        (TlsFault::NothingInCommon, &[21, 3, 3, 0, 2, 2, 71]),
        (TlsFault::Refused, &[21, 3, 3, 0, 2, 2, 40]),
        // A shared address without a host of this name: unrecognized_name.
        (TlsFault::WrongName, &[21, 3, 3, 0, 2, 2, 112]),
    ];
    for (fault, said) in alerts {
        let server = Server::run(move |mut stream, _| async move {
            stream.write_all(said).await.unwrap();
            // Read to the end, so that the alert is not lost with the connection.
            tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.ok();
        })
        .await;
        assert_eq!(send(&endpoint(near()), url(&server)).await.unwrap_err(), CallError::Tls(fault));
    }
    // A middlebox that takes the connection and ends it at the hello.
    let server = Server::run(|mut stream, _| async move {
        stream.read_u8().await.ok();
    })
    .await;
    let ended = send(&endpoint(near()), url(&server)).await.unwrap_err();
    assert_eq!(ended, CallError::Tls(TlsFault::Ended));
}

#[tokio::test]
async fn we_show_who_we_are_where_it_is_asked() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let server = authority.serve("localhost", Some(&clients), &[]).await;
    let known = PoolRules { identity: Some(clients.identity()), ..trusting(&authority) };
    assert_eq!(send(&endpoint(known), url(&server)).await.unwrap().body, "secured");
    let stranger = PoolRules { identity: Some(authority.identity()), ..trusting(&authority) };
    let nobody = trusting(&authority);
    for refused in [stranger, nobody] {
        let error = send(&endpoint(refused), url(&server)).await.unwrap_err();
        // The refusal arrives as an alert, or the connection closes before it is read.
        assert!(matches!(error, CallError::Tls(TlsFault::ClientRefused) | CallError::Broken), "{error:?}");
    }
}

#[tokio::test]
async fn the_two_sides_agree_on_http2_or_on_less() {
    let authority = Authority::new();
    let both = authority.serve("localhost", None, &["h2", "http/1.1"]).await;
    let rules = PoolRules { http2: true, ..trusting(&authority) };
    assert_eq!(send(&endpoint(rules.clone()), url(&both)).await.unwrap().body, "{\"amount\":5000}");
    let without = trusting(&authority);
    assert_eq!(send(&endpoint(without), url(&both)).await.unwrap().body, "secured");
    let older = authority.serve("localhost", None, &["http/1.1"]).await;
    assert_eq!(send(&endpoint(rules), url(&older)).await.unwrap().body, "secured");
}

#[test]
fn what_is_no_certificate_is_found_when_the_pool_is_made() {
    let wire = wire(50, false);
    let refused = |rules| wire.pool("lender", rules).err().unwrap();
    let roots = PoolRules { extra_roots: Some(b"-----".to_vec()), ..near() };
    assert_eq!(refused(roots), "no certificate in PEM among the roots");
    let (certificate, _) = Authority::new().certify("offerd");
    let identity = |key: &str| Some((certificate.pem() + key).into_bytes());
    assert_eq!(
        refused(PoolRules { identity: identity("secret"), ..near() }),
        "the client key is not a private key in PEM"
    );
    let other_key = KeyPair::generate().unwrap().serialize_pem();
    assert!(
        refused(PoolRules { identity: identity(&other_key), ..near() })
            .starts_with("the client certificate and its key")
    );
}
