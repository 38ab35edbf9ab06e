//! `offerd serve`

use std::path::Path;
use std::process::ExitCode;

use super::trouble::Trouble;
use crate::daemon;

/// Runs the daemon to its end. Nothing is bound or opened before settings and partner files are known to be good.
pub fn run(config: Option<&Path>) -> ExitCode {
    match super::settings_and_book(config) {
        Ok((settings, book)) => match daemon::master_key_fault(&settings) {
            None => daemon::run(config.map(Path::to_owned), settings, book),
            Some(fault) => Trouble::Faults(vec![fault]).end(),
        },
        Err(trouble) => trouble.end(),
    }
}
