//! What is wrong with a file, where, and what is wanted instead.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One fault of a file or of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The file, or the name of the environment variable.
    pub file: Option<PathBuf>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The key path, such as `products.loan.offers[2].key`; empty for the file as a whole.
    pub key: String,
    /// What is wrong; follows the key in a sentence.
    pub message: String,
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
            write!(formatter, "`{}` ", self.key)?;
        }
        formatter.write_str(&self.message)
    }
}
