//! Signed queries: authentication for a partner that can only fire a URL.
//!
//! The query carries `keyId`, the id of the partner's signing key, and `signature`, a hexadecimal HMAC-SHA256
//! keyed with the key's text. It covers the other decoded parameters, `keyId` included, as `name=value`,
//! sorted, with a line feed after each. Values with control characters are refused. Signatures do not expire.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::caller::{Authenticate, hyphenated_uuid, in_doubt};
use super::prelude::*;

/// The parameter that names the signing key.
pub const KEY_ID: &str = "keyId";

/// The parameter that holds the signature.
pub const SIGNATURE: &str = "signature";

/// Signs a query with a key.
pub fn sign(query: &[(String, String)], secret: &str) -> String {
    const_hex::encode(mac(query, secret).finalize().into_bytes())
}

pub(super) fn signer(query: &[(String, String)], keys: &impl Authenticate) -> Result<Arc<str>, Failure> {
    let signature = only(query, SIGNATURE).ok_or_else(|| Failure::unauthorized("Signature is missing"))?;
    let id = only(query, KEY_ID).and_then(hyphenated_uuid);
    let key = id.map_or(Ok(None), |id| keys.signing_key(id)).map_err(in_doubt)?;
    let verified =
        key.filter(|_| !query.iter().any(|(_, value)| value.contains(char::is_control))).filter(|key| {
            mac(query, &key.secret).verify_slice(&const_hex::decode(signature).unwrap_or_default()).is_ok()
        });
    verified.map(|key| key.partner).ok_or_else(|| Failure::unauthorized("Signature is invalid"))
}

/// The MAC of a query; its verification takes constant time.
fn mac(query: &[(String, String)], secret: &str) -> Hmac<Sha256> {
    let mut signed: Vec<&(String, String)> = query.iter().filter(|(name, _)| name != SIGNATURE).collect();
    signed.sort_unstable();
    let mut mac = Hmac::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    for (name, value) in signed {
        mac.update(format!("{name}={value}\n").as_bytes());
    }
    mac
}

fn only<'q>(query: &'q [(String, String)], name: &str) -> Option<&'q str> {
    let mut values = query.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
    values.next().filter(|_| values.next().is_none())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::super::caller::{AccessToken, Principal, QuerySigningKey};
    use super::*;
    use offerd_model::InDoubt;

    const ID: &str = "0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8c01";

    struct Keys;

    impl Authenticate for Keys {
        fn principal(&self, _: &AccessToken) -> Result<Option<Principal>, InDoubt> {
            Ok(None)
        }

        fn signing_key(&self, id: Uuid) -> Result<Option<QuerySigningKey>, InDoubt> {
            if id.is_nil() {
                return Err(InDoubt);
            }
            let key = QuerySigningKey { partner: "bank".into(), secret: "secret".to_owned() };
            Ok((id.to_string() == ID).then_some(key))
        }
    }

    fn query(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn signed(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut query = query(pairs);
        query.push((SIGNATURE.to_owned(), sign(&query, "secret")));
        query
    }

    #[test]
    fn a_signature_is_the_hmac_of_the_sorted_parameters() {
        // printf 'a=1\nkeyId=x\n' | openssl dgst -sha256 -hmac secret
        let known = "fc746622fa786b2420eea311f4ae10afe7cffb971fa1a86ca9bfddb50e1e977c";
        let made = sign(&query(&[("keyId", "x"), ("a", "1"), (SIGNATURE, "?")]), "secret");
        assert_eq!(made, known);
    }

    #[test]
    fn a_key_that_cannot_be_looked_up_is_not_a_bad_signature() {
        let failure = signer(&signed(&[("keyId", &Uuid::nil().to_string())]), &Keys).unwrap_err();
        assert_eq!(failure.status, hyper::StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    fn the_order_of_the_parameters_does_not_matter() {
        let mut query = signed(&[("keyId", ID), ("transactionId", "T 1"), ("eventType", "applied")]);
        query.reverse();
        assert_eq!(signer(&query, &Keys).unwrap().as_ref(), "bank");
    }

    #[test]
    fn what_was_changed_repeated_or_left_out_is_refused() {
        let good = signed(&[("keyId", ID), ("transactionId", "T-1")]);
        assert!(signer(&good, &Keys).is_ok());
        type Parameters = Vec<(String, String)>;
        let changes: [fn(&mut Parameters); 7] = [
            |query| query[1].1 = "T-2".to_owned(),
            |query| drop(query.remove(1)),
            |query| query.push(query[1].clone()),
            |query| query.push(query[2].clone()),
            |query| query[2].1.truncate(62),
            |query| query[2].1 = "é".repeat(32),
            |query| query[0].1 = ID.replace('1', "2"),
        ];
        for change in changes {
            let mut query = good.clone();
            change(&mut query);
            assert!(signer(&query, &Keys).is_err(), "{query:?}");
        }
        assert!(signer(&signed(&[("keyId", ID), ("a", "1\nb=2")]), &Keys).is_err());
        assert!(signer(&[], &Keys).is_err());
    }
}
