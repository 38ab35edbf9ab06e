//! Why a command failed, and its exit code.

use std::process::ExitCode;

use super::page;
use offerd_base::declaration::Fault;

/// Exit code for bad configuration (`EX_USAGE`); the systemd unit does not restart on it.
pub const BAD_CONFIGURATION: u8 = 64;

/// Why a command failed.
#[derive(Debug)]
pub enum CommandError {
    /// The settings or the partner files have faults.
    Faults(Vec<Fault>),
    /// Any other error, as a sentence.
    Other(String),
    /// A failure whose output was already printed.
    Told(ExitCode),
}

impl CommandError {
    /// A silent failure, unless the printed outcome is good.
    pub fn unless(good: bool) -> Result<(), Self> {
        if good { Ok(()) } else { Err(Self::Told(ExitCode::FAILURE)) }
    }

    /// Prints the error, unless it was already printed.
    pub fn end(self) -> ExitCode {
        match self {
            Self::Faults(faults) => {
                let count = faults.len();
                faults.iter().for_each(|fault| tell!("{fault}"));
                tell!("offerd: {} found; nothing was started or changed", page::counted(count, "fault"));
                ExitCode::from(BAD_CONFIGURATION)
            }
            Self::Other(message) => {
                tell!("offerd: {message}");
                ExitCode::FAILURE
            }
            Self::Told(code) => code,
        }
    }
}

impl From<String> for CommandError {
    fn from(message: String) -> Self {
        Self::Other(message)
    }
}

impl From<Vec<Fault>> for CommandError {
    fn from(faults: Vec<Fault>) -> Self {
        Self::Faults(faults)
    }
}

impl From<&str> for CommandError {
    fn from(message: &str) -> Self {
        Self::Other(message.to_owned())
    }
}
