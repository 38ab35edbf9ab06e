//! The shape of `<name>.toml` in `experiments.path`, as an operator writes it. The file's name is that of the rule.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, de};

use crate::declaration::{HumanDuration, table};

table! {
    /// A whole file.
    #[derive(Debug)]
    pub(super) struct Declared {
        /// From when on leads are drawn; always when absent.
        starts: Option<Moment>,
        /// Until when they are, and until when tables are made by it; without end when absent.
        ends: Option<Moment>,
        /// Names of the companies whose leads are drawn; all when absent.
        companies: Option<Vec<String>>,
        /// Client tags that the lead must have, each with one of these values.
        tags: BTreeMap<String, Vec<String>> => optional,
        /// What is tried. The leads that none of them gets are the control.
        variants: Vec<DeclaredVariant>,
    }

    /// One variant.
    #[derive(Debug)]
    pub(super) struct DeclaredVariant {
        /// Its name.
        name: String,
        /// Of a hundred leads, how many get it.
        percent: f64,
        /// How long its rate tables may take, instead of `matching.deadline`.
        deadline: Option<HumanDuration>,
        /// A ranking of the settings, instead of the company's.
        ranking: Option<String>,
        /// Keys of the only partners that are asked.
        partners: Option<Vec<String>>,
        /// Keys of partners that are not asked.
        without_partners: Option<Vec<String>>,
        /// `false` leaves out the partners with second look.
        second_look: Option<bool>,
    }
}

/// A moment, as RFC 3339 has it, as a text or as TOML's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment(pub DateTime<Utc>);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => text,
            toml::Value::Datetime(moment) => moment.to_string(),
            other => other.type_str().to_owned(),
        };
        let wanted =
            |_| format!("must be a moment with its offset, such as `2026-03-01T00:00:00Z`, got `{text}`");
        let moment = DateTime::parse_from_rfc3339(&text).map_err(wanted).map_err(de::Error::custom)?;
        Ok(Self(moment.to_utc()))
    }
}
