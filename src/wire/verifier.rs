//! Verification of server certificates.

use std::fmt::Display;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WantsClientCert, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, OtherError, RootCertStore,
    SignatureScheme,
};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::BasicConstraints;

use super::tls_fault::TlsFault;

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
            let fault = match &error {
                Error::InvalidCertificate(CertificateError::Other(_)) if is_authority(certificate) => {
                    TlsFault::AuthorityAsServer
                }
                Error::InvalidCertificate(CertificateError::UnknownIssuer) if others.is_empty() => {
                    if is_self_signed(certificate) {
                        TlsFault::SelfSigned
                    } else {
                        TlsFault::NoIntermediate
                    }
                }
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
