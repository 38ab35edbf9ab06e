//! Rates.

use super::fixed_point::fixed_point;

fixed_point! {
    /// A rate in percent, kept in thousandths and written as a plain number: `35.99`, `7`.
    Percent, 1_000, "a rate in percent"
}

impl Percent {
    /// How v1 says that an introductory rate does not apply.
    pub const V1_NOT_APPLICABLE: Self = Self(-Self::SCALE);

    /// A rate of so many thousandths of a percent.
    pub const fn from_thousandths(thousandths: i64) -> Self {
        Self(thousandths)
    }

    /// The rate in thousandths of a percent.
    pub const fn thousandths(self) -> i64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
