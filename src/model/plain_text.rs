//! A text as it is compared with what people type.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A text without capitals and diacritics, its letters no wider or narrower than usual: `Ｍｕñoz` is `munoz`.
pub fn plain_text(text: &str) -> String {
    text.to_lowercase().nfkd().filter(|letter| !is_combining_mark(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_a_text_is_typed_it_is_the_same() {
        for typed in ["Muñoz", "MUN\u{303}OZ", "Ｍｕñｏｚ"] {
            assert_eq!(plain_text(typed), "munoz");
        }
        assert_eq!(plain_text("２０６＠"), "206@");
    }
}
