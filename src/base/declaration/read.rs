//! Deserialises a table and reports every fault at once.
//!
//! serde stops at the first fault. So its value is replaced by a stand-in (the default, or else one of a few
//! harmless values), and the table is read again until nothing is refused. Missing keys get a stand-in too.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use super::fault::Fault;
use super::source::{Source, quoted};

/// Most passes over a table; later faults are not reported.
const MOST_READINGS: usize = 1000;

/// Most values that all passes visit; a large table has fewer passes.
const MOST_VISITS: usize = 20_000_000;

const STAND_INS: usize = 10;

/// Separates the faults of one value in a serde error.
pub(super) const BETWEEN: &str = "\u{1e}";

/// Tables whose refused values are never quoted: a misplaced value there may be a secret.
pub const SECRET_TABLES: [&str; 4] = ["secrets", "auth", "headers", "query"];

/// Least similarity of a suggested name, in thousandths.
const NEAR: u32 = 800;

const MISSING: &str = "is missing";

/// The result of reading a table; a fault is a key path and a message.
#[derive(Debug)]
pub struct TableReading<T, F = (String, String)> {
    /// The value, with stand-ins in place of faults; `None` if no stand-in is accepted.
    pub value: Option<T>,
    /// The faults to report.
    pub faults: Vec<F>,
    /// Further places with stand-ins, whose faults follow from the reported ones.
    pub implied: Vec<String>,
}

impl<T> TableReading<T> {
    /// Leaves out faults that follow from others: a misspelt key is not missing, and a stand-in is empty.
    fn of(value: Option<T>, faults: BTreeMap<String, String>, misspelt: &BTreeSet<String>) -> Self {
        let stands_in = |key: &str| {
            let beyond =
                |other: &String| key.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('.'));
            faults.keys().any(beyond)
        };
        let follows =
            |key: &String, message: &String| message == MISSING && (misspelt.contains(key) || stands_in(key));
        let (implied, told): (Vec<_>, Vec<_>) =
            faults.clone().into_iter().partition(|(key, message)| follows(key, message));
        let each = |(key, messages): (String, String)| -> Vec<(String, String)> {
            messages.split(BETWEEN).map(|message| (key.clone(), message.to_owned())).collect()
        };
        let told = told.into_iter().flat_map(each).collect();
        Self { value, faults: told, implied: implied.into_iter().map(|(key, _)| key).collect() }
    }
}

/// Reads a file as a `T`: a value, possibly with stand-ins, and every fault.
pub fn read<T: DeserializeOwned>(source: &Source) -> TableReading<T, Fault> {
    let TableReading { value, faults, implied } = read_table(source.table().clone(), &toml::Table::new());
    let faults = faults.into_iter().map(|(key, message)| source.fault(&key, message)).collect();
    TableReading { value, faults, implied }
}

/// Reads a table as a `T`. A refused value is replaced by that of `defaults`, if any.
pub fn read_table<T: DeserializeOwned>(table: toml::Table, defaults: &toml::Table) -> TableReading<T> {
    let mut table = toml::Value::Table(table);
    let mut faults: BTreeMap<String, String> = BTreeMap::new();
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    let mut misspelt: BTreeSet<String> = BTreeSet::new();
    for _ in 0..most_readings(&table) {
        let error = match serde_path_to_error::deserialize::<_, T>(table.clone()) {
            Ok(value) => return TableReading::of(Some(value), faults, &misspelt),
            Err(error) => error,
        };
        let mut place = steps(error.path());
        let refused = SerdeFault::of(error.inner().message(), word_at(&table, &place), is_kept(&place));
        // The path of an unknown key already ends with it.
        if let Some(key) =
            refused.key.map(PathStep::Key).filter(|key| refused.missing || place.last() != Some(key))
        {
            place.push(key);
        }
        let key = shown(&place);
        if let (Some(meant), [parents @ .., _]) = (&refused.meant, &place[..]) {
            misspelt.insert(shown(&[parents, &[PathStep::Key(meant.clone())]].concat()));
        }
        // A refused stand-in is not another fault.
        if !tried.contains_key(&key) {
            faults.insert(key.clone(), refused.message);
        }
        let attempt = tried.entry(key).or_default();
        let stand_in = match refused.unknown {
            true => None,
            false => stand_in(default_at(defaults, &place), refused.variant.as_deref(), *attempt),
        };
        *attempt += 1;
        if !put(&mut table, &place, stand_in) || *attempt > STAND_INS {
            break;
        }
    }
    TableReading::of(None, faults, &misspelt)
}

fn most_readings(table: &toml::Value) -> usize {
    (MOST_VISITS / values(table)).clamp(1, MOST_READINGS)
}

/// Number of values, with all within.
fn values(value: &toml::Value) -> usize {
    1 + match value {
        toml::Value::Table(table) => table.values().map(values).sum(),
        toml::Value::Array(elements) => elements.iter().map(values).sum(),
        _ => 0,
    }
}

/// Whether values at a place must not be quoted.
fn is_kept(place: &[PathStep]) -> bool {
    place.iter().any(|step| matches!(step, PathStep::Key(key) if SECRET_TABLES.contains(&key.as_str())))
}

/// The text at a place, or the key itself if it holds a table.
fn word_at(table: &toml::Value, place: &[PathStep]) -> Option<String> {
    let found = place.iter().try_fold(table, |value, step| match step {
        PathStep::Key(key) => value.get(key),
        PathStep::Position(nth) => value.get(nth),
    });
    match (found, place.last()) {
        (Some(toml::Value::String(text)), _) => Some(text.clone()),
        (Some(toml::Value::Table(_)), Some(PathStep::Key(key))) => Some(key.clone()),
        _ => None,
    }
}

/// The stand-in for a refused value at the nth attempt; `None` to remove the value instead.
fn stand_in(default: Option<&toml::Value>, variant: Option<&str>, attempt: usize) -> Option<toml::Value> {
    let harmless: [toml::Value; 8] = [
        "".into(),
        1.into(),
        0.5.into(),
        false.into(),
        "1s".into(),
        "00000000-0000-0000-0000-000000000000".into(),
        toml::Value::Array(Vec::new()),
        toml::Value::Table(toml::Table::new()),
    ];
    let preferred = default.cloned().or_else(|| variant.map(toml::Value::from));
    let mut candidates = preferred.into_iter().chain(harmless);
    candidates.nth(attempt)
}

fn default_at<'a>(defaults: &'a toml::Table, place: &[PathStep]) -> Option<&'a toml::Value> {
    let (first, rest) = place.split_first()?;
    let PathStep::Key(key) = first else { return None };
    let value = defaults.get(key)?;
    if rest.is_empty() { Some(value) } else { default_at(value.as_table()?, rest) }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Key(String),
    Position(usize),
}

fn steps(path: &Path) -> Vec<PathStep> {
    let step = |segment: &Segment| match segment {
        Segment::Map { key } => Some(PathStep::Key(key.clone())),
        Segment::Seq { index } => Some(PathStep::Position(*index)),
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

fn shown(place: &[PathStep]) -> String {
    let mut path = String::new();
    for step in place {
        match step {
            PathStep::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&quoted(key));
            }
            PathStep::Position(nth) => path.push_str(&format!("[{nth}]")),
        }
    }
    path
}

/// Sets or removes the value at a place; returns whether the place exists.
fn put(value: &mut toml::Value, place: &[PathStep], new: Option<toml::Value>) -> bool {
    let Some((last, parents)) = place.split_last() else { return false };
    let parent = parents.iter().try_fold(value, |value, step| match step {
        PathStep::Key(key) => value.get_mut(key),
        PathStep::Position(nth) => value.get_mut(nth),
    });
    match (parent, last, new) {
        (Some(toml::Value::Table(table)), PathStep::Key(key), Some(new)) => {
            drop(table.insert(key.clone(), new))
        }
        (Some(toml::Value::Table(table)), PathStep::Key(key), None) => drop(table.remove(key)),
        (Some(toml::Value::Array(array)), PathStep::Position(nth), Some(new)) if *nth < array.len() => {
            array[*nth] = new;
        }
        _ => return false,
    }
    true
}

#[derive(Default)]
struct SerdeFault {
    key: Option<String>,
    missing: bool,
    unknown: bool,
    /// The known key that an unknown one resembles.
    meant: Option<String>,
    /// A variant that would be accepted.
    variant: Option<String>,
    message: String,
}

impl SerdeFault {
    fn of(text: &str, word: Option<String>, kept: bool) -> Self {
        let text = text.trim();
        let ticked: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
        let (first, others) = (ticked.first().copied(), ticked.get(1..).unwrap_or_default());
        let told = |message: String| Self { message, ..Self::default() };
        if text.starts_with("unknown field") {
            let meant = nearest(first.unwrap_or_default(), others.iter().copied());
            let message = format!("is not a known key{}", did_you_mean(meant));
            let meant = meant.map(str::to_owned);
            return Self { key: first.map(str::to_owned), unknown: true, meant, ..told(message) };
        }
        if text.starts_with("missing field") {
            return Self { key: first.map(str::to_owned), missing: true, ..told(MISSING.to_owned()) };
        }
        if text.starts_with("unknown variant") {
            let found = first.unwrap_or_default();
            let got = match kept {
                true => String::new(),
                false => format!(", got `{found}`{}", did_you_mean(nearest(found, others.iter().copied()))),
            };
            let message = format!("must be one of {}{got}", others.join(", "));
            return Self { variant: others.first().map(|one| (*one).to_owned()), ..told(message) };
        }
        if text.starts_with("UUID parsing failed") {
            return told("must be a UUID".to_owned());
        }
        for opening in ["invalid type: ", "invalid value: ", "invalid length "] {
            if let Some((found, wanted)) =
                text.strip_prefix(opening).and_then(|rest| rest.rsplit_once(", expected "))
            {
                let counted = if opening == "invalid length " { "an array of " } else { "" };
                let got = if kept { String::new() } else { format!(", got {counted}{found}") };
                // An integer that is too large or too small.
                let bounds = bounds(wanted).filter(|_| found.starts_with("integer "));
                let range = bounds.map(|(least, greatest)| format!(" from {least} to {greatest}"));
                return told(format!("must be {}{}{got}", plain(wanted), range.unwrap_or_default()));
            }
        }
        if !text.starts_with("must be one of") {
            return told(text.to_owned());
        }
        // A closed set of the model: "must be one of `a`, `b`".
        let meant = word.filter(|_| !kept).and_then(|word| nearest(&word, ticked.iter().copied()));
        let message = format!("{text}{}", did_you_mean(meant));
        Self { variant: first.map(str::to_owned), ..told(message) }
    }
}

fn plain(wanted: &str) -> &str {
    match wanted {
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "usize" => "an integer",
        "f32" | "f64" => "a number",
        "a sequence" => "an array",
        "a map" => "a table",
        wanted if wanted.starts_with("struct ") => "a table",
        wanted => wanted,
    }
}

fn bounds(integer: &str) -> Option<(i128, i128)> {
    let (sign, bits) = integer.split_at_checked(1)?;
    let bits = bits.replace("size", "64").parse::<u32>().ok().filter(|bits| (1..=64).contains(bits))?;
    match sign {
        "i" => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        "u" => Some((0, (1 << bits) - 1)),
        _ => None,
    }
}

/// The most similar known name, if any is similar enough.
pub fn nearest<'k>(found: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let likeness = |name: &str| (strsim::jaro_winkler(found, name) * 1000.0) as u32;
    let nearest = known.into_iter().max_by_key(|name| likeness(name));
    nearest.filter(|name| likeness(name) > NEAR)
}

/// The suggestion appended to a fault.
pub fn did_you_mean(nearest: Option<&str>) -> String {
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
        read::<Shop>(&source).faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_file_has_no_faults() {
        let source = Source::parse(
            FilePath::new("shop.toml"),
            "name = 'corner'\nopens_after = '8h'\n[[shelves]]\nheight = 2\nkind = 'steel'\n",
        )
        .unwrap();
        let TableReading { value: shop, faults, .. } = read::<Shop>(&source);
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
                "shop.toml:9: `shelves[0].height` must be an integer from 0 to 4294967295, got integer `-1`",
                "shop.toml:11: `shelves[0].hieght` is not a known key; did you mean `height`?",
                "shop.toml:10: `shelves[0].kind` must be one of wood, steel, got `stele`; did you mean `steel`?",
            ]
        );
    }

    #[test]
    fn a_misspelt_key_is_not_missing_too() {
        assert_eq!(
            faults("nmae = 'corner'\n"),
            ["shop.toml:1: `nmae` is not a known key; did you mean `name`?"]
        );
    }

    #[test]
    fn what_may_be_a_secret_is_not_repeated() {
        #[derive(Debug, Deserialize)]
        struct Safe {
            #[allow(dead_code)]
            secrets: std::collections::BTreeMap<String, Shelf>,
            #[allow(dead_code)]
            auth: Kind,
            #[allow(dead_code)]
            headers: std::collections::BTreeMap<String, String>,
        }
        let text = "auth = 'hunter2'\n[secrets]\na = 'hunter2'\nb = { height = 'hunter2', kind = 'hunter2' }\n[headers]\nX-A = 40802\n";
        let source = Source::parse(FilePath::new("safe.toml"), text).unwrap();
        let faults: Vec<String> = read::<Safe>(&source).faults.iter().map(ToString::to_string).collect();
        assert_eq!(faults.len(), 5, "{faults:?}");
        assert!(
            faults.iter().all(|fault| !fault.contains("hunter2") && !fault.contains("40802")),
            "{faults:?}"
        );
    }

    #[test]
    fn a_missing_key_has_the_line_of_what_lacks_it_and_hides_no_other() {
        assert_eq!(
            faults("[[shelves]]\nkind = 'steel'\n[[shelves]]\nheight = 'low'\n[[shelves]]\n"),
            [
                "shop.toml: `name` is missing",
                "shop.toml:1: `shelves[0].height` is missing",
                "shop.toml:4: `shelves[1].height` must be an integer, got string \"low\"",
                "shop.toml:5: `shelves[2].height` is missing",
            ]
        );
    }

    #[test]
    fn a_large_table_is_read_less_often() {
        let readings = |count: usize| {
            let table = (0..count).map(|nth| (nth.to_string(), toml::Value::Array(vec![1.into()])));
            most_readings(&toml::Value::Table(table.collect()))
        };
        assert_eq!([0, 1_000, 100_000].map(readings), [1000, 1000, 99]);
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        let fault = Source::parse(FilePath::new("shop.toml"), "name = 'a'\n= 3\n").unwrap_err();
        assert_eq!((fault.line, fault.key.as_str()), (Some(2), ""));
        for number in ["9223372036854775808", "-9223372036854775809", &"9".repeat(60)] {
            let fault = Source::parse(FilePath::new("shop.toml"), &format!("name = 'a'\nb = {number}\n"));
            let wanted = "shop.toml:2: has an integer outside -9223372036854775808 to 9223372036854775807";
            assert_eq!(fault.unwrap_err().to_string(), wanted, "{number}");
        }
    }
}
