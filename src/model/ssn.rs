//! Social security numbers.

use super::input_kinds::has_shape;
use super::schema::Accepted;
use super::text_format::text_format;

text_format! {
    /// A social security number that may have been issued, kept as `AAA-GG-SSSS`.
    Ssn, "a social security number `AAA-GG-SSSS` that can have been issued",
    Accepted::Pattern(r"^(?!000|666|9|([0-9])\1{2}-?\1{2}-?\1{4}|123-?45-?6789|219-?09-?9999|078-?05-?1120)[0-9]{3}(-(?!00)[0-9]{2}-|(?!00)[0-9]{2})(?!0000)[0-9]{4}$"),
    issued
}

/// Numbers printed in advertisements and wallets, which people copy into forms.
const PUBLISHED_FAKES: [&str; 3] = ["123456789", "219099999", "078051120"];

fn issued(text: &str) -> Option<String> {
    if !has_shape(text, "000-00-0000") && !has_shape(text, "000000000") {
        return None;
    }
    let digits = text.replace('-', "");
    let (area, group, serial) = (&digits[..3], &digits[3..5], &digits[5..]);
    let never_issued =
        matches!(area, "000" | "666") || area.starts_with('9') || group == "00" || serial == "0000";
    let one_digit = digits.bytes().all(|digit| digit == digits.as_bytes()[0]);
    let fake = one_digit || PUBLISHED_FAKES.contains(&digits.as_str());
    (!never_issued && !fake).then(|| format!("{area}-{group}-{serial}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read() {
        for text in ["536-22-8714", "536228714"] {
            assert_eq!(Ssn::parse(text).unwrap().as_str(), "536-22-8714");
        }
    }

    #[test]
    fn numbers_that_were_never_issued_are_refused() {
        let refused = [
            "000-22-8714",
            "666-22-8714",
            "900-22-8714",
            "999-22-8714",
            "536-00-8714",
            "536-22-0000",
            "111-11-1111",
            "777777777",
            "123-45-6789",
            "219099999",
            "078-05-1120",
            "536-228714",
            "53-622-8714",
            "536-22-871",
            "",
        ];
        for text in refused {
            assert_eq!(Ssn::parse(text), None, "{text}");
        }
    }

    #[test]
    fn debug_hides_the_number() {
        assert_eq!(format!("{:?}", Ssn::parse("536-22-8714").unwrap()), "Ssn(***)");
    }
}
