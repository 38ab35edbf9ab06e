//! Telephone numbers of the North American plan.

use super::schema::Accepted;
use super::text_format::text_format;

text_format! {
    /// A telephone number, kept as its ten digits without separators and country code.
    Phone, "a phone number of ten digits",
    Accepted::Pattern(r"^[ .()\[\]-]*(\+?[ .()\[\]-]*1[ .()\[\]-]*)?([0-9][ .()\[\]-]*){10}$"), ten_digits
}

/// Takes out what people put between digits, then an optional country code.
fn ten_digits(text: &str) -> Option<String> {
    let number: String =
        text.chars().filter(|c| !matches!(c, ' ' | '.' | '-' | '(' | ')' | '[' | ']')).collect();
    let domestic = match number.strip_prefix("+1") {
        Some(rest) => rest,
        None if number.len() == 11 => number.strip_prefix('1')?,
        None => &number,
    };
    let is_phone = domestic.len() == 10 && domestic.bytes().all(|byte| byte.is_ascii_digit());
    is_phone.then(|| domestic.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_and_country_code_go() {
        let spellings = [
            "4155550132",
            "14155550132",
            "+14155550132",
            "(415) 555-0132",
            "+1 415.555.0132",
            "1-415-555-0132",
        ];
        for text in spellings {
            assert_eq!(Phone::parse(text).unwrap().as_str(), "4155550132", "{text}");
        }
    }

    #[test]
    fn other_lengths_and_letters_are_refused() {
        for text in ["415555013", "24155550132", "+444155550132", "415555O132", "--", "+", "41555501３2"] {
            assert_eq!(Phone::parse(text), None, "{text}");
        }
    }

    #[test]
    fn debug_hides_the_number() {
        assert_eq!(format!("{:?}", Phone::parse("4155550132").unwrap()), "Phone(***)");
    }
}
