//! Pages of the feeds, read from the store.

use tracing::error;
use uuid::Uuid;

use super::arrival_time::ArrivalTime;
use super::feed::Feed;
use super::start::start;
use super::window::Window;
use crate::model::{ApiError, FeedPage};
use crate::store::{Clock, FeedKey, ReadError, Store, codec};

/// Reads pages of every feed. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Feeds {
    store: Store,
    base_url: String,
    clock: Clock,
}

/// Why there is no page.
#[derive(Debug)]
pub enum Refused {
    /// The client asked for a time that it may not ask for.
    Start(ApiError),
    /// The store cannot be read.
    StoreFailed,
}

impl Feeds {
    /// Feeds over the store. `clock` tells what is an hour old; it has to be the clock that arrivals are given.
    pub fn new(store: Store, base_url: String, clock: Clock) -> Self {
        Self { store, base_url, clock }
    }

    /// The page of a company's feed that starts at `timestamp`. Blocks for as long as reading takes.
    ///
    /// # Errors
    /// [`Refused`]
    pub fn page<F: Feed>(
        &self,
        company: Uuid,
        timestamp: Option<&str>,
    ) -> Result<FeedPage<F::Record>, Refused> {
        let latest = ArrivalTime(self.clock.now_us()).minus_an_hour();
        let start = start(timestamp, latest).map_err(Refused::Start)?;
        let mut window = Window::new(start, latest);
        let data = self.fill::<F>(&mut window, company, start).map_err(|_| Refused::StoreFailed)?;
        Ok(FeedPage {
            next_url: format!("{}{}?timestamp={}", self.base_url, F::PATH, window.end()),
            should_continue_polling: window.goes_on(),
            data,
        })
    }

    /// Reads instants until the window is closed.
    fn fill<F: Feed>(
        &self,
        window: &mut Window,
        company: Uuid,
        start: ArrivalTime,
    ) -> Result<Vec<F::Record>, ReadError> {
        let mut data = Vec::new();
        let first = FeedKey::first_at(company, start.0);
        // An append has an arrival time of its own, so its record holds all of an instant.
        for record in self.store.scan_from(F::TREE, first.to_bytes(), company) {
            let (key, payload) = record?;
            let Some((arrival, stored)) = instant::<F>(&key, &payload) else { continue };
            if !window.takes(arrival, stored.len()) {
                break;
            }
            data.extend(stored.into_iter().map(F::record));
        }
        Ok(data)
    }
}

/// What arrived at one instant. What cannot be read is left out, as a broken record is.
fn instant<F: Feed>(key: &[u8], payload: &[u8]) -> Option<(ArrivalTime, Vec<F::Stored>)> {
    let arrival = ArrivalTime(FeedKey::parse(key)?.arrival_us);
    match codec::decode(payload) {
        Ok(stored) => Some((arrival, stored)),
        Err(error) => {
            error!(%error, feed = F::TREE.name(), arrival_us = arrival.0, "feed records could not be read");
            None
        }
    }
}
