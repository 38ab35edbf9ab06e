//! Signatures of JSON Web Signatures (RFC 7518, 3), by ring. The keys are PKCS#8 in PEM, as `openssl genpkey` writes them, and of the
//! HMACs whatever text they are.

use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;

/// What is wrong with the name of an algorithm.
pub(super) const NO_ALGORITHM: &str = "names an algorithm that is not known; there are HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA";

/// How a signature is made.
#[derive(Clone, Copy)]
pub(super) struct Algorithm {
    name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Hmac(hmac::Algorithm),
    Rsa(&'static dyn RsaEncoding),
    Ecdsa(&'static EcdsaSigningAlgorithm),
    Ed25519,
}

impl Algorithm {
    /// The algorithm of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let known: [(&'static str, Kind); 12] = [
            ("HS256", Kind::Hmac(hmac::HMAC_SHA256)),
            ("HS384", Kind::Hmac(hmac::HMAC_SHA384)),
            ("HS512", Kind::Hmac(hmac::HMAC_SHA512)),
            ("RS256", Kind::Rsa(&RSA_PKCS1_SHA256)),
            ("RS384", Kind::Rsa(&RSA_PKCS1_SHA384)),
            ("RS512", Kind::Rsa(&RSA_PKCS1_SHA512)),
            ("PS256", Kind::Rsa(&RSA_PSS_SHA256)),
            ("PS384", Kind::Rsa(&RSA_PSS_SHA384)),
            ("PS512", Kind::Rsa(&RSA_PSS_SHA512)),
            ("ES256", Kind::Ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING)),
            ("ES384", Kind::Ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING)),
            ("EdDSA", Kind::Ed25519),
        ];
        let (name, kind) = known.into_iter().find(|(known, _)| *known == name)?;
        Some(Self { name, kind })
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        self.name
    }

    /// Signs a text. A signature with RSA takes about a millisecond.
    ///
    /// # Errors
    /// What is wrong with the key, without a word of it.
    pub(super) fn sign(self, key: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
        let random = SystemRandom::new();
        let no_key =
            |wanted: &str| format!("has a key that is not {wanted}; `openssl genpkey` writes such a one");
        match self.kind {
            Kind::Hmac(algorithm) => Ok(hmac::sign(&hmac::Key::new(algorithm, key), text).as_ref().to_vec()),
            Kind::Rsa(encoding) => {
                let wanted = || no_key("a private RSA key of 2048 to 8192 bits, PKCS#8 in PEM");
                let key = pkcs8(key).and_then(|key| RsaKeyPair::from_pkcs8(&key).ok()).ok_or_else(wanted)?;
                let mut signature = vec![0; key.public().modulus_len()];
                let signed = key.sign(encoding, &random, text, &mut signature);
                signed.map(|()| signature).map_err(|_| wanted())
            }
            Kind::Ecdsa(algorithm) => {
                let wanted = || no_key("a private key of the curve that its algorithm names, PKCS#8 in PEM");
                let key = pkcs8(key).and_then(|key| EcdsaKeyPair::from_pkcs8(algorithm, &key, &random).ok());
                let signature = key.ok_or_else(wanted)?.sign(&random, text).map_err(|_| wanted())?;
                Ok(signature.as_ref().to_vec())
            }
            Kind::Ed25519 => {
                let key = pkcs8(key).and_then(|key| Ed25519KeyPair::from_pkcs8_maybe_unchecked(&key).ok());
                let key = key.ok_or_else(|| no_key("a private Ed25519 key, PKCS#8 in PEM"))?;
                Ok(key.sign(text).as_ref().to_vec())
            }
        }
    }
}

fn pkcs8(pem: &[u8]) -> Option<Vec<u8>> {
    let key = PrivatePkcs8KeyDer::from_pem_slice(pem).ok()?;
    Some(key.secret_pkcs8_der().to_vec())
}

#[cfg(test)]
mod tests {
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, KeyPair, UnparsedPublicKey,
        VerificationAlgorithm,
    };

    use super::*;

    #[test]
    fn what_is_signed_is_verified_by_the_public_half_of_its_key() {
        let curves: [(&str, &rcgen::SignatureAlgorithm, &'static dyn VerificationAlgorithm); 3] = [
            ("ES256", &rcgen::PKCS_ECDSA_P256_SHA256, &ECDSA_P256_SHA256_FIXED),
            ("ES384", &rcgen::PKCS_ECDSA_P384_SHA384, &ECDSA_P384_SHA384_FIXED),
            ("EdDSA", &rcgen::PKCS_ED25519, &ED25519),
        ];
        for (name, curve, verification) in curves {
            let pair = rcgen::KeyPair::generate_for(curve).unwrap();
            let signature =
                Algorithm::named(name).unwrap().sign(pair.serialize_pem().as_bytes(), b"text").unwrap();
            let der = pkcs8(pair.serialize_pem().as_bytes()).unwrap();
            let random = SystemRandom::new();
            let public = match name {
                "ES256" => EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random)
                    .unwrap()
                    .public_key()
                    .as_ref()
                    .to_vec(),
                "ES384" => EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &der, &random)
                    .unwrap()
                    .public_key()
                    .as_ref()
                    .to_vec(),
                _ => Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).unwrap().public_key().as_ref().to_vec(),
            };
            let public = UnparsedPublicKey::new(verification, public);
            assert!(public.verify(b"text", &signature).is_ok(), "{name}");
            assert!(public.verify(b"other", &signature).is_err(), "{name}");
        }
    }

    #[test]
    fn a_key_that_is_none_is_told_without_a_word_of_it() {
        for name in ["RS256", "PS512", "ES256", "EdDSA"] {
            let told = Algorithm::named(name).unwrap().sign(b"hunter2", b"text").unwrap_err();
            assert!(told.contains("PKCS#8 in PEM") && !told.contains("hunter2"), "{told}");
        }
        assert!(Algorithm::named("none").is_none());
    }
}
