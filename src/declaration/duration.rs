//! Durations as people write them.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// A duration with its unit: `15s`, `50ms`, `2m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HumanDuration(pub Duration);

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
        humantime::parse_duration(&text).map(Self).map_err(|_| {
            de::Error::custom(format!("must be a duration such as `15s` or `50ms`, got `{text}`"))
        })
    }
}
