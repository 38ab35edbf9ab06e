//! Text normalisation: text compares equal whatever phones, address books and word processors did to it.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Replaces blanks, hyphens and apostrophes with the usual ones, and drops invisible characters.
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

/// Characters that look like an apostrophe.
const QUOTES: &str = "\u{2018}\u{2019}\u{201b}\u{2c8}\u{2ca}\u{2cb}\u{55a}\u{5f3}\u{1fbd}\u{1fbf}\u{1fef}\u{1ffd}\u{1ffe}\u{2032}\u{2035}\u{a78b}\u{a78c}\u{b4}`";

/// The character on a keyboard that looks the same.
fn usual(letter: char) -> char {
    match letter {
        '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => '-',
        '\u{2b9}'..='\u{2bf}' => '\'',
        quote if QUOTES.contains(quote) => '\'',
        '\u{2024}' => '.',
        blank if is_blank(blank) && !blank.is_ascii() => ' ',
        other => other,
    }
}

/// A text as it looks: [`as_typed`], without control characters and tags, by Unicode NFKC.
pub fn as_it_looks(text: &str) -> String {
    text.chars().filter(|letter| !is_hidden(*letter)).map(usual).nfkc().map(usual).collect()
}

/// A name as it looks, with single blanks between its words and none around them.
pub fn name_as_it_looks(text: &str) -> String {
    as_it_looks(text).split(is_blank).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Whether a character is in no text that a person types: it shows nothing, or controls something.
fn is_hidden(letter: char) -> bool {
    let is_tag = matches!(letter, '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    shows_nothing(letter) || is_tag || letter.is_control() && !letter.is_whitespace()
}

/// The first character that nobody sees, or takes for a space.
pub fn first_unseen(text: &str) -> Option<char> {
    text.chars().find(|letter| is_unseen(*letter) && *letter != ' ')
}

/// A text without blanks and invisible characters around it.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(is_unseen)
}

fn is_unseen(letter: char) -> bool {
    is_blank(letter) || is_hidden(letter)
}

/// Whether a character is a space, or the blank of Braille, which looks like one.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{2800}'
}

/// Folds case and diacritics of a text as it looks: `Ｍｕñoz` becomes `munoz`.
pub fn plain_text(text: &str) -> String {
    folded(text).nfkd().filter(|letter| !is_combining_mark(*letter)).collect()
}

/// Folds the case of a text as it looks, also of letters that share their capital with others: `STRASSE` and
/// `Straße` become `strasse`, and `İnan`, `Inan` and `ınan` become `inan`.
pub fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for letter in as_it_looks(text).to_lowercase().chars() {
        match letter {
            'ß' => folded.push_str("ss"),
            'ı' => folded.push('i'),
            'ς' => folded.push('σ'),
            '\u{307}' if folded.ends_with('i') => {}
            other => folded.push(other),
        }
    }
    folded
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

    #[test]
    fn letters_that_share_a_capital_are_one() {
        for (one, other) in [("Straße", "STRASSE"), ("\u{1e9e}", "ss"), ("ΓΙΩΡΓΟΣ", "γιωργοσ")]
        {
            assert_eq!(folded(one), folded(other), "{one}");
        }
        for name in ["İnan", "Inan", "ınan", "I\u{307}nan", "i\u{307}nan"] {
            assert_eq!((folded(name), plain_text(name)), ("inan".to_owned(), "inan".to_owned()), "{name}");
        }
    }

    #[test]
    fn whatever_hides_in_a_text_it_is_as_it_looks() {
        for hidden in
            ['\0', '\u{7f}', '\u{1b}', '\u{fe0f}', '\u{200b}', '\u{e0041}', '\u{e0001}', '\u{e0100}']
        {
            let text = format!("{hidden}O{hidden}'Neil{hidden}");
            assert_eq!(as_it_looks(&text), "O'Neil", "{hidden:?}");
            assert_eq!(trimmed(&text), format!("O{hidden}'Neil"), "{hidden:?}");
            assert_eq!(first_unseen(&text), Some(hidden));
        }
        for other in ["Ｏ＇Ｎｅｉｌ", "O｀Neil", "𝐎'𝐍𝐞𝐢𝐥"] {
            assert_eq!(as_it_looks(other), "O'Neil", "{other}");
        }
        for mark in
            "\u{b4}\u{2be}\u{2bf}\u{2c8}\u{2ca}\u{2cb}\u{55a}\u{5f3}\u{1ffd}\u{2032}\u{2035}\u{a78c}".chars()
        {
            assert_eq!(as_it_looks(&format!("O{mark}Neil")), "O'Neil", "{mark:?}");
        }
        for name in ["Zoe\u{308} Loans", "\u{a0}Zo\u{200b}ë  Loans ", "Ｚoë\u{2800}\tLoans"] {
            assert_eq!(name_as_it_looks(name), "Zoë Loans", "{name:?}");
        }
        assert_eq!(as_it_looks("Lee\u{2043}Ray\u{2800}Lee"), "Lee-Ray Lee");
        assert_eq!(trimmed("\u{2800}\u{200b}"), "");
        assert_eq!((first_unseen("a b"), first_unseen("a\u{a0}b")), (None, Some('\u{a0}')));
    }
}
