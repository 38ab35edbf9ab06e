//! A click on a preview offer: counted by partner and day, then redirected. No lead, no event, no payout.

use std::sync::Arc;

use metrics::counter;
use tracing::warn;
use uuid::Uuid;

use crate::matching::Configuration;
use crate::matching::engine::MatchingEngine;
use crate::ranking::key::day_of;
use crate::records::reading;
use crate::records::writing::one_more;
use offerd_base::telemetry::metrics::PREVIEW_CLICKS;
use offerd_model::ProductType;
use offerd_partners::Seat;
use offerd_partners::base_url::absolute;
use offerd_store::{Commit, CommitError, Store, Tree};

/// A clicked preview offer.
pub struct ClickedPreview {
    configuration: Arc<Configuration>,
    seat: usize,
    offer: usize,
    id: Uuid,
}

/// Finds the preview offer of an address; `None` when the current book has none.
pub fn preview_click(engine: &MatchingEngine, id: Uuid) -> Option<ClickedPreview> {
    let configuration = engine.configuration();
    let (seat, offer) = configuration.previews.find(id)?;
    Some(ClickedPreview { configuration, seat, offer, id })
}

impl ClickedPreview {
    /// Whether the offer has a validity of its own.
    pub fn is_brief(&self) -> bool {
        let click_terms = self.seat().offers[self.offer].text.click_terms.as_ref();
        click_terms.is_some_and(|click_terms| click_terms.valid_for_ms.is_some())
    }

    /// Counts the click, if it can, and returns the partner's address.
    pub async fn record(&self, engine: &MatchingEngine) -> String {
        let seat = self.seat();
        let (partner, product) = (seat.identity.key.clone(), seat.product_type.as_str());
        counter!(PREVIEW_CLICKS, "partner" => partner, "product_type" => product).increment(1);
        if let Err(failure) = self.write(engine).await {
            warn!(partner = seat.identity.key, %failure, "could not count a click on a preview in the store");
        }
        absolute(&seat.offers[self.offer].landing_url(&self.id.to_string(), ""), &engine.base_url)
    }

    fn seat(&self) -> &Seat {
        &self.configuration.book.seats()[self.seat]
    }

    async fn write(&self, engine: &MatchingEngine) -> Result<(), CommitError> {
        let store = &engine.records.store;
        let key = [&place(store.now_ms(), self.seat())[..], self.seat().offers[self.offer].name.as_bytes()]
            .concat();
        let mut lock = engine.lock_record(Tree::PreviewClicks, &key).await?;
        let mut written = Ok(());
        while lock.should_try().await {
            let before = reading::count(store, Tree::PreviewClicks, &key).map_err(|_| CommitError::Busy)?;
            written = engine.commit(one_more(Commit::new(), Tree::PreviewClicks, &key, before)).await;
            if !matches!(written, Err(CommitError::Guard { .. })) {
                break;
            }
        }
        written
    }
}

/// Clicks on a partner's previews of a product type over the last `days` days, including today.
pub fn preview_clicks(store: &Store, partner: &str, product_type: ProductType, days: u32) -> u64 {
    let start = day_of(store.now_ms()).saturating_sub(days.saturating_sub(1)).to_be_bytes();
    let of_seat = of_seat(partner, product_type);
    let found = store.scan_from(Tree::PreviewClicks, start, []).filter_map(Result::ok);
    let of_it = found.filter(|(key, _)| key.get(4..).is_some_and(|rest| rest.starts_with(&of_seat)));
    of_it.map(|(_, bytes)| bytes.try_into().map_or(0, u64::from_be_bytes)).sum()
}

fn place(now_ms: i64, seat: &Seat) -> Vec<u8> {
    [&day_of(now_ms).to_be_bytes()[..], &of_seat(&seat.identity.key, seat.product_type)].concat()
}

/// A partner's key is a file name, so it holds no zero byte.
fn of_seat(partner: &str, product_type: ProductType) -> Vec<u8> {
    format!("{partner}\0{product_type}\0").into_bytes()
}
