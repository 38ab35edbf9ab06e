//! `offerd check`

use std::path::Path;
use std::process::ExitCode;

use super::page;

/// Checks settings and partner files, and tells every fault of both.
pub fn run(config: Option<&Path>) -> ExitCode {
    let book = match super::settings_and_book(config) {
        Ok((_, book)) => book,
        Err(code) => return code,
    };
    if book.seats().is_empty() {
        eprintln!("offerd: there are no partner files, so no lead will have an offer");
    }
    page::print(format_args!(
        "settings and partner files are good: {} partners, {} seats, {} offers",
        book.partners().len(),
        book.seats().len(),
        book.offers()
    ));
    ExitCode::SUCCESS
}
