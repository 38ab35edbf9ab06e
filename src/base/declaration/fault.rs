//! Faults of files and environment variables.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};

/// One fault of a file or an environment variable, with its place and what is expected instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The file, or the name of the environment variable.
    #[serde(serialize_with = "in_text")]
    pub file: Option<PathBuf>,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// The key path, such as `products.loan.offers[2].key`; empty for the file as a whole.
    pub key: String,
    /// The message, which follows the key in a sentence.
    pub message: String,
}

impl Fault {
    /// A fault without a line.
    pub fn new(file: Option<PathBuf>, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file, line: None, key: key.into(), message: message.into() }
    }
}

fn in_text<S: Serializer>(file: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    file.as_ref().map(|file| file.to_string_lossy()).serialize(serializer)
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(formatter, "{}", file.display())?;
            if let Some(line) = self.line {
                write!(formatter, ":{line}")?;
            }
            formatter.write_str(": ")?;
        }
        if !self.key.is_empty() {
            write!(formatter, "`{}` ", SingleLine(&self.key))?;
        }
        SingleLine(&self.message).fmt(formatter)
    }
}

struct SingleLine<'t>(&'t str);

impl fmt::Display for SingleLine<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in self.0.split_inclusive(breaks) {
            let whole = piece.trim_end_matches(breaks);
            write!(formatter, "{whole}{}", piece[whole.len()..].escape_default())?;
        }
        Ok(())
    }
}

fn breaks(letter: char) -> bool {
    letter.is_control() || ['\u{2028}', '\u{2029}'].contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_one_line_whatever_it_quotes() {
        let fault = Fault {
            file: Some(PathBuf::from("offerd.toml")),
            line: Some(3),
            key: "reports.\"a\nb\"".to_owned(),
            message: "must be names, got `x\nerror: all is well\u{1b}[2J\u{2028}ü`".to_owned(),
        };
        let told = fault.to_string();
        assert_eq!(
            told,
            "offerd.toml:3: `reports.\"a\\nb\"` must be names, got `x\\nerror: all is well\\u{1b}[2J\\u{2028}ü`"
        );
    }
}
