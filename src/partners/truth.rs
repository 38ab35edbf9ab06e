//! Truth values in partners' words.

/// A text as true or false; `None` if it means neither.
pub(super) fn truth(text: &str) -> Option<bool> {
    let text = text.trim();
    let is_one_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is_one_of(&["", "false", "no", "off", "n", "f"]) || text.parse() == Ok(0.0) {
        Some(false)
    } else {
        (is_one_of(&["true", "yes", "on", "y", "t"]) || text.parse() == Ok(1.0)).then_some(true)
    }
}

const NOTHING: [&str; 7] = ["none", "null", "nil", "undefined", "n/a", "na", "-1"];

/// Whether a text may stand for nothing, so that it is no reason either.
pub(super) fn says_nothing(text: &str) -> bool {
    let text = text.trim();
    let is_word = NOTHING.iter().any(|word| word.eq_ignore_ascii_case(text));
    is_word || !text.is_empty() && !text.contains(char::is_alphanumeric)
}
