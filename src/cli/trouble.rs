//! Why a command did not do what it was given, and how it ends then.

use std::process::ExitCode;

use crate::declaration::Fault;

/// Why a command did not do what it was given.
#[derive(Debug)]
pub enum Trouble {
    /// The settings or the partner files have faults.
    Faults(Vec<Fault>),
    /// Anything else, in a sentence.
    Other(String),
    /// What standard output has told already.
    Told(ExitCode),
}

impl Trouble {
    /// Tells it, where it has not been told.
    pub fn end(self) -> ExitCode {
        match self {
            Self::Faults(faults) => super::tell(&faults),
            Self::Other(message) => super::fail(message),
            Self::Told(code) => code,
        }
    }
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Self::Other(message)
    }
}
