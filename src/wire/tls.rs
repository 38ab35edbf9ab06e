//! TLS configuration: trusted roots and client identity.

use rustls::RootCertStore;
use rustls::client::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::verifier::verified;

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
