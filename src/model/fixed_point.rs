//! The one macro behind exact decimals.

/// Defines a decimal number that counts its smallest steps, `$scale` to the whole.
macro_rules! fixed_point {
    ($(#[$meta:meta])* $name:ident, $scale:literal, $wanted:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, utoipa::ToSchema)]
        #[schema(value_type = f64)]
        pub struct $name(i64);

        impl $name {
            const SCALE: i64 = $scale;
            /// So much fits a float exactly, step by step.
            const STEPS_MAX: i64 = 1 << 53;

            /// Reads a float, rounded to the nearest step; `None` when it is not a number or far too large.
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
                $crate::model::plain_number::required(&self.to_f64(), serializer)
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

pub(crate) use fixed_point;
