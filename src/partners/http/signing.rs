//! Signing for mappings: digests, HMACs, JSON Web Signatures, and text encodings of bytes.
//!
//! The cryptography is ring's. A partner's signature scheme is a recipe of its file: which parts, in which
//! order, under which key. Bytes must be encoded explicitly: sending them as they are is an error.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use md5::{Digest, Md5};
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};
use ring::{digest, hmac};

use super::jws;
use super::secret::MASKED;
use super::truth::plain;
use offerd_base::declaration::{did_you_mean, nearest};

/// The fault of bytes in place of a text.
pub(super) const NO_TEXT: &str = "gives bytes, not text; add `|hex`, `|base64` or `|base64url`";

pub(super) const NO_DIGEST: &str = "names an unknown digest";

/// Digests available for HMACs.
const DIGESTS: [&str; 4] = ["sha1", "sha256", "sha384", "sha512"];

pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("md5", |text: &Value| {
        bytes_of(text).map_or(Value::UNDEFINED, |bytes| Value::from_bytes(Md5::digest(bytes).to_vec()))
    });
    environment.add_filter("sha1", |text: &Value| digested(&digest::SHA1_FOR_LEGACY_USE_ONLY, text));
    environment.add_filter("sha256", |text: &Value| digested(&digest::SHA256, text));
    environment.add_filter("sha512", |text: &Value| digested(&digest::SHA512, text));
    environment.add_filter("hmac", hmac_of);
    environment.add_filter("hex", |bytes: &Value| encoded(bytes, |bytes| const_hex::encode(bytes)));
    environment.add_filter("base64", |bytes: &Value| encoded(bytes, |bytes| STANDARD.encode(bytes)));
    environment
        .add_filter("base64url", |bytes: &Value| encoded(bytes, |bytes| URL_SAFE_NO_PAD.encode(bytes)));
    environment.add_filter("from_base64", |text: &Value| decoded(text, "base64", from_base64));
    environment.add_filter("from_hex", |text: &Value| {
        decoded(text, "hexadecimal", |text| const_hex::decode(text).ok())
    });
    environment.add_filter("tojson", tojson);
    environment.add_filter("jws", signed);
    environment.add_filter("sign", sign);
    environment.add_filter("is_signed", is_signed);
}

/// The bytes of a value; `None` if absent.
pub(super) fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => None,
        ValueKind::Bytes => value.as_bytes().map(<[u8]>::to_vec),
        _ => Some(value.to_string().into_bytes()),
    }
}

fn digested(algorithm: &'static digest::Algorithm, text: &Value) -> Value {
    bytes_of(text).map_or(Value::UNDEFINED, |bytes| {
        Value::from_bytes(digest::digest(algorithm, &bytes).as_ref().to_vec())
    })
}

/// `text|hmac('sha256', secret.key)` (RFC 2104).
fn hmac_of(text: &Value, algorithm: &str, key: &Value) -> Result<Value, Error> {
    let algorithm = match algorithm {
        "sha1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        "sha256" => hmac::HMAC_SHA256,
        "sha384" => hmac::HMAC_SHA384,
        "sha512" => hmac::HMAC_SHA512,
        _ => return Err(unfit(unknown(NO_DIGEST, algorithm, &DIGESTS))),
    };
    let Some(text) = bytes_of(text) else { return Ok(Value::UNDEFINED) };
    let key = bytes_of(key).ok_or_else(|| unfit("has no key"))?;
    Ok(Value::from_bytes(hmac::sign(&hmac::Key::new(algorithm, &key), &text).as_ref().to_vec()))
}

/// `claims|jws('RS256', secret.key, kid='7', detached=true)` (RFC 7515, compact serialisation; a table is
/// signed as JSON, as in RFC 7519). Other named arguments go into the header.
fn signed(payload: &Value, algorithm: &str, key: &Value, header: Kwargs) -> Result<Value, Error> {
    let algorithm = algorithm_named(algorithm)?;
    if payload.is_undefined() || payload.is_none() {
        return Ok(Value::UNDEFINED);
    }
    let detached = header.get::<Option<bool>>("detached")?.unwrap_or(false);
    let mut members = serde_json::Map::from_iter([("alg".to_owned(), algorithm.name.into())]);
    for name in header.args().filter(|name| *name != "detached").collect::<Vec<_>>() {
        let member = serde_json::to_value(header.get::<Value>(name)?);
        members.insert(name.to_owned(), member.map_err(|_| unfit("has a header that is not JSON"))?);
    }
    let payload = plain(payload);
    let payload = match payload.kind() {
        ValueKind::Map => json(&payload)?.into_bytes(),
        _ => bytes_of(&payload).unwrap_or_default(),
    };
    let key = bytes_of(key).ok_or_else(|| unfit("has no key"))?;
    let header = URL_SAFE_NO_PAD.encode(serde_json::Value::Object(members).to_string());
    let payload = URL_SAFE_NO_PAD.encode(payload);
    // A masked key cannot sign.
    let signature = match key == MASKED.as_bytes() {
        true => MASKED.to_owned(),
        false => {
            let signature = algorithm.sign(&key, format!("{header}.{payload}").as_bytes()).map_err(unfit)?;
            URL_SAFE_NO_PAD.encode(signature)
        }
    };
    let payload = if detached { "" } else { &payload };
    Ok(Value::from(format!("{header}.{payload}.{signature}")))
}

/// `text|sign('ES384', secret.key)`, as bytes.
fn sign(text: &Value, algorithm: &str, key: &Value) -> Result<Value, Error> {
    let algorithm = algorithm_named(algorithm)?;
    let Some(text) = bytes_of(text) else { return Ok(Value::UNDEFINED) };
    let key = bytes_of(key).ok_or_else(|| unfit("has no key"))?;
    match key == MASKED.as_bytes() {
        true => Ok(Value::from_bytes(masked(algorithm, &text))),
        false => algorithm.sign(&key, &text).map(Value::from_bytes).map_err(unfit),
    }
}

/// `text|is_signed('ES384', header['x-signature']|from_base64, secret.public)`: whether the signature, in
/// bytes, was made with the private key of this public key.
fn is_signed(text: &Value, algorithm: &str, signature: &Value, key: &Value) -> Result<Value, Error> {
    let algorithm = algorithm_named(algorithm)?;
    let (Some(text), Some(signature)) = (bytes_of(text), bytes_of(signature)) else {
        return Ok(Value::from(false));
    };
    let key = bytes_of(key).ok_or_else(|| unfit("has no key"))?;
    match key == MASKED.as_bytes() {
        // The signer's key was masked as well.
        true => Ok(Value::from(signature == masked(algorithm, &text))),
        false => algorithm.verify(&key, &text, &signature).map(Value::from).map_err(unfit),
    }
}

/// A stand-in signature for masked keys, specific to text and algorithm.
fn masked(algorithm: &jws::Algorithm, text: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA256, &[algorithm.name.as_bytes(), text].join(&0)).as_ref().to_vec()
}

fn algorithm_named(name: &str) -> Result<&'static jws::Algorithm, Error> {
    let names = jws::ALGORITHMS.each_ref().map(|algorithm| algorithm.name);
    jws::Algorithm::named(name).ok_or_else(|| unfit(unknown(jws::NO_ALGORITHM, name, &names)))
}

/// Serialises to JSON, without HTML escapes.
fn tojson(value: &Value) -> Result<Value, Error> {
    if value.is_undefined() { Ok(Value::UNDEFINED) } else { json(value).map(Value::from) }
}

fn json(value: &Value) -> Result<String, Error> {
    serde_json::to_string(&plain(value)).map_err(|_| unfit("is not a JSON value"))
}

fn encoded(bytes: &Value, encode: impl Fn(&[u8]) -> String) -> Value {
    bytes_of(bytes).map_or(Value::UNDEFINED, |bytes| Value::from(encode(&bytes)))
}

fn decoded(text: &Value, what: &str, decode: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Value, Error> {
    let text = plain(text);
    match text.as_str() {
        None => Ok(Value::UNDEFINED),
        // Masked text is not encoded.
        Some(MASKED) => Ok(text),
        Some(text) => {
            decode(text.trim()).map(Value::from_bytes).ok_or_else(|| unfit(format!("is no {what}")))
        }
    }
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    URL_SAFE_NO_PAD.decode(text.replace('+', "-").replace('/', "_")).ok()
}

/// A fault of an unknown name, with the known ones. Quotes the name only if it resembles a known one, since
/// it could be a misplaced key.
fn unknown(fault: &str, found: &str, known: &[&str]) -> String {
    let near = nearest(&found.to_ascii_lowercase(), known.iter().copied())
        .or_else(|| nearest(&found.to_ascii_uppercase(), known.iter().copied()));
    let is_of_digest = found.len() <= 8 && ["md", "sha", "none"].iter().any(|start| found.starts_with(start));
    let shown = match near.is_some() || is_of_digest {
        true => format!(", `{found}`"),
        false => String::new(),
    };
    format!("{fault}{shown}; known: {}{}", known.join(", "), did_you_mean(near))
}

/// The secrets that a mapping uses as keys, as in `jws('RS256', secret.key)`, each with its check.
pub(super) fn keys_of(mapping: &str) -> impl Iterator<Item = (&str, impl Fn(&[u8]) -> Option<String>)> {
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    mapping.match_indices("secret.").filter_map(move |(at, word)| {
        let rest = &mapping[at + word.len()..];
        let secret = rest.split(|letter| !is_of_name(letter)).next().unwrap_or_default();
        let is_whole = rest[secret.len()..].trim_start().starts_with([',', ')']);
        let call = mapping[..at].trim_end().strip_suffix(',').filter(|_| is_whole)?;
        let (filter, arguments) = call.rsplit_once('(')?;
        let filter = filter.trim_end().rsplit(|letter| !is_of_name(letter)).next()?;
        let algorithm = jws::Algorithm::named(arguments.split(['\'', '"']).nth(1)?)?;
        let fault = move |key: &[u8]| match filter {
            "is_signed" => algorithm.verify(key, b"", b"").err(),
            _ => algorithm.sign(key, b"").err(),
        };
        ["jws", "sign", "is_signed"].contains(&filter).then_some((secret, fault))
    })
}

/// Whether a fault is of our own words, in which no value stands.
pub(super) fn has_no_value(fault: &str) -> bool {
    let words =
        ["has no key", jws::NO_KEY, "has a header that is not JSON", "is not a JSON value", "is no base64"];
    words.iter().any(|words| fault.starts_with(words)) || fault == "is no hexadecimal"
}

fn unfit(cause: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, cause.into())
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use serde_json::json;

    use super::super::expression::Expression;
    use super::*;

    fn run(text: &str) -> String {
        let context = Value::from(Serde(
            json!({"secret": {"key": "key", "masked": MASKED}, "given": "The quick brown fox jumps over the lazy dog"}),
        ));
        Expression::compile(text).unwrap().run(&context).unwrap().to_string()
    }

    /// Vectors of RFC 4231, of the usual quick brown fox, and of another implementation.
    #[test]
    fn digests_and_signatures_are_those_of_everybody_else() {
        for (text, made) in [
            ("given|sha256|hex", "d7a8fbb307d7809469ca9abcb0082e4f8d5651e46d3cdb762d02d0bf37c9e592"),
            ("given|sha1|hex", "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"),
            ("given|md5|hex", "9e107d9d372bb6826bd81d3542a419d6"),
            (
                "given|hmac('sha256', secret.key)|hex",
                "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
            ),
            (
                "given|hmac('sha256', 'a2V5'|from_base64)|base64",
                "97yD9DBThCSxMpjmqm+xQ+9NWaFJRhdZl0edvC0aPNg=",
            ),
            (
                "'what do ya want for nothing?'|hmac('sha512', '4a656665'|from_hex)|hex",
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
            ),
            ("'<é&>'|base64url", "PMOpJj4"),
            ("{'a': '</x>', 'b': [1, true]}|tojson", r#"{"a":"</x>","b":[1,true]}"#),
            ("nothing|sha256|hex|default('none')", "none"),
            (
                "{'sub': '7'}|jws('HS256', secret.key, typ='JWT')",
                "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI3In0.DcoyJW-czvfGy5Jx3eIXLuos79vfZ5g9IubbASScip0",
            ),
            ("'body'|jws('RS256', secret.masked, detached=true)", "eyJhbGciOiJSUzI1NiJ9..***"),
        ] {
            let run = run(text);
            assert_eq!(run, made, "{text}");
        }
    }

    #[test]
    fn what_is_forgotten_is_told_when_it_is_compiled() {
        for (text, wanted) in [
            ("lead_uuid|sha256", NO_TEXT),
            (
                "lead_uuid|hmac('sha265', 'k')|hex",
                "names an unknown digest, `sha265`; known: sha1, sha256, sha384, sha512; did you mean \
                    `sha256`?",
            ),
            (
                "lead_uuid|hmac('md5', 'k')|hex",
                "names an unknown digest, `md5`; known: sha1, sha256, sha384, sha512",
            ),
            (
                "lead_uuid|hmac('hunter2', 'sha256')|hex",
                "names an unknown digest; known: sha1, sha256, sha384, sha512",
            ),
        ] {
            assert_eq!(Expression::compile(text).unwrap_err(), wanted, "{text}");
        }
        let told = Expression::compile("lead_uuid|jws('ES255', 'k')").unwrap_err();
        assert!(told.starts_with("names an unknown algorithm, `ES255`; known: HS256,"), "{told}");
    }
}
