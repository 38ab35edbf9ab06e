//! Exact decimals for amounts and rates, and the macro that defines them.

/// Defines a decimal number as an integer count of its smallest steps, `$scale` to the unit.
macro_rules! fixed_point {
    ($(#[$meta:meta])* $name:ident, $scale:literal, $wanted:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, utoipa::ToSchema)]
        #[schema(value_type = f64)]
        pub struct $name(i64);

        impl $name {
            const SCALE: i64 = $scale;
            /// The range in which a float represents every step exactly.
            const STEPS_MAX: i64 = 1 << 53;

            /// Rounds a float to the nearest step; `None` if it is not a number or out of range.
            pub fn from_f64(number: f64) -> Option<Self> {
                let steps = (number * Self::SCALE as f64).round();
                (steps.abs() <= Self::STEPS_MAX as f64).then_some(Self(steps as i64))
            }

            /// The nearest float.
            pub fn to_f64(self) -> f64 {
                self.0 as f64 / Self::SCALE as f64
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.to_f64(), f)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::plain_number::required(&self.to_f64(), serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = f64::deserialize(deserializer)?;
                Self::from_f64(number).ok_or_else(|| serde::de::Error::custom(concat!("must be ", $wanted)))
            }
        }
    };
}

fixed_point! {
    /// An amount in dollars, exact to the cent, written as a plain number: `308.77`, `300`.
    Money, 100, "an amount in dollars"
}

impl Money {
    /// An amount in whole dollars.
    pub const fn from_dollars(dollars: i32) -> Self {
        Self(dollars as i64 * Self::SCALE)
    }
}

fixed_point! {
    /// A rate in percent, exact to a thousandth, written as a plain number: `35.99`, `7`.
    Percent, 1_000, "a rate in percent"
}

impl Percent {
    /// The v1 value for an introductory rate that does not apply.
    pub const V1_NOT_APPLICABLE: Self = Self(-Self::SCALE);

    /// The rate in thousandths of a percent.
    pub const fn thousandths(self) -> i64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Money {
        const fn from_cents(cents: i64) -> Self {
            Self(cents)
        }
    }

    impl Percent {
        const fn from_thousandths(thousandths: i64) -> Self {
            Self(thousandths)
        }
    }

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

    #[test]
    fn rates_are_written_without_noise() {
        for (thousandths, written) in [(35_990, "35.99"), (7_000, "7"), (3_375, "3.375"), (-1_000, "-1")] {
            assert_eq!(serde_json::to_string(&Percent::from_thousandths(thousandths)).unwrap(), written);
        }
        assert_eq!(Percent::V1_NOT_APPLICABLE.to_string(), "-1");
    }

    proptest! {
        #[test]
        fn every_rate_round_trips(thousandths in -1_000_000_i64..1_000_000) {
            let rate = Percent::from_thousandths(thousandths);
            let json = serde_json::to_string(&rate).unwrap();
            prop_assert_eq!(serde_json::from_str::<Percent>(&json).unwrap(), rate);
        }
    }
}
