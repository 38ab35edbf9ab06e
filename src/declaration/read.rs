//! From a table to a type, with every fault at once.
//!
//! serde stops at the first fault. So the fault is noted, the value at its place is taken out, and what is left is read
//! again, until nothing is refused any more. A key that is missing cannot be taken out: it is noted, and the table that
//! lacks it is left out instead, since it can tell nothing more.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use super::fault::Fault;
use super::source::{Source, quoted};

/// Faults after which no more are looked for.
const MOST_FAULTS: usize = 200;

/// Reads a file as a `T`; no `T` when there is any fault.
pub fn read<T: DeserializeOwned>(source: &Source) -> (Option<T>, Vec<Fault>) {
    let (value, found) = read_table(source.table().clone(), &toml::Table::new());
    (value, found.into_iter().map(|(key, message)| source.fault(&key, message)).collect())
}

/// Reads a table as a `T`, faults as (key path, message). A refused value gives way to that of `defaults`, if any.
pub fn read_table<T: DeserializeOwned>(
    table: toml::Table,
    defaults: &toml::Table,
) -> (Option<T>, Vec<(String, String)>) {
    let mut table = toml::Value::Table(table);
    let mut faults: Vec<(String, String)> = Vec::new();
    let mut taken_out = Vec::new();
    while taken_out.len() < MOST_FAULTS {
        let error = match serde_path_to_error::deserialize::<_, T>(table.clone()) {
            Ok(value) => return (faults.is_empty().then_some(value), faults),
            Err(error) => error,
        };
        let mut place = steps(error.path());
        let refused = Refused::of(error.inner().message());
        // The path of an unknown key ends with it already.
        if let Some(key) =
            refused.key.map(Step::Key).filter(|key| refused.missing || place.last() != Some(key))
        {
            place.push(key);
        }
        let key = shown(&place);
        // What is missing because it was taken out has been told.
        if !(refused.missing && taken_out.contains(&key)) {
            faults.push((key.clone(), refused.message));
        }
        if refused.missing {
            place.pop();
        }
        taken_out.push(shown(&place));
        if !give_way(&mut table, &place, Some(defaults)) {
            break;
        }
    }
    faults.sort();
    faults.dedup();
    (None, faults)
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Position(usize),
}

fn steps(path: &Path) -> Vec<Step> {
    let step = |segment: &Segment| match segment {
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Seq { index } => Some(Step::Position(*index)),
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

fn shown(place: &[Step]) -> String {
    let mut path = String::new();
    for step in place {
        match step {
            Step::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&quoted(key));
            }
            Step::Position(nth) => path.push_str(&format!("[{nth}]")),
        }
    }
    path
}

/// Puts the default in the place of a refused value, or takes it out, so that the rest can be read; tells whether
/// anything was there.
fn give_way(value: &mut toml::Value, place: &[Step], defaults: Option<&toml::Table>) -> bool {
    match (place, value) {
        ([Step::Key(key)], toml::Value::Table(table)) => {
            match defaults.and_then(|defaults| defaults.get(key)) {
                Some(default) => {
                    table.insert(key.clone(), default.clone()).is_some_and(|refused| refused != *default)
                }
                None => table.remove(key).is_some(),
            }
        }
        ([Step::Position(nth)], toml::Value::Array(array)) => {
            // The places of the others must stay theirs, so a broken element goes with all after it.
            let there = *nth < array.len();
            array.truncate(*nth);
            there
        }
        ([Step::Key(key), rest @ ..], toml::Value::Table(table)) => {
            let defaults = defaults.and_then(|defaults| defaults.get(key)).and_then(toml::Value::as_table);
            table.get_mut(key).is_some_and(|value| give_way(value, rest, defaults))
        }
        ([Step::Position(nth), rest @ ..], toml::Value::Array(array)) => {
            array.get_mut(*nth).is_some_and(|value| give_way(value, rest, None))
        }
        _ => false,
    }
}

/// serde's words for a refusal, in ours.
struct Refused {
    /// The key that it is about, when that is one below the place.
    key: Option<String>,
    missing: bool,
    message: String,
}

impl Refused {
    fn of(text: &str) -> Self {
        let text = text.trim();
        let ticked: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
        let own = |message: String| Self { key: None, missing: false, message };
        if text.starts_with("unknown field") {
            let (key, known) =
                (ticked.first().copied().unwrap_or_default(), ticked.get(1..).unwrap_or_default());
            let message = format!("is not a known key{}", hint(key, known));
            return Self { key: Some(key.to_owned()), missing: false, message };
        }
        if text.starts_with("missing field") {
            let key = ticked.first().map(|key| (*key).to_owned());
            return Self { key, missing: true, message: "is missing".to_owned() };
        }
        if text.starts_with("unknown variant") {
            let (found, known) =
                (ticked.first().copied().unwrap_or_default(), ticked.get(1..).unwrap_or_default());
            return own(format!("must be one of {}, got `{found}`{}", known.join(", "), hint(found, known)));
        }
        for opening in ["invalid type: ", "invalid value: ", "invalid length "] {
            if let Some((found, wanted)) =
                text.strip_prefix(opening).and_then(|rest| rest.rsplit_once(", expected "))
            {
                return own(format!("must be {wanted}, got {found}"));
            }
        }
        own(text.to_owned())
    }
}

/// The known name that is nearest, if any is near.
fn hint(found: &str, known: &[&str]) -> String {
    let nearness = |name: &&&str| (strsim::jaro_winkler(found, name) * 1000.0) as u32;
    let nearest = known.iter().max_by_key(nearness).filter(|name| nearness(name) > 800);
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use std::path::Path as FilePath;

    use serde::Deserialize;

    use super::*;
    use crate::declaration::HumanDuration;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shop {
        name: String,
        #[serde(default)]
        opens_after: Option<HumanDuration>,
        #[serde(default)]
        shelves: Vec<Shelf>,
        #[serde(default)]
        labels: std::collections::BTreeMap<String, bool>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shelf {
        height: u32,
        #[serde(default)]
        kind: Kind,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        #[default]
        Wood,
        Steel,
    }

    fn faults(text: &str) -> Vec<String> {
        let source = Source::parse(FilePath::new("shop.toml"), text).unwrap();
        read::<Shop>(&source).1.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_file_has_no_faults() {
        let source = Source::parse(
            FilePath::new("shop.toml"),
            "name = 'corner'\nopens_after = '8h'\n[[shelves]]\nheight = 2\nkind = 'steel'\n",
        )
        .unwrap();
        let (shop, faults) = read::<Shop>(&source);
        assert!(faults.is_empty());
        let shop = shop.unwrap();
        assert_eq!((shop.name.as_str(), shop.opens_after.unwrap().0.as_secs()), ("corner", 8 * 3600));
        assert!(shop.shelves.iter().all(|shelf| shelf.height > 0 && matches!(shelf.kind, Kind::Steel)));
        assert!(shop.labels.is_empty());
    }

    #[test]
    fn every_fault_is_told_at_once_with_its_line() {
        let text = "name = 7\nopens_after = 5\nopen = true\n\n[labels]\n\"a.b\" = 'yes'\n\n[[shelves]]\nheight = -1\nkind = 'stele'\nhieght = 3\n";
        assert_eq!(
            faults(text),
            [
                "shop.toml:6: `labels.\"a.b\"` must be a boolean, got string \"yes\"",
                "shop.toml:1: `name` must be a string, got integer `7`",
                "shop.toml:3: `open` is not a known key; did you mean `opens_after`?",
                "shop.toml:2: `opens_after` must have a unit, such as `5s` or `5ms`, got `5`",
                "shop.toml:9: `shelves[0].height` must be u32, got integer `-1`",
                "shop.toml:11: `shelves[0].hieght` is not a known key; did you mean `height`?",
                "shop.toml:10: `shelves[0].kind` must be one of wood, steel, got `stele`; did you mean `steel`?",
            ]
        );
    }

    #[test]
    fn a_missing_key_has_the_line_of_what_lacks_it() {
        assert_eq!(
            faults("[[shelves]]\nkind = 'steel'\n"),
            ["shop.toml: `name` is missing", "shop.toml:1: `shelves[0].height` is missing"]
        );
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        let fault = Source::parse(FilePath::new("shop.toml"), "name = 'a'\n= 3\n").unwrap_err();
        assert_eq!((fault.line, fault.key.as_str()), (Some(2), ""));
    }
}
