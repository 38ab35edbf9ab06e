//! What rate tables are shown with. Prepared texts by fingerprint: those of the book in memory, and older ones read back from the
//! store; and the uuids of offers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::offer_ids::OfferIds;
use crate::partners::{Book, Fingerprint, SeatText, Text};
use crate::store::{Commit, CommitError, Store, Tree};

/// The texts that rate tables are shown with. Shared by all tables; grows only when an older text is asked for.
#[derive(Debug, Clone)]
pub struct Texts {
    store: Store,
    /// The uuids of offers, which their addresses are made of.
    pub ids: OfferIds,
    offers: Arc<RwLock<HashMap<Fingerprint, Arc<Text>>>>,
    seats: Arc<RwLock<HashMap<Fingerprint, Arc<SeatText>>>>,
}

/// Texts written in one commit when a book is opened.
const TEXTS_PER_COMMIT: usize = 256;

impl Texts {
    /// Texts of a store, none of them in memory yet.
    pub fn new(store: Store) -> Self {
        Self { ids: OfferIds::of(&store), store, offers: Arc::default(), seats: Arc::default() }
    }

    /// Takes in a book: once this returns, the store has every text of it.
    ///
    /// # Errors
    /// What the store said.
    pub async fn keep(&self, book: &Book) -> Result<(), CommitError> {
        let mut missing = Vec::new();
        for text in book.texts() {
            if self.store.get(Tree::Texts, text.fingerprint.0).ok().flatten().is_none() {
                missing.push(text);
            }
        }
        for texts in missing.chunks(TEXTS_PER_COMMIT) {
            let put = |commit: Commit, text: &&Text| {
                commit.put(Tree::Texts, text.fingerprint.0, text.stored().into_bytes())
            };
            self.store.commit(texts.iter().fold(Commit::new(), put)).await?;
        }

        // Texts of earlier books are read back when they are asked for.
        let offers = book.seats().iter().flat_map(|seat| &seat.offers).map(|offer| &offer.text);
        let offers = offers.map(|text| (text.fingerprint, Arc::new(text.clone()))).collect();
        *self.offers.write().unwrap_or_else(PoisonError::into_inner) = offers;
        Ok(())
    }

    /// The text of an offer.
    ///
    /// # Errors
    /// The fingerprint, when neither memory nor store has the text.
    pub fn offer(&self, fingerprint: Fingerprint) -> Result<Arc<Text>, Fingerprint> {
        if let Some(text) = self.offers.read().unwrap_or_else(PoisonError::into_inner).get(&fingerprint) {
            return Ok(Arc::clone(text));
        }
        let text = Arc::new(self.stored(fingerprint)?);
        let mut offers = self.offers.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(offers.entry(fingerprint).or_insert(text)))
    }

    /// The name that an offer had in its partner's file; its fingerprint where the text is lost.
    pub fn offer_name(&self, fingerprint: Fingerprint) -> String {
        let text = self.offer(fingerprint).ok();
        let name = text.and_then(|text| Some(text.imprint.as_ref()?.name.clone()));
        name.unwrap_or_else(|| format!("{fingerprint:?}"))
    }

    /// A seat, from its text.
    ///
    /// # Errors
    /// The fingerprint, when neither memory nor store has the text.
    pub fn seat(&self, fingerprint: Fingerprint) -> Result<Arc<SeatText>, Fingerprint> {
        if let Some(seat) = self.seats.read().unwrap_or_else(PoisonError::into_inner).get(&fingerprint) {
            return Ok(Arc::clone(seat));
        }
        let seat: SeatText =
            serde_json::from_str(&self.stored(fingerprint)?.json).map_err(|_| fingerprint)?;
        let mut seats = self.seats.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(seats.entry(fingerprint).or_insert(Arc::new(seat))))
    }

    fn stored(&self, fingerprint: Fingerprint) -> Result<Text, Fingerprint> {
        let found = self.store.get(Tree::Texts, fingerprint.0).ok().flatten();
        let stored = found.and_then(|bytes| String::from_utf8(bytes).ok());
        stored.and_then(|stored| Text::read(fingerprint, &stored)).ok_or(fingerprint)
    }
}
