//! The shape of `<name>.toml` in `experiments.path`, as an operator writes it. The file's name is that of the rule.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use offerd_base::declaration::{HumanDuration, Refusal, if_any};
use offerd_base::table;

table! {
    /// A whole file.
    #[derive(Debug)]
    pub(super) struct Declared {
        /// From when on leads are drawn; always when absent.
        starts: Option<DateTime<Utc>> = if_any(moment) => optional,
        /// Until when they are, and until when tables are made by it; without end when absent.
        ends: Option<DateTime<Utc>> = if_any(moment) => optional,
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
fn moment(value: toml::Value) -> Result<DateTime<Utc>, Refusal> {
    let text = match value {
        toml::Value::String(text) => text,
        toml::Value::Datetime(moment) => moment.to_string(),
        other => other.type_str().to_owned(),
    };
    let moment = DateTime::parse_from_rfc3339(&text).map(|moment| moment.to_utc());
    let wanted = "must be a moment with its offset, such as `2026-03-01T00:00:00Z`";
    moment.map_err(|_| vec![format!("{wanted}, got `{text}`")])
}
