//! Durations with units.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// A duration with its unit: `15s`, `50ms`, `2m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HumanDuration(pub Duration);

/// In the largest unit that divides it, as in settings; below a millisecond as it is.
impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u128, &str); 5] =
            [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
        let is_whole = |unit: u128| self.0.as_nanos().is_multiple_of(unit * 1_000_000);
        match UNITS.into_iter().find(|(unit, _)| is_whole(*unit)) {
            _ if self.0.is_zero() => f.write_str("0s"),
            Some((unit, name)) => write!(f, "{}{name}", self.0.as_millis() / unit),
            None => write!(f, "{:?}", self.0),
        }
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => {
                return Err(de::Error::custom(format!(
                    "must have a unit, such as `{number}s` or `{number}ms`, got `{number}`"
                )));
            }
            other => {
                return Err(de::Error::custom(format!(
                    "must be a duration such as `15s`, got {}",
                    other.type_str()
                )));
            }
        };
        humantime::parse_duration(&text).map(Self).map_err(|error| {
            let wanted = match error {
                humantime::DurationError::NumberOverflow => "must not be so long a duration",
                _ if text.trim_start().starts_with('-') => "must not be negative",
                _ => "must be a duration such as `15s` or `50ms`",
            };
            de::Error::custom(format!("{wanted}, got `{text}`"))
        })
    }
}
