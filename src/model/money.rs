//! Amounts of money.

use super::fixed_point::fixed_point;

fixed_point! {
    /// An amount in dollars, kept in whole cents and written as a plain number: `308.77`, `300`.
    Money, 100, "an amount in dollars"
}

impl Money {
    /// An amount of so many cents.
    pub const fn from_cents(cents: i64) -> Self {
        Self(cents)
    }

    /// An amount of so many dollars.
    pub const fn from_dollars(dollars: i32) -> Self {
        Self(dollars as i64 * Self::SCALE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_written_without_noise() {
        for (cents, written) in [(30_877, "308.77"), (30_000, "300"), (10, "0.1"), (-5, "-0.05"), (0, "0")] {
            assert_eq!(serde_json::to_string(&Money::from_cents(cents)).unwrap(), written);
            assert_eq!(Money::from_cents(cents).to_string(), written);
        }
        assert_eq!(Money::from_dollars(300), Money::from_cents(30_000));
        assert_eq!(Money::from_dollars(-3), Money::from_cents(-300));
    }

    #[test]
    fn amounts_are_rounded_to_cents_and_bounded() {
        assert_eq!(serde_json::from_str::<Money>("308.774999").unwrap(), Money::from_cents(30_877));
        assert_eq!(serde_json::from_str::<Money>("300").unwrap(), Money::from_dollars(300));
        assert!(serde_json::from_str::<Money>("1e300").is_err());
        assert_eq!(Money::from_f64(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn every_amount_round_trips(cents in -1_000_000_000_000_i64..1_000_000_000_000) {
            let json = serde_json::to_string(&Money::from_cents(cents)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), Money::from_cents(cents));
        }
    }
}
