//! Encodes types as payload bytes and decodes them: postcard where size matters, JSON where people read.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why a sound payload does not decode. Names the place, never the content, which may be personal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("payload does not decode: {0}")]
pub struct CodecError(String);

impl CodecError {
    /// For a payload that is decoded without serde: the place that does not fit.
    pub fn of(place: &str) -> Self {
        Self(place.to_owned())
    }
}

/// Encodes a value as postcard. Fields are identified by position alone, so the type must always serialise
/// all of them (no `skip_serializing_if`, no `untagged`, no `flatten`); use [`encode_json`] for such types.
///
/// # Panics
/// When the type has a sequence of unknown length or its own `Serialize` fails.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("a stored type serialises as postcard")
}

/// Decodes the output of [`encode`]. Trailing bytes are an error: a record could pass as another type.
pub fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, CodecError> {
    match postcard::take_from_bytes(payload) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => {
            let (left, all) = (rest.len(), payload.len());
            Err(CodecError(format!("{left} of {all} bytes left over behind the value")))
        }
        Err(error) => Err(CodecError(error.to_string())),
    }
}

/// Encodes a value as JSON.
///
/// # Panics
/// When the type has map keys that are not text or its own `Serialize` fails.
pub fn encode_json<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("a stored type serialises as JSON")
}

/// Decodes the output of [`encode_json`].
pub fn decode_json<T: DeserializeOwned>(payload: &[u8]) -> Result<T, CodecError> {
    serde_json::from_slice(payload).map_err(|error| {
        CodecError(format!("{:?} at line {} column {}", error.classify(), error.line(), error.column()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_round_trip() {
        let value = (7_u64, "Maria".to_owned(), vec![Some(1_i32), None]);
        assert_eq!(decode(&encode(&value)), Ok(value.clone()));
        assert_eq!(decode_json(&encode_json(&value)), Ok(value));
    }

    #[test]
    fn bytes_behind_a_value_are_refused() {
        let bytes = encode(&(7_u64, "Maria".to_owned()));
        let error = decode::<u64>(&bytes).unwrap_err().to_string();
        assert_eq!(error, "payload does not decode: 6 of 7 bytes left over behind the value");
        assert!(decode::<(u64, String)>(&[&bytes[..], &[0]].concat()).is_err());
        assert!(decode::<()>(&[0]).is_err());
    }

    #[test]
    fn an_error_does_not_show_the_value() {
        let error = decode_json::<u32>(&encode_json("078-05-1120")).unwrap_err();
        assert!(!error.to_string().contains("078"), "{error}");
        assert!(decode::<String>(&[9, b'x']).is_err());
    }
}
