//! TLS with our own listeners, for the command line: what it is to find there it knows from the settings.

use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::tls::public_roots;
use super::verifier::verified;

/// How long a connection is silent before the far end is asked for a sign of life.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Connects over TLS to who shows the first of one of these chains (PEM), under whatever name and however it was issued, and
/// to who is certified by a public CA; and in the clear where the URL says `http`.
///
/// # Errors
/// A sentence when TLS cannot be set up.
pub fn connector(chains: &[Vec<u8>]) -> Result<HttpsConnector<HttpConnector>, String> {
    let known = chains.iter().filter_map(|chain| CertificateDer::from_pem_slice(chain).ok()).collect();
    let config = verified(public_roots(), known)?.with_no_client_auth();
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
