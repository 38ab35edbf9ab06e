//! Text normalisation, so that text compares equal whatever phones, address books and word processors did to
//! it.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Replaces each blank with a space, each hyphen with `-` and each apostrophe with `'`, and drops invisible
/// characters.
pub fn as_typed(text: &str) -> String {
    without_invisible(text).chars().map(usual).collect()
}

/// Drops invisible characters.
pub fn without_invisible(text: &str) -> String {
    text.chars().filter(|letter| !shows_nothing(*letter)).collect()
}

/// Whether a character is invisible: a text direction, a joiner, or a possible word break.
fn shows_nothing(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}')
}

/// The character on a keyboard that looks the same.
fn usual(letter: char) -> char {
    match letter {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => '-',
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2b9}'..='\u{2bd}' | '\u{2032}' | '\u{b4}' | '`' => '\'',
        '\u{2024}' => '.',
        blank if blank.is_whitespace() && !blank.is_ascii() => ' ',
        other => other,
    }
}

/// Folds case, diacritics and character width, after [`as_typed`]: `Ｍｕñoz` becomes `munoz`.
pub fn plain_text(text: &str) -> String {
    as_typed(text).to_lowercase().nfkd().filter(|letter| !is_combining_mark(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_a_text_is_typed_it_is_the_same() {
        for typed in ["Muñoz", "MUN\u{303}OZ", "Ｍｕñｏｚ", "\u{202d}Muñ\u{ad}oz\u{202c}"] {
            assert_eq!(plain_text(typed), "munoz");
        }
        assert_eq!(plain_text("２０６＠"), "206@");
        assert_eq!(as_typed("O\u{2019}Neil\u{2011}Ray\u{a0}Lee"), "O'Neil-Ray Lee");
    }
}
