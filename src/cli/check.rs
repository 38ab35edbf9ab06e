//! `offerd check`

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::page;
use crate::daemon;

/// `check`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd check
  offerd --config /etc/offerd/offerd.toml check && offerd reload
  offerd check --json | jq -r '.faults[].file'

Exit code 0: nothing is wrong. 64: something is; all of it is told, with file, line and key. Nothing is started or changed.")]
pub struct Arguments {
    /// As JSON: `faults`, each with `file`, `line`, `key` and `message`, and how many partners, seats and offers there are
    #[arg(long)]
    json: bool,
}

/// Checks settings and partner files, and tells every fault of both.
pub fn run(config: Option<&Path>, arguments: &Arguments) -> ExitCode {
    if arguments.json {
        return run_for_scripts(config);
    }
    let (settings, book) = match super::settings_and_book(config) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    if book.seats().is_empty() {
        eprintln!("offerd: there are no partner files, so no lead will have an offer");
    }
    let deadline = settings.matching.deadline;
    for seat in book.seats().iter().filter(|seat| seat.timeout > deadline) {
        eprintln!(
            "offerd: `{}` is waited for {deadline:?} at most about {} (`matching.deadline`), its `timeout` is {:?}",
            seat.identity.key, seat.product_type, seat.timeout
        );
    }
    match daemon::Sockets::inherit() {
        Ok(sockets) => {
            for (listener, address, setting) in sockets.against(&settings) {
                eprintln!(
                    "offerd: the service manager's socket {address} goes before `{listener}.listen` ({setting})"
                );
            }
        }
        Err(message) => {
            eprintln!("offerd: {message}");
            return ExitCode::from(super::BAD_CONFIGURATION);
        }
    }
    page::print(format_args!(
        "settings and partner files are good: {}, {}, {}",
        page::counted(book.partners().len(), "partner"),
        page::counted(book.seats().len(), "seat"),
        page::counted(book.offers(), "offer")
    ));
    ExitCode::SUCCESS
}

fn run_for_scripts(config: Option<&Path>) -> ExitCode {
    let (told, code) = match daemon::load(config) {
        Ok((_, book)) => {
            let (partners, seats) = (book.partners().len(), book.seats().len());
            let told = json!({ "faults": [], "partners": partners, "seats": seats, "offers": book.offers() });
            (told, ExitCode::SUCCESS)
        }
        Err(faults) => (json!({ "faults": faults }), ExitCode::from(super::BAD_CONFIGURATION)),
    };
    page::print(format_args!("{told:#}"));
    code
}
