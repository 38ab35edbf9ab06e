//! The format of `<name>.toml` in `experiments.path`; the file's name is the rule's.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use offerd_base::declaration::{HumanDuration, ValueFaults, if_any};
use offerd_base::table;

table! {
    #[derive(Debug)]
    pub(super) struct Declared {
        /// When drawing starts; always by default.
        starts: Option<DateTime<Utc>> = if_any(moment) => optional,
        /// When drawing ends, and with it the rule's effect on new tables; never by default.
        ends: Option<DateTime<Utc>> = if_any(moment) => optional,
        /// Names of the companies whose leads are drawn; all by default.
        companies: Option<Vec<String>>,
        /// Client tags that the lead must have, each with one of these values.
        tags: BTreeMap<String, Vec<String>> => optional,
        /// The variants. Leads that draw none are the control.
        variants: Vec<DeclaredVariant>,
    }

    /// One variant.
    #[derive(Debug)]
    pub(super) struct DeclaredVariant {
        name: String,
        /// Share of leads, in percent.
        percent: f64,
        /// Time limit of its rate tables, instead of `matching.deadline`.
        deadline: Option<HumanDuration>,
        /// A ranking from the settings, instead of the company's.
        ranking: Option<String>,
        /// The only partners to ask, by key.
        partners: Option<Vec<String>>,
        /// Partners not to ask, by key.
        without_partners: Option<Vec<String>>,
        /// `false` leaves out second-look partners.
        second_look: Option<bool>,
    }
}

/// An RFC 3339 time, as a string or a TOML datetime.
fn moment(value: toml::Value) -> Result<DateTime<Utc>, ValueFaults> {
    let text = match value {
        toml::Value::String(text) => text,
        toml::Value::Datetime(moment) => moment.to_string(),
        other => other.type_str().to_owned(),
    };
    let moment = DateTime::parse_from_rfc3339(&text).map(|moment| moment.to_utc());
    let wanted = "must be a moment with its offset, such as `2026-03-01T00:00:00Z`";
    moment.map_err(|_| vec![format!("{wanted}, got `{text}`")])
}
