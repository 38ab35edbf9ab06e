//! What values of settings are read and checked with, whatever section they are in.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::web_address;
use crate::declaration::HumanDuration;

/// Faults as (key, message).
pub(super) type Found = Vec<(String, String)>;

pub(super) const MILLISECOND: Duration = Duration::from_millis(1);
pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);
pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const CENTURY: Duration = Duration::from_secs(100 * 31_557_600);

/// A list of names, or one text with commas between them, as an environment variable has it; an empty one names none.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "must be a string or a list of strings")]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Vec<String> {
    fn from(names: OneOrMany) -> Self {
        match names {
            OneOrMany::One(names) => {
                let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                names.map(str::to_owned).collect()
            }
            OneOrMany::Many(names) => names,
        }
    }
}

/// The first wait of a section and its longest, which is no shorter. Where just the first one is set, that is what is at fault.
pub(super) fn backoffs(
    section: &str,
    [first, longest]: [HumanDuration; 2],
    is_default: &dyn Fn(&str) -> bool,
    found: &mut Found,
) -> [Duration; 2] {
    let [first_key, longest_key] = ["first_backoff", "longest_backoff"].map(|key| format!("{section}.{key}"));
    let first = duration(&first_key, first, MILLISECOND, HOUR, found);
    let longest = duration(&longest_key, longest, MILLISECOND, DAY, found);
    if longest < first && is_default(&longest_key) {
        fault(&first_key, format!("must be at most `{longest_key}` ({longest:?}), got {first:?}"), found);
    } else if longest < first {
        fault(&longest_key, format!("must be at least `{first_key}` ({first:?}), got {longest:?}"), found);
    }
    [first, longest]
}

/// A URL that others are put behind; `None` for an empty text.
pub(super) fn url(key: &str, text: String, found: &mut Found) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    for wanted in web_address::faults(&text) {
        fault(key, format!("{wanted}, got `{}`", web_address::shown(&text)), found);
    }
    Some(text)
}

pub(super) fn fault(key: &str, message: String, found: &mut Found) {
    found.push((key.to_owned(), message));
}

pub(super) fn path(key: &str, text: &str, found: &mut Found) -> PathBuf {
    if text.is_empty() {
        fault(key, "must not be empty".to_owned(), found);
    }
    PathBuf::from(text)
}

pub(super) fn count(key: &str, number: i64, least: i64, greatest: i64, found: &mut Found) -> usize {
    if !(least..=greatest).contains(&number) {
        fault(key, format!("must be from {least} to {greatest}, got {number}"), found);
    }
    usize::try_from(number.clamp(least, greatest)).unwrap_or(usize::MAX)
}

pub(super) fn duration(
    key: &str,
    value: HumanDuration,
    least: Duration,
    greatest: Duration,
    found: &mut Found,
) -> Duration {
    let value = Duration::from(value);
    if !(least..=greatest).contains(&value) {
        fault(key, format!("must be from {least:?} to {greatest:?}, got {value:?}"), found);
    }
    value
}
