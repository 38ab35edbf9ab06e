//! A parsed TOML text with the line of every key.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::fault::Fault;

/// Words of the TOML reader for integers that are none of 64 bits; a test holds them.
const TOO_LARGE: [&str; 4] = ["integer number overflowed", "value was too large", "` as i128", "` as u128"];

/// A parsed file and the line of each key.
#[derive(Debug, Clone, Default)]
pub struct Source {
    file: PathBuf,
    table: toml::Table,
    lines: HashMap<String, usize>,
}

impl Source {
    /// Parses a text; `file` is named in faults.
    ///
    /// # Errors
    /// The syntax error, with its line.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Fault> {
        let syntax = |error: toml::de::Error| Fault {
            file: Some(file.to_owned()),
            line: error.span().map(|span| LineOffsets::of(text).at(&span)),
            key: String::new(),
            message: {
                let cause = error.message().replace('\n', "; ");
                let key = error.span().filter(|_| cause == "duplicate key").and_then(|span| text.get(span));
                match TOO_LARGE.iter().any(|words| cause.contains(words)) {
                    true => format!("has an integer outside {} to {}", i64::MIN, i64::MAX),
                    false => format!(
                        "is not TOML: {cause}{}",
                        key.map(|key| format!(" `{key}`")).unwrap_or_default()
                    ),
                }
            },
        };
        let spanned = DeTable::parse(text).map_err(syntax)?;
        let table = text.parse::<toml::Table>().map_err(syntax)?;
        let (begins, mut lines) = (LineOffsets::of(text), HashMap::new());
        index(&begins, "", spanned.get_ref(), &mut lines);
        Ok(Self { file: file.to_owned(), table, lines })
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The data.
    pub fn table(&self) -> &toml::Table {
        &self.table
    }

    /// The path of every key in the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.lines.keys().map(String::as_str)
    }

    /// Whether the file has a key.
    pub fn has(&self, key: &str) -> bool {
        self.lines.contains_key(key)
    }

    /// A fault at a key, with the line of the key or of its parent.
    pub fn fault(&self, key: &str, message: impl Into<String>) -> Fault {
        Fault { line: self.line_of(key), ..Fault::new(Some(self.file.clone()), key, message) }
    }

    /// The line of a key, or of its nearest existing parent.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        let mut place = key;
        loop {
            if let Some(line) = self.lines.get(place) {
                return Some(*line);
            }
            place = parent(place)?;
        }
    }
}

/// A key as it appears in a path: quoted if it has anything but letters, digits, `-` and `_`.
pub fn quoted(key: &str) -> String {
    let bare =
        !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    if bare { key.to_owned() } else { format!("\"{key}\"") }
}

/// The path without its last key or index.
pub fn parent(path: &str) -> Option<&str> {
    let mut in_quotes = false;
    let mut cut = None;
    for (at, letter) in path.char_indices() {
        match letter {
            '"' => in_quotes = !in_quotes,
            '.' | '[' if !in_quotes => cut = Some(at),
            _ => {}
        }
    }
    cut.map(|at| &path[..at])
}

fn index(begins: &LineOffsets, path: &str, table: &DeTable, lines: &mut HashMap<String, usize>) {
    for (key, value) in table {
        let name = quoted(key.get_ref());
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        lines.insert(path.clone(), begins.at(&key.span()));
        index_value(begins, &path, value.get_ref(), lines);
    }
}

fn index_value(begins: &LineOffsets, path: &str, value: &DeValue, lines: &mut HashMap<String, usize>) {
    match value {
        DeValue::Table(table) => index(begins, path, table, lines),
        DeValue::Array(array) => {
            for (nth, element) in array.iter().enumerate() {
                let path = format!("{path}[{nth}]");
                lines.insert(path.clone(), begins.at(&element.span()));
                index_value(begins, &path, element.get_ref(), lines);
            }
        }
        _ => {}
    }
}

/// The offset of each line. Indexed once: counting lines from the start for every key would be quadratic.
struct LineOffsets(Vec<usize>);

impl LineOffsets {
    fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// The line of a span, counted from 1.
    fn at(&self, span: &Range<usize>) -> usize {
        self.0.partition_point(|begins| *begins <= span.start)
    }
}
