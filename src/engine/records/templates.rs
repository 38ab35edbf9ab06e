//! Templates by fingerprint, and public UUIDs. Templates of the current book are in memory.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::public_ids::PublicIds;
use crate::rate_table::reason::Denied;
use crate::rate_table::record::TableHead;
use offerd_partners::{Book, Fingerprint, Quote, RecordedSeat, Template};
use offerd_store::{Commit, CommitError, Store, Tree};

/// The templates of rate tables. Shared by all tables; grows only when an older template is requested.
#[derive(Debug, Clone)]
pub struct Templates {
    store: Store,
    /// Makes the public UUIDs of offers, pages and callbacks.
    pub ids: PublicIds,
    offers: Arc<TemplateCache<Template>>,
    seats: Arc<TemplateCache<RecordedSeat>>,
}

type TemplateCache<T> = RwLock<HashMap<Fingerprint, Arc<T>>>;

const TEXTS_PER_COMMIT: usize = 256;

impl Templates {
    /// The templates of a store, with none in memory yet.
    pub fn new(store: Store) -> Self {
        let ids = PublicIds::of(&store);
        Self { ids, store, offers: Arc::default(), seats: Arc::default() }
    }

    /// Stores and caches every template of a book.
    ///
    /// # Errors
    /// [`CommitError`] when the store did not take them.
    pub async fn store(&self, book: &Book) -> Result<(), CommitError> {
        let is_missing =
            |text: &&Template| self.store.get(Tree::Templates, text.fingerprint.0).ok().flatten().is_none();
        let missing: Vec<&Template> = book.templates().filter(is_missing).collect();
        for templates in missing.chunks(TEXTS_PER_COMMIT) {
            let put = |commit: Commit, text: &&Template| {
                commit.put(Tree::Templates, text.fingerprint.0, text.stored().into_bytes())
            };
            self.store.commit(templates.iter().fold(Commit::new(), put)).await?;
        }

        // Templates of earlier books are read back on demand.
        let offers = book.seats().iter().flat_map(|seat| &seat.offers).map(|offer| &offer.text);
        *self.offers.write() = offers.map(|text| (text.fingerprint, Arc::new(text.clone()))).collect();
        Ok(())
    }

    /// The template of a quote: its own, or that of its offer.
    ///
    /// # Errors
    /// The fingerprint, when neither memory nor store has the template.
    pub fn of(&self, quote: &Quote) -> Result<Arc<Template>, Fingerprint> {
        quote.own.as_ref().map_or_else(|| self.offer(quote.text), |own| Ok(Arc::clone(own)))
    }

    /// The template of a partner file's offer; fails like [`of`](Self::of).
    pub fn offer(&self, fingerprint: Fingerprint) -> Result<Arc<Template>, Fingerprint> {
        cached(&self.offers, fingerprint, || self.stored(fingerprint))
    }

    /// An offer's name in its partner file, or its fingerprint if the template is lost.
    pub fn offer_name(&self, fingerprint: Fingerprint) -> String {
        let text = self.offer(fingerprint).ok();
        let name = text.and_then(|text| Some(text.click_terms.as_ref()?.name.clone()));
        name.unwrap_or_else(|| format!("{fingerprint:?}"))
    }

    /// The template of a seat; fails like [`of`](Self::of).
    pub fn seat(&self, fingerprint: Fingerprint) -> Result<Arc<RecordedSeat>, Fingerprint> {
        let read = || serde_json::from_str(&self.stored(fingerprint)?.json).map_err(|_| fingerprint);
        cached(&self.seats, fingerprint, read)
    }

    /// The seats of a table whose templates exist.
    pub fn seats(&self, head: &TableHead) -> Vec<Arc<RecordedSeat>> {
        head.seats.iter().filter_map(|seat| self.seat(*seat).ok()).collect()
    }

    /// The seats not seated at a table, with the reasons, except lost templates.
    pub fn not_seated(&self, head: &TableHead) -> Vec<(Arc<RecordedSeat>, Option<Denied>)> {
        head.not_seated.iter().filter_map(|one| Some((self.seat(one.seat).ok()?, one.by))).collect()
    }

    fn stored(&self, fingerprint: Fingerprint) -> Result<Template, Fingerprint> {
        let found = self.store.get(Tree::Templates, fingerprint.0).ok().flatten();
        let stored = found.and_then(|bytes| String::from_utf8(bytes).ok());
        stored.and_then(|stored| Template::read(fingerprint, &stored)).ok_or(fingerprint)
    }
}

fn cached<T>(
    known: &TemplateCache<T>,
    fingerprint: Fingerprint,
    read: impl FnOnce() -> Result<T, Fingerprint>,
) -> Result<Arc<T>, Fingerprint> {
    if let Some(one) = known.read().get(&fingerprint) {
        return Ok(Arc::clone(one));
    }
    let one = Arc::new(read()?);
    Ok(Arc::clone(known.write().entry(fingerprint).or_insert(one)))
}
