//! Counts the decline reasons that a partner's file does not declare, so that an outdated file shows.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use metrics::{Counter, counter};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use offerd_base::declaration::quoted;
use offerd_base::telemetry::metrics::PARTNER_UNDECLARED_WORDS;
use offerd_model::{Attribute, AttributeValue, Lead};
use offerd_partners::Seat;

const WORDS_MAX: usize = 32;

const OTHERS: &str = "(others)";

/// The label of words that also occur in the lead, or are secrets of ours.
pub const UNNAMED: &str = "(a text)";

/// Whether a word is part of a lead's personal data, or holds one of its texts: the name of a mailbox or a
/// client tag, too.
pub fn is_of(lead: &Lead, word: &str) -> bool {
    let bare = |text: &str| -> String {
        text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let word = bare(word);
    let holds = |text: &str, least: usize| text.len() >= least && word.contains(text);
    let masked = Attribute::all().iter().filter(|attribute| attribute.is_masked());
    let is_of_attribute = masked.filter_map(|attribute| attribute.read(lead)).any(|value| match value {
        AttributeValue::Text(text) => {
            let (mailbox, text) = (text.split_once('@').map(|(name, _)| bare(name)), bare(text));
            holds(&text, 3)
                || mailbox.is_some_and(|name| holds(&name, 4))
                || (word.len() > 2 && text.contains(&word))
        }
        _ => false,
    });
    let mut tags = lead.client_tags.iter().flat_map(|tags| tags.pairs());
    is_of_attribute || tags.any(|(_, tag)| holds(&bare(tag), 6))
}

/// Says that a partner declines for a reason that its file does not know.
pub fn unknown_reason(word: &str) -> String {
    format!("its reason `{word}` is not in `answer.reasons`")
}

/// A word that is safe to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndeclaredReason {
    /// The word, or a label in brackets for several.
    pub word: String,
    /// Occurrences since the file was read.
    pub count: u64,
    /// The last occurrence.
    pub last: DateTime<Utc>,
}

impl UndeclaredReason {
    /// The key that declares it under `answer.reasons`; `None` for a label.
    pub fn key(&self) -> Option<String> {
        (!self.word.starts_with('(')).then(|| quoted(&self.word))
    }
}

/// The words of one seat since its file was read.
pub struct UndeclaredReasons {
    words: Mutex<BTreeMap<String, (u64, DateTime<Utc>)>>,
    all: Counter,
}

impl UndeclaredReasons {
    /// No words yet; exports the seat's counter.
    pub fn of(seat: &Seat) -> Self {
        let labels =
            [("partner", seat.identity.key.clone()), ("product_type", seat.product_type.as_str().to_owned())];
        Self { words: Mutex::default(), all: counter!(PARTNER_UNDECLARED_WORDS, &labels) }
    }

    /// Counts a word that is safe to show.
    pub fn count(&self, word: String) {
        self.all.increment(1);
        let mut all = self.words.lock();
        let word = if all.len() < WORDS_MAX || all.contains_key(&word) { word } else { OTHERS.to_owned() };
        let (count, last) = all.entry(word).or_default();
        (*count, *last) = (*count + 1, Utc::now());
    }

    /// The words, most frequent first.
    pub fn counted(&self) -> Vec<UndeclaredReason> {
        let words = self.words.lock();
        let counted = words.iter().map(|(word, &(count, last))| {
            let word = word.clone();
            UndeclaredReason { word, count, last }
        });
        let mut counted: Vec<_> = counted.collect();
        counted.sort_by_key(|word| std::cmp::Reverse(word.count));
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_holds_a_text_of_the_lead_is_of_it() {
        let lead = br#"{"personalInformation": {"email": "q.zappa@example.com", "lastName": "Doe"},
            "clientTags": {"gclid": ["Xy12abcQ"], "campaign": ["low"]}}"#;
        let lead = Lead::read(lead).unwrap();
        for (word, is_its) in [
            ("q.zappa@example.com", true),
            ("SOLD_q.zappa", true),
            ("example.com", true),
            ("DENIED_DOE", true),
            ("Xy12abcQ", true),
            ("id xy12-abcq", true),
            ("LOW_SCORE", false),
            ("MOON", false),
        ] {
            assert_eq!(is_of(&lead, word), is_its, "{word}");
        }
    }
}
