//! Why an ask ended: one line that quotes nothing of what was sent or answered, stored with the outcome.

use serde::{Deserialize, Serialize};

/// Longest kept cause, bytes; the rest is cut.
const MOST_BYTES: usize = 200;

/// A cause of bounded length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(transparent)]
#[error("{0}")]
pub struct Cause(String);

impl Cause {
    /// A cause from words, which must not quote a lead or an answer.
    pub fn new(words: impl Into<String>) -> Self {
        let mut words = words.into();
        if words.len() > MOST_BYTES {
            let mut end = MOST_BYTES - '…'.len_utf8();
            while !words.is_char_boundary(end) {
                end -= 1;
            }
            words.truncate(end);
            words.push('…');
        }
        Self(words)
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_cause_is_cut_between_letters() {
        assert_eq!(Cause::new("short").as_str(), "short");
        for letter in ["a", "é", "€", "🦀"] {
            let cut = Cause::new(letter.repeat(MOST_BYTES + 1));
            assert!(cut.as_str().len() <= MOST_BYTES && cut.as_str().len() > MOST_BYTES - 8, "{cut}");
            assert!(cut.as_str().ends_with('…') && cut.as_str().starts_with(letter));
        }
    }
}
