//! Truth values in partners' words.

/// A text as true or false; `None` if it means neither.
pub(super) fn truth(text: &str) -> Option<bool> {
    let text = text.trim();
    let is_one_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is_one_of(&["", "false", "no", "n", "f"]) || text.parse() == Ok(0.0) {
        Some(false)
    } else {
        (is_one_of(&["true", "yes", "y", "t"]) || text.parse() == Ok(1.0)).then_some(true)
    }
}
