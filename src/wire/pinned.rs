//! TLS with our own listeners, for the command line: it pins the certificates named in the settings.

use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::tls::{public_roots, verified};

const KEEPALIVE: Duration = Duration::from_secs(10);

/// Connects over TLS to servers that present the first certificate of one of these chains (PEM), under any
/// name and issuer, or a certificate of a public CA; in clear text for `http` URLs.
///
/// # Errors
/// A sentence when TLS cannot be set up.
pub fn connector(chains: &[Vec<u8>]) -> Result<HttpsConnector<HttpConnector>, String> {
    let known = chains.iter().filter_map(|chain| CertificateDer::from_pem_slice(chain).ok()).collect();
    let tls = verified(public_roots(), known)?.with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    // Detects a connection that was silently dropped on its way.
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.enforce_http(false);
    Ok(HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp))
}
