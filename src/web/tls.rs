//! A listener's TLS identity: a certificate and its key, which can be replaced while listeners are open.

use std::fmt;
use std::path::{Path, PathBuf};

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert, ServerConfig};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use tokio_rustls::TlsAcceptor;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::prelude::*;
use offerd_base::regular_file::{self, PEM_BYTES_MAX};

/// A certificate in use, and the files that it comes from. Cheap to clone; clones change together.
#[derive(Debug, Clone)]
pub struct TlsIdentity {
    certificate: PathBuf,
    key: PathBuf,
    shown: Arc<ActiveCertificate>,
}

/// A valid pair that was read from the files and is not in use yet.
pub struct Renewal {
    pair: Arc<CertifiedKey>,
    shown: Arc<ActiveCertificate>,
}

impl Renewal {
    /// Puts it to use for new connections.
    pub fn show(self) {
        self.shown.0.store(self.pair);
    }
}

struct ActiveCertificate(ArcSwap<CertifiedKey>);

/// The limit of [`TlsIdentity::days_left`].
pub const LONGEST_DAYS: u64 = 3650;

const DAY_S: u64 = 24 * 60 * 60;

pub(super) const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

impl TlsIdentity {
    /// Reads a certificate chain and its private key, both in PEM. The error names the file.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let shown = Arc::new(ActiveCertificate(ArcSwap::from_pointee(pair(certificate, key)?)));
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), shown })
    }

    /// Reads both files again. The pair in use stays until [`Renewal::show`].
    pub fn read_again(&self) -> Result<Renewal, String> {
        Ok(Renewal { pair: Arc::new(pair(&self.certificate, &self.key)?), shown: Arc::clone(&self.shown) })
    }

    /// For how many whole days the certificate stays in force, at most [`LONGEST_DAYS`].
    pub fn days_left(&self) -> Result<u64, String> {
        let certificate = first(&self.certificate)?;
        let left = validity(&certificate).map_or(Duration::ZERO, |[_, end]| end.saturating_sub(now()));
        Ok((left.as_secs() / DAY_S).min(LONGEST_DAYS))
    }

    pub(super) fn acceptor(&self) -> Result<TlsAcceptor, String> {
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?;
        let shown: Arc<dyn ResolvesServerCert> = Arc::clone(&self.shown) as _;
        let mut config = config.with_no_client_auth().with_cert_resolver(shown);
        config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

impl ResolvesServerCert for ActiveCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl fmt::Debug for ActiveCertificate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Shown")
    }
}

fn pair(certificate: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let (shown, secret) = (certificate.display(), key.display());
    let chain = read(certificate)?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&chain)
        .collect::<Result<_, _>>()
        .map_err(|_| format!("{shown}: must hold certificates in PEM"))?;
    let first = chain.first().ok_or_else(|| format!("{shown}: holds no certificate in PEM"))?;
    in_force(first).map_err(|fault| format!("{shown}: {fault}"))?;
    // The parser's error is left out: it may quote the line that it failed at.
    let private = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|_| format!("{secret}: must hold a private key in PEM"))?;
    CertifiedKey::from_der(chain, private, &rustls::crypto::ring::default_provider()).map_err(|error| {
        match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                format!("{secret}: is not the key of the certificate in {shown}")
            }
            _ => format!("{secret}: the key cannot be used with {shown}"),
        }
    })
}

fn first(path: &Path) -> Result<CertificateDer<'static>, String> {
    CertificateDer::from_pem_slice(&read(path)?)
        .map_err(|_| format!("{}: holds no certificate in PEM", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    regular_file::bytes_of(path, PEM_BYTES_MAX)
        .map_err(|error| format!("{}: cannot be read: {error}", path.display()))
}

/// Checks that a certificate is readable and in force. Whether to trust its issuer is up to the client.
fn in_force(certificate: &CertificateDer<'_>) -> Result<(), String> {
    let ([begin, end], now) = (validity(certificate)?, now());
    if now > end {
        return Err("the certificate has expired".to_owned());
    }
    if now < begin { Err("the certificate is not valid yet".to_owned()) } else { Ok(()) }
}

fn validity(certificate: &CertificateDer<'_>) -> Result<[Duration; 2], String> {
    let unreadable = || "the certificate cannot be read".to_owned();
    // rustls also refuses certificates that `x509-cert` reads, such as those of version 1.
    ParsedCertificate::try_from(certificate).map_err(|_| unreadable())?;
    let validity = Certificate::from_der(certificate).map_err(|_| unreadable())?.tbs_certificate.validity;
    Ok([validity.not_before, validity.not_after].map(|time| time.to_unix_duration()))
}

fn now() -> Duration {
    Duration::from_secs(UnixTime::now().as_secs())
}
