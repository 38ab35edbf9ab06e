//! Pages of the feeds, read from the store.

use tracing::error;

use super::arrival_time::ArrivalTime;
use super::cursor::Cursor;
use super::feed::Feed;
use super::form::Form;
use super::page_request::PageRequest;
use super::window::Window;
use crate::model::{FeedPage, Viewer};
use crate::planted::{Planted, planted};
use crate::store::{Clock, FeedKey, ReadError, Store, codec};
use crate::telemetry::metrics::FEED_PAGES_CUT;

/// Reads pages of every feed. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Feeds {
    store: Store,
    base_url: String,
    clock: Clock,
    page_records_max: usize,
}

impl Feeds {
    /// Feeds over the store. `clock` tells how old a record is; it has to be the clock that arrivals are given. At most
    /// so many records are read for a page, its first instant apart; one that ends there is followed by the rest.
    pub fn new(store: Store, base_url: String, clock: Clock, page_records_max: usize) -> Self {
        Self { store, base_url, clock, page_records_max }
    }

    /// The time from which on nothing may be told yet.
    pub fn latest(&self, form: Form) -> ArrivalTime {
        ArrivalTime(self.clock.now_us()).before(form.minimum_age())
    }

    /// The page of a company's feed, of what the viewer sees of it. Blocks for as long as reading takes.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn page<F: Feed>(
        &self,
        viewer: Viewer,
        request: PageRequest,
    ) -> Result<FeedPage<F::Record>, ReadError> {
        let mut window = request.window(self.latest(request.form), self.page_records_max);
        let data = self.fill::<F>(&mut window, viewer, request)?;
        if window.was_cut() {
            metrics::counter!(FEED_PAGES_CUT, "feed" => F::TREE.name()).increment(1);
        }
        let lost = u64::from(planted(Planted::CursorOffByOne));
        let next = Cursor::to::<F>(request.starting_at(ArrivalTime(window.end().0 + lost)));
        Ok(FeedPage {
            next_url: format!("{}{}?{next}", self.base_url, F::PATH),
            should_continue_polling: window.goes_on(),
            data,
        })
    }

    /// Reads instants until the window is closed.
    fn fill<F: Feed>(
        &self,
        window: &mut Window,
        viewer: Viewer,
        request: PageRequest,
    ) -> Result<Vec<F::Record>, ReadError> {
        let mut data = Vec::new();
        let first = FeedKey::first_at(viewer.company, request.start.0);
        // An append has an arrival time of its own, so its record holds all of an instant.
        for record in self.store.scan_from(F::TREE, first.to_bytes(), viewer.company) {
            let (key, payload) = record?;
            let Some(key) = FeedKey::parse(&key) else { continue };
            if !window.takes(ArrivalTime(key.arrival_us)) {
                break;
            }
            let stored = instant::<F>(key, &payload);
            let (read, held_before) = (stored.len(), data.len());
            let is_seen = |stored: &F::Stored| !viewer.test || F::is_test(stored, &self.store);
            let wanted = stored
                .into_iter()
                .filter(|stored| F::is_wanted(stored, request.event_types) && is_seen(stored));
            data.extend(wanted.map(|stored| F::record(stored, request.form)));
            window.holds(read, data.len() - held_before);
        }
        Ok(data)
    }
}

/// What arrived at one instant. What cannot be read is left out, as a broken record is.
fn instant<F: Feed>(key: FeedKey, payload: &[u8]) -> Vec<F::Stored> {
    codec::decode(payload).unwrap_or_else(|error| {
        error!(%error, feed = F::TREE.name(), arrival_us = key.arrival_us, "feed records could not be read");
        Vec::new()
    })
}
