//! Settings and partner files, read and checked together, so that all their faults are told at once.

use std::path::Path;

use crate::config::Settings;
use crate::declaration::Fault;
use crate::matching::lines::Lines;
use crate::partners::Book;

/// Settings, and the book of the partner files that they name.
///
/// # Errors
/// Every fault of both.
pub fn load(config: Option<&Path>) -> Result<(Settings, Book), Vec<Fault>> {
    let (settings, mut faults) = Settings::inspect(config);
    let Some(settings) = settings else { return Err(faults) };
    match Book::load(&settings.partners.path) {
        Ok(book) => {
            let closed = Lines::new(settings.wire).opened(&book).err().into_iter().flatten();
            faults.extend(closed.map(|message| Fault {
                file: Some(settings.partners.path.clone()),
                line: None,
                key: "wire".to_owned(),
                message,
            }));
            if faults.is_empty() { Ok((settings, book)) } else { Err(faults) }
        }
        Err(of_partners) => {
            faults.extend(of_partners);
            Err(faults)
        }
    }
}
