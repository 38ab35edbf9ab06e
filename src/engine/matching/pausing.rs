//! Pausing partners from the command line, and asking again behind an open breaker.

use serde::{Deserialize, Serialize};

use super::engine::MatchingEngine;
use offerd_model::ProductType;
use offerd_partners::Book;
use offerd_store::pauses::{Pause, Pauses, ResumeResult};
use offerd_store::{Commit, CommitError, ReadError};

/// A partner, or one of its products, to pause or resume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pausable {
    /// The partner's key.
    pub partner: String,
    /// One product type; the whole partner when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_type: Option<ProductType>,
}

impl Pausable {
    /// The fault if a book does not have it: the attribute and what is wrong with it.
    pub fn fault(&self, book: &Book) -> Option<(&'static str, String)> {
        let partner = &self.partner;
        let of_partner = || book.seats().iter().filter(|seat| seat.identity.key == *partner);
        if of_partner().next().is_none() {
            let keys: Vec<&str> = book.partners().iter().map(|partner| partner.key.as_str()).collect();
            let message = format!("there is no partner `{partner}`; there are: {}", keys.join(", "));
            return Some(("partner", message));
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

/// Pauses, durably and for every new lead once this returns. Partners already asked may still answer.
pub async fn pause(
    engine: &MatchingEngine,
    pause: Pause,
    commit: impl AsyncFnOnce(Commit) -> Result<(), CommitError>,
) -> Result<Pause, CommitError> {
    let pauses = Pauses::of(engine.records.store.clone());
    let pause = pauses.pause(pause, commit).await?;
    take_in(engine, &pauses)?;
    Ok(pause)
}

/// Ends a pause, using `commit` to write. Once this returns, the partner may be asked again.
pub async fn resume(
    engine: &MatchingEngine,
    what: &Pausable,
    commit: impl AsyncFnOnce(Commit) -> Result<(), CommitError>,
) -> Result<ResumeResult, CommitError> {
    let pauses = Pauses::of(engine.records.store.clone());
    let resumed = pauses.resume(&what.partner, what.product_type, commit).await?;
    take_in(engine, &pauses)?;
    Ok(resumed)
}

/// Lets the next calls through the breakers of a partner, on this node. Returns the product types whose
/// breaker was not closed.
pub fn probe(engine: &MatchingEngine, what: &Pausable) -> Vec<ProductType> {
    let configuration = engine.configuration();
    let seats = configuration.book.seats().iter();
    let seats = seats.filter(|seat| {
        seat.identity.key == what.partner
            && what.product_type.is_none_or(|product| product == seat.product_type)
    });
    let open = seats.filter(|seat| configuration.clients.of(seat).is_some_and(|client| client.probe()));
    open.map(|seat| seat.product_type).collect()
}

/// Applies the written pauses; a failure means that they are stored but not in force here.
fn take_in(engine: &MatchingEngine, pauses: &Pauses) -> Result<(), CommitError> {
    let taken_in = engine.limiter.take_in_pauses(pauses);
    taken_in.map_err(|failure: ReadError| CommitError::Unread(format!("cannot read the pauses: {failure}")))
}
