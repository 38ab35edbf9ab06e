//! TLS configuration: trusted roots, client identity, and the verification of server certificates.

use std::fmt::Display;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WantsClientCert, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, OtherError, RootCertStore,
    SignatureScheme,
};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::BasicConstraints;

use super::tls_fault::TlsFault;

/// A TLS configuration that trusts the public CAs and `roots` (PEM), for other HTTP clients.
pub fn trusting(roots: Option<&[u8]>) -> Result<ClientConfig, String> {
    config(&public_roots(), None, roots)
}

pub(super) fn public_roots() -> RootCertStore {
    webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect()
}

/// A TLS configuration with the client `identity` that trusts the `public` CAs and `extra_roots`; in PEM.
pub(super) fn config(
    public: &RootCertStore,
    identity: Option<&[u8]>,
    extra_roots: Option<&[u8]>,
) -> Result<ClientConfig, String> {
    let mut roots = public.clone();
    for root in extra_roots.map(|pem| certificates(pem, "roots")).transpose()?.into_iter().flatten() {
        roots.add(root).map_err(|error| format!("a certificate of the roots cannot be used: {error}"))?;
    }
    let config = verified(roots, Vec::new())?;
    let Some(identity) = identity else { return Ok(config.with_no_client_auth()) };
    let chain = certificates(identity, "client certificates")?;
    // The parser's error is dropped: it may quote the offending line.
    let key = PrivateKeyDer::from_pem_slice(identity)
        .map_err(|_| "the client key is not a private key in PEM".to_owned())?;
    config
        .with_client_auth_cert(chain, key)
        .map_err(|error| format!("the client certificate and its key cannot be used: {error}"))
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(format!("no certificate in PEM among the {what}")),
    }
}

/// Verifies as rustls does, but trusts pinned certificates under any name, and explains unknown issuers.
#[derive(Debug)]
struct Verifier {
    known: Vec<CertificateDer<'static>>,
    others: Arc<WebPkiServerVerifier>,
}

/// A TLS configuration that trusts these roots and the pinned certificates in `known`.
///
/// # Errors
/// A sentence when TLS cannot be set up.
pub(super) fn verified(
    roots: RootCertStore,
    known: Vec<CertificateDer<'static>>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, String> {
    let set_up = |error: &dyn Display| format!("TLS cannot be set up: {error}");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let others = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let verifier = Verifier { known, others: others.map_err(|error| set_up(&error))? };
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| set_up(&error))?;
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.known.iter().any(|known| known == certificate) {
            return Ok(ServerCertVerified::assertion());
        }
        self.others.verify_server_cert(certificate, others, name, ocsp, now).map_err(|error| {
            let Error::InvalidCertificate(kind) = &error else { return error };
            let fault = match kind {
                CertificateError::Other(_) if is_authority(certificate) => TlsFault::AuthorityAsServer,
                CertificateError::UnknownIssuer if !others.is_empty() => return error,
                CertificateError::UnknownIssuer if is_self_signed(certificate) => TlsFault::SelfSigned,
                CertificateError::UnknownIssuer => TlsFault::NoIntermediate,
                _ => return error,
            };
            Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(fault))))
        })
    }

    /// Possession of the private key is verified for every certificate.
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

fn is_authority(certificate: &CertificateDer<'_>) -> bool {
    let read = Certificate::from_der(certificate);
    let constraints = read.ok().and_then(|it| it.tbs_certificate.get::<BasicConstraints>().ok().flatten());
    constraints.is_some_and(|(_, constraints)| constraints.ca)
}

fn is_self_signed(certificate: &CertificateDer<'_>) -> bool {
    Certificate::from_der(certificate).is_ok_and(|it| it.tbs_certificate.subject == it.tbs_certificate.issuer)
}
