//! TLS with our own listeners, for the command line: what it is to find there it knows from the settings.

use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use super::tls::public_roots;

/// How long a connection is silent before the far end is asked for a sign of life.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Connects over TLS to who shows the first of one of these chains (PEM), under whatever name and however it was issued, and
/// to who is certified by a public CA; and in the clear where the URL says `http`.
///
/// # Errors
/// A sentence when TLS cannot be set up.
pub fn connector(chains: &[Vec<u8>]) -> Result<HttpsConnector<HttpConnector>, String> {
    let set_up = |error: &dyn std::fmt::Display| format!("TLS cannot be set up: {error}");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let known = chains.iter().filter_map(|chain| CertificateDer::from_pem_slice(chain).ok()).collect();
    let roots = Arc::new(public_roots());
    let others = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
    let others = others.map_err(|error| set_up(&error))?;
    let verifier = Pinned { known, others };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| set_up(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    // A connection that was dropped on its way without a word is not waited on for ever.
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.enforce_http(false);
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp))
}

/// Knows some certificates by sight.
#[derive(Debug)]
struct Pinned {
    known: Vec<CertificateDer<'static>>,
    others: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.known.iter().any(|known| known == certificate) {
            return Ok(ServerCertVerified::assertion());
        }
        self.others.verify_server_cert(certificate, above, name, stapled, now)
    }

    /// That the other side holds the certificate's key is checked of every one.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.others.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.others.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.others.supported_verify_schemes()
    }
}
