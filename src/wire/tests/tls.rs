//! TLS, with a CA of our own.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;

use super::http2;
use super::kit::{Server, answer, endpoint, near, request, send};
use crate::wire::{CallError, PanelRules, PoolRules, Wire};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    fn certify(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }

    /// A certificate, and its key.
    fn identity(&self) -> Vec<u8> {
        let (certificate, key) = self.certify("offerd");
        (certificate.pem() + &key.serialize_pem()).into_bytes()
    }

    /// A server for `name`; asks for a certificate of `clients`, if there are any.
    async fn serve(&self, name: &str, clients: Option<&Self>, protocols: &[&str]) -> Server {
        let (certificate, key) = self.certify(name);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = match clients {
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from(clients.0.der().to_vec())).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                config.with_client_cert_verifier(verifier.build().unwrap())
            }
            None => config.with_no_client_auth(),
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
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
    assert_eq!(send(&endpoint(near()), url(&server)).await.unwrap_err(), CallError::Tls);
    assert_eq!(send(&endpoint(trusting(&Authority::new())), url(&server)).await.unwrap_err(), CallError::Tls);
}

#[tokio::test]
async fn a_certificate_of_another_name_is_not_accepted() {
    let authority = Authority::new();
    let server = authority.serve("lender.example", None, &[]).await;
    assert_eq!(send(&endpoint(trusting(&authority)), url(&server)).await.unwrap_err(), CallError::Tls);
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
        // The refusal comes as an alert, or the connection is gone before we have read it.
        assert!(matches!(error, CallError::Tls | CallError::Broken), "{error:?}");
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
    let wire = Wire::new(PanelRules { max_ejected_percent: 50, simulate_only: false });
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
