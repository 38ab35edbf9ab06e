//! Colours of pages and their contrast.

use std::fmt;

/// An RGB colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour([u8; 3]);

impl Colour {
    /// Black.
    pub const BLACK: Self = Self([0; 3]);
    /// White.
    pub const WHITE: Self = Self([255; 3]);
    /// Background of pages in light mode; `http/current/offer_pages/page.css` has the same.
    pub const LIGHT_GROUND: Self = Self([0xf5, 0xf6, 0xf4]);
    /// Background of cards in dark mode, which is lighter than that of pages.
    pub const DARK_GROUND: Self = Self([0x1a, 0x20, 0x27]);

    /// Least contrast of text with its background (WCAG 2.2, 1.4.3).
    pub const LEAST_CONTRAST: f64 = 4.5;

    /// Parses `#rrggbb`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        const_hex::decode_to_array(digits).ok().map(Self)
    }

    /// The contrast with another colour, from 1 (equal) to 21 (black and white), as WCAG 2.2 defines it.
    pub fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance(), other.luminance());
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// Black or white text, whichever has more contrast on this colour: always above the least contrast.
    pub fn ink(self) -> Self {
        if self.contrast(Self::WHITE) >= self.contrast(Self::BLACK) { Self::WHITE } else { Self::BLACK }
    }

    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "#{}", const_hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn contrast_is_that_of_the_standard() {
        let contrast =
            |one: &str, other: &str| Colour::parse(one).unwrap().contrast(Colour::parse(other).unwrap());
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.001);
        assert!((contrast("#777777", "#ffffff") - 4.478).abs() < 0.001);
        assert!((contrast("#ffffff", "#777777") - 4.478).abs() < 0.001);
        assert!((contrast("#0b6e4f", "#0b6e4f") - 1.0).abs() < 0.001);
    }

    #[test]
    fn what_is_no_colour_is_not_read() {
        for text in ["", "#fff", "0b6e4f", "#0b6e4", "#0b6e4g", "#+b6e4f", "#0b6e4f0", "#ééé", "red"] {
            assert_eq!(Colour::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_colour_round_trips_and_has_ink(channels: [u8; 3]) {
            let colour = Colour(channels);
            prop_assert_eq!(Colour::parse(&colour.to_string()), Some(colour));
            prop_assert!(colour.contrast(colour.ink()) >= Colour::LEAST_CONTRAST);
        }
    }
}
