//! `offerd serve`

use std::path::Path;
use std::process::ExitCode;

use super::trouble::Trouble;
use crate::daemon;

/// Runs the daemon to its end. Nothing is bound or opened before settings and partner files are known to be good.
pub fn run(config: Option<&Path>) -> ExitCode {
    match daemon::load(config) {
        Ok(loaded) => match daemon::master_key_fault(&loaded.settings) {
            None => daemon::run(config.map(Path::to_owned), loaded),
            Some(fault) => Trouble::Faults(vec![fault]).end(),
        },
        Err(faults) => Trouble::Faults(faults).end(),
    }
}
