//! Postal codes of the United States.

use super::input_kinds::has_shape;
use super::schema::Accepted;
use super::text_format::text_format;

text_format! {
    /// A postal code: five digits, or nine as `94105-1804`.
    Zipcode, "a zipcode of five digits, or ZIP+4", Accepted::Pattern(r"^[0-9]{5}([- ][0-9]{4})?$"), zip_or_zip_4
}

impl Zipcode {
    /// The first five digits, the part that names a place.
    pub fn five_digits(&self) -> &str {
        &self.as_str()[..5]
    }
}

/// A space before the last four digits becomes the usual dash.
fn zip_or_zip_4(text: &str) -> Option<String> {
    if has_shape(text, "00000") || has_shape(text, "00000-0000") {
        Some(text.to_owned())
    } else {
        has_shape(text, "00000 0000").then(|| text.replace(' ', "-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lengths_are_read() {
        for (text, kept) in [
            ("94105", "94105"),
            ("94105-1804", "94105-1804"),
            ("94105 1804", "94105-1804"),
            ("00501", "00501"),
        ] {
            let zipcode = Zipcode::parse(text).unwrap();
            assert_eq!((zipcode.as_str(), zipcode.five_digits()), (kept, &kept[..5]));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["9410", "941051804", "94105-", "94105-180", "K1A 0B1", "９4105", " 94105"] {
            assert_eq!(Zipcode::parse(text), None, "{text}");
        }
    }
}
