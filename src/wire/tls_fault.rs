//! Faults of TLS with a server: a cause and a remedy for each.

use rustls::{
    AlertDescription, CertificateError, Error, InvalidMessage, OtherError, PeerIncompatible, PeerMisbehaved,
};

/// Why TLS with a server failed. Displays as the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TlsFault {
    /// The server's certificate has expired.
    #[error("the server's certificate has expired")]
    Expired,
    /// The server's certificate is not valid yet.
    #[error("the server's certificate is not valid yet")]
    NotYetValid,
    /// The server's certificate is for other hosts, or the server has no host of this name.
    #[error("the server has no certificate for this host name")]
    WrongName,
    /// The server's certificate is its own issuer.
    #[error("the server's certificate is self-signed and not trusted")]
    SelfSigned,
    /// The server's chain ends at an untrusted authority.
    #[error("the server's certificate is from an authority that is not trusted")]
    UnknownIssuer,
    /// The server sends one certificate, without the intermediate ones.
    #[error(
        "the server sends its certificate without intermediate certificates, and the issuer is not trusted"
    )]
    NoIntermediate,
    /// The server shows the certificate of an authority as its own, as `openssl req -x509` makes one.
    #[error(
        "the server's certificate is that of an authority (CA:TRUE), which is not accepted as a server's own"
    )]
    AuthorityAsServer,
    /// The server's certificate is for other purposes, such as for clients.
    #[error("the server's certificate is not made for TLS servers")]
    NotForServers,
    /// The server's certificate, or one above it, has a key or a signature that is not read.
    #[error("the server's certificate, or one above it, uses an algorithm that is not supported")]
    UnknownAlgorithm,
    /// The server's certificate is revoked or broken.
    #[error("the server's certificate cannot be used for TLS")]
    BadCertificate,
    /// The server speaks older versions of TLS alone.
    #[error("the server speaks neither TLS 1.2 nor 1.3")]
    TooOld,
    /// Both sides speak TLS, but no cipher, key exchange or signature that the other one takes.
    #[error("the server and this daemon have no cipher, key exchange or signature in common")]
    NothingInCommon,
    /// The server ends the handshake without a reason; many that require a client certificate do so.
    #[error("the server ended the TLS handshake")]
    Refused,
    /// The connection ended in the handshake, without an alert.
    #[error("the connection was made, and ended in the TLS handshake")]
    Ended,
    /// The server answers in a protocol other than TLS.
    #[error("the server answers without TLS")]
    NotTls,
    /// The server requires a client certificate, or rejects the one it received.
    #[error("the server does not accept our client certificate")]
    ClientRefused,
    /// Anything else.
    #[error("the TLS handshake failed")]
    Other,
}

impl TlsFault {
    /// What to change, and where.
    #[rustfmt::skip]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Expired => "its owner must renew it; if it is still valid, set this machine's clock right",
            Self::NotYetValid => "set this machine's clock right; if it is, ask the server's owner for a valid one",
            Self::WrongName => "correct the host in the URL, or ask the server's owner for a certificate with this name",
            Self::SelfSigned => "trust it by `wire.authorities` of the partner file, or by `ca_file` elsewhere",
            Self::UnknownIssuer => "if the authority is private, name it in `wire.authorities` of the partner file, or in `ca_file` elsewhere",
            Self::NoIntermediate => "ask the server's owner to send the whole chain; if the issuer is private, name it in `wire.authorities` of the partner file, or in `ca_file` elsewhere",
            Self::AuthorityAsServer => "ask the server's owner for a certificate of its own (CA:FALSE), self-signed or by that authority, which `wire.authorities` or `ca_file` can then trust; until then only a proxy of yours that trusts this one can reach it",
            Self::NotForServers | Self::BadCertificate => "ask the server's owner for a certificate that is made for TLS servers",
            Self::UnknownAlgorithm => "ask the server's owner for a chain of RSA, ECDSA P-256 or P-384, or Ed25519 certificates (not P-521, SHA-1 or DSA)",
            Self::TooOld => "ask the server's owner to allow TLS 1.2 or 1.3",
            Self::NothingInCommon => "ask the server's owner to allow ECDHE (X25519, P-256 or P-384) with AES-GCM or ChaCha20, not DHE, CBC or P-521 alone",
            Self::Refused => "it may want a client certificate (`wire.client_certificate`); or it must allow TLS 1.2 or 1.3, ECDHE (X25519, P-256 or P-384) with AES-GCM or ChaCha20, and a certificate of RSA, P-256 or P-384, not DHE, CBC or P-521 alone",
            Self::Ended => "check the host, the port, and any proxy or firewall in between; it may want a client certificate (`wire.client_certificate`)",
            Self::NotTls => "correct the port, or write `http://` if the server is meant to be without TLS",
            Self::ClientRefused => "name a certificate that the server knows in `wire.client_certificate`",
            Self::Other => "ask the server's owner what its log says",
        }
    }
}

impl From<&Error> for TlsFault {
    fn from(error: &Error) -> Self {
        match error {
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::AlertReceived(alert) => of_alert(*alert),
            Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => Self::TooOld,
            Error::PeerIncompatible(_)
            | Error::PeerMisbehaved(
                PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedNamedGroup
                | PeerMisbehaved::SelectedUnofferedCipherSuite
                | PeerMisbehaved::SelectedUnofferedKxGroup
                | PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme,
            ) => Self::NothingInCommon,
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => Self::NotTls,
            _ => Self::Other,
        }
    }
}

fn of_certificate(error: &CertificateError) -> TlsFault {
    use CertificateError as E;
    match error {
        E::Expired | E::ExpiredContext { .. } => TlsFault::Expired,
        E::NotValidYet | E::NotValidYetContext { .. } => TlsFault::NotYetValid,
        E::NotValidForName | E::NotValidForNameContext { .. } => TlsFault::WrongName,
        // Another authority with the issuer's name.
        E::UnknownIssuer | E::BadSignature => TlsFault::UnknownIssuer,
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => TlsFault::NotForServers,
        E::UnsupportedSignatureAlgorithmContext { .. }
        | E::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => TlsFault::UnknownAlgorithm,
        E::Other(OtherError(ours)) => ours.downcast_ref().copied().unwrap_or(TlsFault::BadCertificate),
        _ => TlsFault::BadCertificate,
    }
}

fn of_alert(alert: AlertDescription) -> TlsFault {
    use AlertDescription as A;
    match alert {
        A::UnrecognisedName => TlsFault::WrongName,
        A::HandshakeFailure => TlsFault::Refused,
        A::ProtocolVersion => TlsFault::TooOld,
        A::InsufficientSecurity | A::NoApplicationProtocol => TlsFault::NothingInCommon,
        A::CertificateRequired
        | A::NoCertificate
        | A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied
        | A::DecryptError => TlsFault::ClientRefused,
        _ => TlsFault::Other,
    }
}
