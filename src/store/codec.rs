//! From a type to the bytes of a payload and back: postcard where bytes count, JSON where people read.

use serde::{Serialize, de::DeserializeOwned};

/// Why a sound payload is not the type it was read as. Says where, never what: payloads hold personal data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("payload does not decode: {0}")]
pub struct CodecError(String);

impl CodecError {
    /// Of a payload that is read without serde: where it does not fit.
    pub fn of(place: &str) -> Self {
        Self(place.to_owned())
    }
}

/// Writes a value as postcard. Fields are known by their place alone, so the type must serialise all of them always
/// (no `skip_serializing_if`, no `untagged`, no `flatten`); for such types there is [`encode_json`].
///
/// # Panics
/// When the type has a sequence of unknown length or its own `Serialize` fails: faults of the type, not of the value.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("a stored type serialises as postcard")
}

/// Reads what [`encode`] wrote. Bytes that are left over behind the value are an error too, or a record could be read as another.
///
/// # Errors
/// [`CodecError`].
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

/// Writes a value as JSON.
///
/// # Panics
/// When the type has map keys that are not text or its own `Serialize` fails: faults of the type, not of the value.
pub fn encode_json<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("a stored type serialises as JSON")
}

/// Reads what [`encode_json`] wrote.
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
