//! `offerd check`

use std::path::Path;
use std::process::ExitCode;

use super::page;
use crate::daemon;

/// Checks settings and partner files, and tells every fault of both.
pub fn run(config: Option<&Path>) -> ExitCode {
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
