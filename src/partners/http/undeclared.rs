//! Decline reasons that a partner file does not know, shown only if they cannot be personal.

/// Maximum length of a displayed word in characters.
const LETTERS_MAX: usize = 40;

/// Maximum number of digits in a displayed word; more could be a personal number.
const DIGITS_MAX: usize = 4;

/// Placeholder for a text that may be personal.
const A_TEXT: &str = "(a text)";

/// The word as it may be listed and logged: unchanged if it looks like a code.
pub fn shown(word: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-.:".contains(letter);
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let is_code = (1..=LETTERS_MAX).contains(&word.len()) && word.chars().all(fits) && digits <= DIGITS_MAX;
    if is_code { word.to_owned() } else { A_TEXT.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_shown_and_what_may_name_somebody_is_not() {
        for word in ["SCORE_BELOW_MIN", "17", "-2", "E1.4"] {
            assert_eq!(shown(word), word);
        }
        for word in ["Jane Doe has too low a score", "536-22-8714", "jane@doe.example", "", &"x".repeat(41)] {
            assert_eq!(shown(word), A_TEXT, "{word}");
        }
    }
}
