//! The words with which a partner declines and that its file does not know, counted: a file that is out of date shows here, and
//! not as leads that the partner merely has nothing for.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use metrics::{Counter, counter};

use crate::partners::Seat;
use crate::telemetry::metrics::PARTNER_UNDECLARED_WORDS;

/// Most words that are kept apart.
const WORDS_MAX: usize = 32;

/// What the others are counted as.
const OTHERS: &str = "(others)";

/// The words of one seat, since its file was read.
pub struct UndeclaredWords {
    words: Mutex<BTreeMap<String, u64>>,
    all: Counter,
}

impl UndeclaredWords {
    /// None yet, of a seat whose counter is there from now on.
    pub fn of(seat: &Seat) -> Self {
        let labels =
            [("partner", seat.identity.key.clone()), ("product_type", seat.product_type.as_str().to_owned())];
        Self { words: Mutex::default(), all: counter!(PARTNER_UNDECLARED_WORDS, &labels) }
    }

    /// Counts a word, which may be shown.
    pub fn count(&self, word: String) {
        self.all.increment(1);
        let mut words = self.lock();
        let word =
            if words.len() < WORDS_MAX || words.contains_key(&word) { word } else { OTHERS.to_owned() };
        *words.entry(word).or_default() += 1;
    }

    /// Each word with how often it came, the most frequent first.
    pub fn counted(&self) -> Vec<(String, u64)> {
        let mut words: Vec<_> = self.lock().iter().map(|(word, count)| (word.clone(), *count)).collect();
        words.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        words
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
