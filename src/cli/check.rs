//! `offerd check`

use std::path::Path;
use std::process::ExitCode;

use super::page;
use crate::config::Settings;
use crate::partners::Book;

/// Checks settings and partner files, and tells every fault of both.
pub fn run(config: Option<&Path>) -> ExitCode {
    let settings = match Settings::load(config) {
        Ok(settings) => settings,
        Err(faults) => return super::tell(&faults),
    };
    let book = match Book::load(&settings.partners.path) {
        Ok(book) => book,
        Err(faults) => return super::tell(&faults),
    };
    page::print(format_args!(
        "settings and partner files are good: {} partners, {} seats, {} offers",
        book.partners().len(),
        book.seats().len(),
        book.offers()
    ));
    ExitCode::SUCCESS
}
