//! Collecting what is wrong with a file, place by place.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::fault::Fault;
use super::read::{Reading, read};
use super::source::{Source, quoted};

/// Longest name that is shown.
const NAME_CHARS: usize = 200;

/// Longest other text.
const TEXT_CHARS: usize = 10_000;

/// Collects the faults of one file; knows the place that is being checked.
#[derive(Debug)]
pub struct Checker<'s> {
    /// The file.
    pub source: &'s Source,
    path: Vec<String>,
    faults: Vec<Fault>,
    remarks: Vec<Fault>,
}

impl<'s> Checker<'s> {
    /// Begins with a file that has no faults yet.
    pub fn new(source: &'s Source) -> Self {
        Self { source, path: Vec::new(), faults: Vec::new(), remarks: Vec::new() }
    }

    /// Begins with what a file declares whose own name is that of the declaration.
    ///
    /// # Errors
    /// What cannot be read. Where a key stands in for another, what else is found may only follow from that.
    pub fn begin<T: DeserializeOwned>(name: &str, source: &'s Source) -> Result<(T, Self), Vec<Fault>> {
        let Reading { value, faults, .. } = read(source);
        let Some(declared) = value.filter(|_| faults.is_empty()) else { return Err(faults) };
        let mut check = Self::new(source);
        if !is_key(name) {
            check.at("", "must be named by lower-case letters, digits, `-` and `_`, and end in `.toml`");
        }
        Ok((declared, check))
    }

    /// Ends with what was made of the file.
    ///
    /// # Errors
    /// Every fault.
    pub fn end<T>(self, value: T) -> Result<T, Vec<Fault>> {
        if self.faults.is_empty() { Ok(value) } else { Err(self.faults) }
    }

    /// Checks something that stands under `key`.
    pub fn within<T>(&mut self, key: &str, what: impl FnOnce(&mut Self) -> T) -> T {
        self.enter(key);
        let result = what(self);
        self.leave();
        result
    }

    /// Looks at what stands at `key`, until [`Self::leave`].
    pub fn enter(&mut self, key: &str) {
        self.path.push(key.to_owned());
    }

    /// Looks at what is around it again.
    pub fn leave(&mut self) {
        self.path.pop();
    }

    /// Notes a fault at `key`; without one, at the place that is being checked.
    pub fn at(&mut self, key: &str, message: impl Into<String>) {
        let fault = self.source.fault(&self.path_of(key), message.into());
        self.faults.push(fault);
    }

    /// Notes at `key` what is no fault, and may not be what was meant.
    pub fn remark(&mut self, key: &str, message: impl Into<String>) {
        let remark = self.source.fault(&self.path_of(key), message.into());
        self.remarks.push(remark);
    }

    /// The line of `key`, or of the nearest thing that it would stand in.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        self.source.line_of(&self.path_of(key))
    }

    /// The file's name, without the way to it.
    pub fn file_name(&self) -> String {
        self.source.file().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The table at the place that is being checked, as it is written.
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

    /// How many faults there are so far.
    pub fn count(&self) -> usize {
        self.faults.len()
    }

    /// What was found that is no fault, and may not be what was meant.
    pub fn remarks(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.remarks)
    }

    /// The faults that were found.
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults
    }

    /// Wants a name that can stand in a file name, a metric and a path.
    pub fn key(&mut self, key: &str, name: &str) {
        if !is_key(name) {
            self.at(key, format!("must be lower-case letters, digits, `-` and `_`, got `{name}`"));
        }
    }

    /// Wants something to be given.
    pub fn given(&mut self, key: &str, given: bool) {
        if !given {
            self.at(key, "is missing");
        }
    }

    /// Wants a list to be given, with something in it.
    pub fn filled(&mut self, key: &str, is_filled: bool) {
        let is_written = self.table().is_some_and(|table| table.contains_key(key));
        match is_written && !is_filled {
            true => self.at(key, "must not be empty"),
            false => self.given(key, is_filled),
        }
    }

    /// Wants each text in a value to be no longer than a text that is shown, and without control characters but line breaks; a name must
    /// not be empty.
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

    /// Wants a figure within bounds, both included.
    pub fn between(&mut self, key: &str, figure: Option<f64>, min: f64, max: f64) {
        if let Some(figure) = figure.filter(|figure| !(min..=max).contains(figure)) {
            self.at(key, super::outside(min, max, figure));
        }
    }

    /// Wants each client tag under `tags` to have a value.
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

/// Whether a name can stand in a file name, a metric and a path.
pub fn is_key(name: &str) -> bool {
    let is_of_key =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(is_of_key)
}
