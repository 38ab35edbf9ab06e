//! Pausing partners while they run, from the command line: what may be paused, and how it takes effect.

use serde::{Deserialize, Serialize};

use super::engine::Engine;
use offerd_model::ProductType;
use offerd_partners::Book;
use offerd_store::pauses::{Pause, Pauses, Resumed};
use offerd_store::{Commit, CommitError, ReadError};

/// What is to be paused or resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pausable {
    /// Key of the partner.
    pub partner: String,
    /// One product type of it; all of it when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_type: Option<ProductType>,
}

impl Pausable {
    /// Why there is nothing of it in a book: the attribute, and what is wrong with it.
    pub fn fault(&self, book: &Book) -> Option<(&'static str, String)> {
        let partner = &self.partner;
        let of_partner = || book.seats().iter().filter(|seat| seat.identity.key == *partner);
        if of_partner().next().is_none() {
            let keys: Vec<&str> = book.partners().iter().map(|partner| partner.key.as_str()).collect();
            return Some((
                "partner",
                format!("there is no partner `{partner}`; there are: {}", keys.join(", ")),
            ));
        }
        let product_type = self.product_type?;
        if of_partner().any(|seat| seat.product_type == product_type) {
            return None;
        }
        let products: Vec<&str> = of_partner().map(|seat| seat.product_type.as_str()).collect();
        let message = format!("`{partner}` has no product `{product_type}`; it has: {}", products.join(", "));
        Some(("productType", message))
    }
}

/// Pauses, by what `commit` does: once this returns it holds for every lead to come, now and after a restart. Who was asked may still answer.
///
/// # Errors
/// What the store said.
pub async fn pause(
    engine: &Engine,
    what: &Pausable,
    commit: impl AsyncFnOnce(Commit) -> Result<(), CommitError>,
) -> Result<Pause, CommitError> {
    let pauses = Pauses::of(engine.records.store.clone());
    let pause = pauses.pause(&what.partner, what.product_type, commit).await?;
    take_in(engine, &pauses)?;
    Ok(pause)
}

/// Ends a pause, by what `commit` does: once this returns the partner is asked again, unless something else is against it.
///
/// # Errors
/// What the store said.
pub async fn resume(
    engine: &Engine,
    what: &Pausable,
    commit: impl AsyncFnOnce(Commit) -> Result<(), CommitError>,
) -> Result<Resumed, CommitError> {
    let pauses = Pauses::of(engine.records.store.clone());
    let resumed = pauses.resume(&what.partner, what.product_type, commit).await?;
    take_in(engine, &pauses)?;
    Ok(resumed)
}

/// What is written is written; that it is not in force here is said.
fn take_in(engine: &Engine, pauses: &Pauses) -> Result<(), CommitError> {
    let taken_in = engine.limiter.take_in_pauses(pauses);
    taken_in.map_err(|failure: ReadError| CommitError::Failed(format!("pauses cannot be read: {failure}")))
}
