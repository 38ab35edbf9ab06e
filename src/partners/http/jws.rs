//! Signature algorithms of JSON Web Signatures (RFC 7518, 3), by ring. Keys are PKCS#8 in PEM, as `openssl
//! genpkey` writes them; an HMAC key is any text. `ES512` is not supported: ring lacks P-521, and the crate
//! that has it brings 17 packages.

use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_ASN1,
    ECDSA_P384_SHA384_FIXED, ECDSA_P384_SHA384_FIXED_SIGNING, ED25519, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
    RSA_PSS_2048_8192_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
    UnparsedPublicKey, VerificationAlgorithm,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use spki::SubjectPublicKeyInfoRef;
use spki::der::Decode;

pub(super) const NO_ALGORITHM: &str = "names an unknown algorithm";

pub(super) struct Algorithm {
    pub(super) name: &'static str,
    kind: SignatureKind,
    verifications: Verifications,
}

type Verifications = &'static [&'static dyn VerificationAlgorithm];

pub(super) static ALGORITHMS: [Algorithm; 12] = [
    by("HS256", SignatureKind::Hmac(&hmac::HMAC_SHA256), &[]),
    by("HS384", SignatureKind::Hmac(&hmac::HMAC_SHA384), &[]),
    by("HS512", SignatureKind::Hmac(&hmac::HMAC_SHA512), &[]),
    by("RS256", SignatureKind::Rsa(&RSA_PKCS1_SHA256), &[&RSA_PKCS1_2048_8192_SHA256]),
    by("RS384", SignatureKind::Rsa(&RSA_PKCS1_SHA384), &[&RSA_PKCS1_2048_8192_SHA384]),
    by("RS512", SignatureKind::Rsa(&RSA_PKCS1_SHA512), &[&RSA_PKCS1_2048_8192_SHA512]),
    by("PS256", SignatureKind::Rsa(&RSA_PSS_SHA256), &[&RSA_PSS_2048_8192_SHA256]),
    by("PS384", SignatureKind::Rsa(&RSA_PSS_SHA384), &[&RSA_PSS_2048_8192_SHA384]),
    by("PS512", SignatureKind::Rsa(&RSA_PSS_SHA512), &[&RSA_PSS_2048_8192_SHA512]),
    by("ES256", SignatureKind::Ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING), P256),
    by("ES384", SignatureKind::Ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING), P384),
    by("EdDSA", SignatureKind::Ed25519, &[&ED25519]),
];

/// An ECDSA signature is two numbers of fixed length or ASN.1; other implementations send the latter.
const P256: Verifications = &[&ECDSA_P256_SHA256_FIXED, &ECDSA_P256_SHA256_ASN1];
const P384: Verifications = &[&ECDSA_P384_SHA384_FIXED, &ECDSA_P384_SHA384_ASN1];

enum SignatureKind {
    Hmac(&'static hmac::Algorithm),
    Rsa(&'static dyn RsaEncoding),
    Ecdsa(&'static EcdsaSigningAlgorithm),
    Ed25519,
}

const fn by(name: &'static str, kind: SignatureKind, verifications: Verifications) -> Algorithm {
    Algorithm { name, kind, verifications }
}

impl Algorithm {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
    }

    /// Verifies a signature with a public key (`BEGIN PUBLIC KEY`), or with the key of an HMAC.
    ///
    /// # Errors
    /// The fault of the key.
    pub(super) fn verify(&self, key: &[u8], text: &[u8], signature: &[u8]) -> Result<bool, String> {
        if let SignatureKind::Hmac(algorithm) = self.kind {
            return Ok(hmac::verify(&hmac::Key::new(*algorithm, key), text, signature).is_ok());
        }
        let no_key = || no_key("a public key", key, "openssl pkey -pubout");
        let der = SubjectPublicKeyInfoDer::from_pem_slice(key).map_err(|_| no_key())?;
        let key = SubjectPublicKeyInfoRef::from_der(&der).map_err(|_| no_key())?;
        let public = key.subject_public_key.as_bytes().ok_or_else(no_key)?;
        let signed = |algorithm| UnparsedPublicKey::new(algorithm, public).verify(text, signature).is_ok();
        Ok(self.verifications.iter().any(|algorithm| signed(*algorithm)))
    }

    /// Signs a text. An RSA signature takes about a millisecond.
    ///
    /// # Errors
    /// The fault of the key, without quoting it.
    pub(super) fn sign(&self, key: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
        let random = SystemRandom::new();
        let no_key = |wanted: &str| no_key(wanted, key, "openssl pkcs8 -topk8 -nodes");
        match self.kind {
            SignatureKind::Hmac(algorithm) => {
                Ok(hmac::sign(&hmac::Key::new(*algorithm, key), text).as_ref().to_vec())
            }
            SignatureKind::Rsa(encoding) => {
                let wanted = || no_key("a private RSA key of 2048 to 8192 bits, PKCS#8");
                let key = pkcs8(key).and_then(|key| RsaKeyPair::from_pkcs8(&key).ok()).ok_or_else(wanted)?;
                let mut signature = vec![0; key.public().modulus_len()];
                let signed = key.sign(encoding, &random, text, &mut signature);
                signed.map(|()| signature).map_err(|_| wanted())
            }
            SignatureKind::Ecdsa(algorithm) => {
                let wanted = || no_key("a private key of the curve that its algorithm names, PKCS#8");
                let key = pkcs8(key).and_then(|key| EcdsaKeyPair::from_pkcs8(algorithm, &key, &random).ok());
                let signature = key.ok_or_else(wanted)?.sign(&random, text).map_err(|_| wanted())?;
                Ok(signature.as_ref().to_vec())
            }
            SignatureKind::Ed25519 => {
                let key = pkcs8(key).and_then(|key| Ed25519KeyPair::from_pkcs8_maybe_unchecked(&key).ok());
                let key = key.ok_or_else(|| no_key("a private Ed25519 key, PKCS#8"))?;
                Ok(key.sign(text).as_ref().to_vec())
            }
        }
    }
}

fn pkcs8(pem: &[u8]) -> Option<Vec<u8>> {
    let key = PrivatePkcs8KeyDer::from_pem_slice(pem).ok()?;
    Some(key.secret_pkcs8_der().to_vec())
}

/// How the fault of a key begins.
pub(super) const NO_KEY: &str = "has a key that is not ";

/// What PEM may hold; any other label may be a part of a secret.
#[rustfmt::skip]
const LABELS: [&str; 9] = [
    "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY",
    "RSA PUBLIC KEY", "PUBLIC KEY", "CERTIFICATE", "EC PARAMETERS",
];

/// The fault of a key: what is wanted, what it is in its place, and the tool that makes the one of the other.
fn no_key(wanted: &str, key: &[u8], tool: &str) -> String {
    let text = String::from_utf8_lossy(key);
    let label = LABELS.iter().find(|label| text.contains(&format!("-----BEGIN {label}-----")));
    let found = match label {
        None => "a text without the lines `-----BEGIN …-----` and `-----END …-----`".to_owned(),
        Some(_) if text.trim().lines().count() < 3 => {
            "PEM in one line; write the file with its line ends".to_owned()
        }
        Some(&"CERTIFICATE") => {
            "a certificate; `openssl x509 -pubkey -noout` takes the public key out of it".to_owned()
        }
        Some(label) => format!("`{label}` of another kind, or damaged; `{tool}` converts keys"),
    };
    format!("{NO_KEY}{wanted} in PEM, but {found}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key pair in PEM.
    fn of_curve(curve: &'static rcgen::SignatureAlgorithm) -> [String; 2] {
        let pair = rcgen::KeyPair::generate_for(curve).unwrap();
        [pair.serialize_pem(), pair.public_key_pem()]
    }

    #[test]
    fn what_is_signed_is_verified_by_the_public_half_of_its_key() {
        for (name, [private, public]) in [
            ("ES256", of_curve(&rcgen::PKCS_ECDSA_P256_SHA256)),
            ("ES384", of_curve(&rcgen::PKCS_ECDSA_P384_SHA384)),
            ("EdDSA", of_curve(&rcgen::PKCS_ED25519)),
            ("HS256", ["k3y".to_owned(), "k3y".to_owned()]),
        ] {
            let algorithm = Algorithm::named(name).unwrap();
            let signature = algorithm.sign(private.as_bytes(), b"text").unwrap();
            assert_eq!(algorithm.verify(public.as_bytes(), b"text", &signature), Ok(true), "{name}");
            assert_eq!(algorithm.verify(public.as_bytes(), b"other", &signature), Ok(false), "{name}");
            assert_eq!(algorithm.verify(public.as_bytes(), b"text", b"***"), Ok(false), "{name}");
        }
        let [private, _] = of_curve(&rcgen::PKCS_ECDSA_P384_SHA384);
        let signature = Algorithm::named("ES384").unwrap().sign(private.as_bytes(), b"text").unwrap();
        assert_eq!(signature.len(), 96, "two numbers of 48 bytes (RFC 7518, 3.4)");
    }

    #[test]
    fn a_key_that_is_none_is_told_without_a_word_of_it() {
        let pem = |label: &str, between: &str| {
            format!("-----BEGIN {label}-----{between}hunter2{between}-----END {label}-----")
        };
        for (key, found) in [
            ("hunter2".to_owned(), "but a text without the lines `-----BEGIN"),
            (pem("hunter2", "\n"), "but a text without the lines `-----BEGIN"),
            (pem("RSA PRIVATE KEY", "\n"), "but `RSA PRIVATE KEY` of another kind, or damaged"),
            (pem("PRIVATE KEY", "\\n"), "but PEM in one line"),
            (pem("CERTIFICATE", "\n"), "but a certificate; `openssl x509 -pubkey -noout`"),
        ] {
            for name in ["RS256", "PS512", "ES256", "EdDSA"] {
                let algorithm = Algorithm::named(name).unwrap();
                let signing = algorithm.sign(key.as_bytes(), b"text").unwrap_err();
                let verifying = algorithm.verify(key.as_bytes(), b"text", b"***").unwrap_err();
                assert!(signing.contains("PKCS#8 in PEM") && verifying.contains("a public key in PEM"));
                for told in [signing, verifying] {
                    assert!(told.contains(found) && !told.contains("hunter2"), "{name}: {told}");
                }
            }
        }
        assert!(["none", "ES512"].iter().all(|name| Algorithm::named(name).is_none()));
    }
}
