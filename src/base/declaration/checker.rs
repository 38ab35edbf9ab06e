//! Collects the faults of a file, place by place.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::fault::Fault;
use super::read::{TableReading, read};
use super::source::{Source, quoted};

const NAME_CHARS: usize = 200;

const TEXT_CHARS: usize = 10_000;

/// Collects the faults of one file; keeps track of the current place.
#[derive(Debug)]
pub struct Checker<'s> {
    /// The file.
    pub source: &'s Source,
    path: Vec<String>,
    faults: Vec<Fault>,
    remarks: Vec<Fault>,
}

impl<'s> Checker<'s> {
    /// A checker without faults.
    pub fn new(source: &'s Source) -> Self {
        Self { source, path: Vec::new(), faults: Vec::new(), remarks: Vec::new() }
    }

    /// Deserialises a file whose name is the key of its declaration, and begins to check it.
    ///
    /// # Errors
    /// If the file cannot be deserialised. Checks of stand-ins would only report consequences.
    pub fn begin<T: DeserializeOwned>(name: &str, source: &'s Source) -> Result<(T, Self), Vec<Fault>> {
        let TableReading { value, faults, .. } = read(source);
        let Some(declared) = value.filter(|_| faults.is_empty()) else { return Err(faults) };
        let mut check = Self::new(source);
        if !is_key(name) {
            check.at("", format!("must be named by {KEY_CHARS}, and end in `.toml`"));
        }
        Ok((declared, check))
    }

    /// Returns the result, unless there are faults.
    ///
    /// # Errors
    /// Every fault.
    pub fn end<T>(self, value: T) -> Result<T, Vec<Fault>> {
        if self.faults.is_empty() { Ok(value) } else { Err(self.faults) }
    }

    /// Checks below `key`.
    pub fn within<T>(&mut self, key: &str, what: impl FnOnce(&mut Self) -> T) -> T {
        self.enter(key);
        let result = what(self);
        self.leave();
        result
    }

    /// Moves to `key`, until [`Self::leave`].
    pub fn enter(&mut self, key: &str) {
        self.path.push(key.to_owned());
    }

    /// Moves back to the parent.
    pub fn leave(&mut self) {
        self.path.pop();
    }

    /// Notes a fault at `key`, or at the current place if `key` is empty.
    pub fn at(&mut self, key: &str, message: impl Into<String>) {
        let fault = self.source.fault(&self.path_of(key), message.into());
        self.faults.push(fault);
    }

    /// Notes a remark at `key`: not a fault, but possibly unintended.
    pub fn remark(&mut self, key: &str, message: impl Into<String>) {
        let remark = self.source.fault(&self.path_of(key), message.into());
        self.remarks.push(remark);
    }

    /// The line of `key`, or of its nearest existing parent.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        self.source.line_of(&self.path_of(key))
    }

    /// The file name without its directory.
    pub fn file_name(&self) -> String {
        self.source.file().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The table at the current place, as written.
    pub fn table(&self) -> Option<&toml::Table> {
        let mut steps = self.path.iter().flat_map(|key| key.split('.'));
        let found = steps.try_fold(None, |within: Option<&toml::Value>, step| {
            let (key, nth) =
                step.split_once('[').map_or((step, None), |(key, nth)| (key, nth.strip_suffix(']')));
            let table = within.map_or(Some(self.source.table()), toml::Value::as_table)?;
            let value = table.get(key)?;
            Some(Some(nth.map_or(Some(value), |nth| value.get(nth.parse::<usize>().ok()?))?))
        });
        found.flatten()?.as_table()
    }

    /// The number of faults so far.
    pub fn count(&self) -> usize {
        self.faults.len()
    }

    /// Takes the remarks.
    pub fn remarks(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.remarks)
    }

    /// The faults.
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults
    }

    /// Requires a name that is valid in file names, metrics and paths.
    pub fn key(&mut self, key: &str, name: &str) {
        if !is_key(name) {
            self.at(key, format!("must be {KEY_CHARS}, got `{name}`"));
        }
    }

    /// Requires a key.
    pub fn given(&mut self, key: &str, given: bool) {
        if !given {
            self.at(key, "is missing");
        }
    }

    /// Requires a list that is not empty.
    pub fn filled(&mut self, key: &str, is_filled: bool) {
        let is_written = self.table().is_some_and(|table| table.contains_key(key));
        match is_written && !is_filled {
            true => self.at(key, "must not be empty"),
            false => self.given(key, is_filled),
        }
    }

    /// Requires every text in a value to be displayable. A name must not be empty.
    pub fn shown_texts(&mut self, key: &str, value: &toml::Value) {
        match value {
            toml::Value::String(text) => {
                let is_name = key.rsplit('.').next() == Some("name");
                let (most, length) = (if is_name { NAME_CHARS } else { TEXT_CHARS }, text.chars().count());
                if is_name && text.trim().is_empty() {
                    self.at(key, "must not be empty");
                }
                if length > most {
                    self.at(key, format!("must have {most} characters at most, got {length}"));
                }
                if text.contains(|letter: char| letter.is_control() && !matches!(letter, '\n' | '\r')) {
                    self.at(key, "must have no control characters other than line breaks");
                }
            }
            toml::Value::Array(elements) => {
                for (nth, element) in elements.iter().enumerate() {
                    self.shown_texts(&format!("{key}[{nth}]"), element);
                }
            }
            toml::Value::Table(table) => {
                for (name, within) in table {
                    self.shown_texts(&format!("{key}.{}", quoted(name)), within);
                }
            }
            _ => {}
        }
    }

    /// Requires a number within bounds, inclusive.
    pub fn between(&mut self, key: &str, figure: Option<f64>, min: f64, max: f64) {
        if let Some(figure) = figure.filter(|figure| !(min..=max).contains(figure)) {
            self.at(key, super::outside(min, max, figure));
        }
    }

    /// Requires every client tag under `tags` to have a value.
    pub fn tags(&mut self, tags: &BTreeMap<String, Vec<String>>) {
        for (tag, _) in tags.iter().filter(|(_, values)| values.is_empty()) {
            self.at(&format!("tags.{}", quoted(tag)), "must have at least one value");
        }
    }

    fn path_of(&self, key: &str) -> String {
        let mut path = self.path.join(".");
        if !path.is_empty() && !key.is_empty() {
            path.push('.');
        }
        path.push_str(key);
        path
    }
}

/// The characters of a [key](is_key).
pub const KEY_CHARS: &str = "lower-case letters, digits, `-` and `_`, a letter first";

/// Whether a name is valid in file names, metrics and paths.
pub fn is_key(name: &str) -> bool {
    let is_of_key =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(is_of_key)
}
