//! Who a listener says it is: a certificate and its key, which can change under open listeners.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert, ServerConfig};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use tokio_rustls::TlsAcceptor;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use offerd_base::regular_file::{self, PEM_BYTES_MAX};

/// What a listener shows, and the files that it comes from. Cheap to clone; clones change together.
#[derive(Clone)]
pub struct Identity {
    certificate: PathBuf,
    key: PathBuf,
    shown: Arc<Shown>,
}

/// A pair that was read and is good, to be shown from some moment on.
pub struct Renewal {
    pair: Arc<CertifiedKey>,
    shown: Arc<Shown>,
}

impl Renewal {
    /// Shows it, to the connections to come.
    pub fn show(self) {
        self.shown.0.store(self.pair);
    }
}

/// The pair in use.
struct Shown(ArcSwap<CertifiedKey>);

/// Longest time that is looked ahead for the end of a certificate.
pub const LONGEST_DAYS: u64 = 3650;

const DAY_S: u64 = 24 * 60 * 60;

/// The protocols that are offered: the name by which TLS negotiates HTTP/2, and the older one.
pub(super) const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

impl Identity {
    /// Reads a certificate, with those above it, and its private key, both in PEM.
    ///
    /// # Errors
    /// A sentence that names the file: it cannot be read, holds no certificate or key, does not belong to the other, or is
    /// not in force.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let shown = Arc::new(Shown(ArcSwap::from_pointee(pair(certificate, key)?)));
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), shown })
    }

    /// Reads both files again, and leaves what is shown as it is until [`Renewal::show`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_again(&self) -> Result<Renewal, String> {
        let pair = Arc::new(pair(&self.certificate, &self.key)?);
        Ok(Renewal { pair, shown: Arc::clone(&self.shown) })
    }

    /// The file of the certificate.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// How many whole days the certificate stays in force, as far as [`LONGEST_DAYS`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn days_left(&self) -> Result<u64, String> {
        let certificate = first(&self.certificate)?;
        let left = validity(&certificate).map_or(Duration::ZERO, |[_, end]| end.saturating_sub(now()));
        Ok((left.as_secs() / DAY_S).min(LONGEST_DAYS))
    }

    /// Speaks TLS 1.2 and 1.3, and in them HTTP/2 or HTTP/1.1.
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

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

/// The key is a secret.
impl fmt::Debug for Identity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl fmt::Debug for Shown {
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
    // The parser's error is not told: it may hold the line that it stumbled over.
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

/// The certificate itself, without those above it.
fn first(path: &Path) -> Result<CertificateDer<'static>, String> {
    CertificateDer::from_pem_slice(&read(path)?)
        .map_err(|_| format!("{}: holds no certificate in PEM", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    regular_file::bytes_of(path, PEM_BYTES_MAX)
        .map_err(|error| format!("{}: cannot be read: {error}", path.display()))
}

/// Whether a certificate can be read and its time has come and not passed. Who vouches for it is the client's to judge.
fn in_force(certificate: &CertificateDer<'_>) -> Result<(), String> {
    let ([begin, end], now) = (validity(certificate)?, now());
    if now > end {
        return Err("the certificate has expired".to_owned());
    }
    if now < begin { Err("the certificate is not in force yet".to_owned()) } else { Ok(()) }
}

/// From when to when a certificate is in force, since the epoch.
fn validity(certificate: &CertificateDer<'_>) -> Result<[Duration; 2], String> {
    let unreadable = || "the certificate cannot be read".to_owned();
    // Rustls also refuses certificates that `x509-cert` reads, such as those of version 1.
    ParsedCertificate::try_from(certificate).map_err(|_| unreadable())?;
    let validity = Certificate::from_der(certificate).map_err(|_| unreadable())?.tbs_certificate.validity;
    Ok([validity.not_before, validity.not_after].map(|time| time.to_unix_duration()))
}

fn now() -> Duration {
    Duration::from_secs(UnixTime::now().as_secs())
}
