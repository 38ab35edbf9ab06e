//! The second step: the store is open, and what is shown of partners' offers is kept in it.

use std::path::{Path, PathBuf};

use tracing::{info, warn};

use super::Fatal;
use super::guard::Guard;
use crate::config::Settings;
use crate::nodes::{self, NodeTold};
use crate::partners::Book;
use crate::records::Records;
use crate::store::tokens::Tokens;
use crate::store::{Store, StoreOptions};

/// The record, open.
pub(super) struct Opened {
    pub(super) records: Records,
    pub(super) tokens: Tokens,
}

impl Opened {
    /// Opens the store, and keeps the book's templates in it. From here on the guard heeds whether the store has failed for good.
    pub(super) async fn by(settings: &Settings, book: &Book, guard: &Guard) -> Result<Self, Fatal> {
        let store = Store::open(StoreOptions::from(&settings.store)).map_err(|error| {
            let place = settings.store.place();
            format!("{place} cannot be opened: {error}; `offerd doctor` looks at what is wrong")
        })?;
        guard.heed(store.lost());
        store.stand(NodeTold::of(settings).text());
        nodes::remark(settings).iter().for_each(|remark| warn!("{remark}"));
        let (tokens, records) = (Tokens::of(store.clone()), Records::of(store));
        records
            .templates
            .keep(book)
            .await
            .map_err(|error| format!("the book's templates could not be stored: {error}"))?;
        info!(partners = book.partners().len(), offers = book.offers(), "partners loaded");
        if let Some(remark) = book.without_seats() {
            warn!(path = %settings.partners.path.display(), "{remark}");
        }
        Ok(Self { records, tokens })
    }
}

/// A path as it is named to those who work in another directory.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
