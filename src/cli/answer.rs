//! Answers of the admin routes.

use bytes::Bytes;
use hyper::StatusCode;
use serde::de::DeserializeOwned;

use offerd_model::ApiError;

/// An answer.
pub struct AdminAnswer {
    pub status: StatusCode,
    pub body: Bytes,
    /// Whether a daemon sent it, rather than this process.
    pub of_daemon: bool,
}

impl AdminAnswer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim_end().to_owned()
    }

    /// The parsed body, whatever the status.
    pub fn read_any<T: DeserializeOwned>(self) -> Result<T, String> {
        serde_json::from_slice(&self.body).or_else(|_| self.read())
    }

    /// The parsed body of a successful answer; otherwise its errors as one sentence.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, String> {
        if self.status.is_success() {
            return read(&self.body);
        }
        let errors: Vec<ApiError> = serde_json::from_slice(&self.body).unwrap_or_default();
        let told: Vec<String> = errors.iter().filter_map(sentence).collect();
        Err(match (self.of_daemon, told.as_slice()) {
            (true, []) => format!(
                "the daemon answered {} without a reason; if its version differs from this command's, restart it",
                self.status.as_u16()
            ),
            (true, told) => format!("the daemon refused: {}", told.join("; ")),
            (false, _) if self.status == StatusCode::INTERNAL_SERVER_ERROR => {
                "failed; see the messages above".to_owned()
            }
            (false, told) => told.join("; "),
        })
    }
}

/// An API error as a sentence. Names the attribute only if the message continues from it.
fn sentence(error: &ApiError) -> Option<String> {
    let message = error.message.as_deref()?;
    let goes_on = ["must ", "is ", "has ", "does ", "cannot "].iter().any(|word| message.starts_with(word));
    Some(match &error.attribute {
        Some(path) if goes_on => format!("`{path}` {message}"),
        _ => message.to_owned(),
    })
}

/// Parses JSON from the daemon.
pub fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|error| {
        format!("the daemon's answer cannot be read ({error}); its version may differ from this command's")
    })
}

#[cfg(test)]
mod tests {
    use hyper::StatusCode;
    use serde::de::IgnoredAny;

    use super::AdminAnswer;

    #[test]
    fn a_refusal_is_one_sentence_without_words_of_http() {
        let told = |body: &'static str| {
            let status = StatusCode::BAD_REQUEST;
            let answer = AdminAnswer { status, body: body.as_bytes().into(), of_daemon: true };
            answer.read::<IgnoredAny>().unwrap_err()
        };
        assert_eq!(
            told(r#"[{"type":"malformed","attribute":"partner","message":"there is no partner `a`"}]"#),
            "the daemon refused: there is no partner `a`"
        );
        assert_eq!(
            told(r#"[{"attribute":"a","message":"must be b"},{"attribute":"c","message":"is missing"}]"#),
            "the daemon refused: `a` must be b; `c` is missing"
        );
        assert!(told("<html>").contains("answered 400") && told("<html>").contains("version"));
    }
}
