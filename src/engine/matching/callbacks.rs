//! Partners that answer by calling us: where each ask that waits for that is found, until it has been answered or has ended.
//!
//! The address of an ask is its own, unguessable, and taken once: by a call that can be read, so that a partner whose call could not may
//! call again. It is there from when the ask begins, since a partner may call before its own answer to the ask has come.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use hyper::HeaderMap;
use metrics::counter;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;
use uuid::Uuid;

use offerd_base::telemetry::metrics::CALLBACKS;
use offerd_partners::Seat;

/// The asks that wait to be called back.
#[derive(Debug)]
pub struct Callbacks {
    /// Where the integrations listener is reached, without a slash at its end.
    base_url: String,
    waiting: Arc<Waiting>,
}

type Waiting = Mutex<HashMap<Uuid, Expected>>;

/// What waits under an address.
#[derive(Debug)]
struct Expected {
    seat: Arc<Seat>,
    /// `None` once it has been taken.
    taker: Option<mpsc::Sender<Delivered>>,
    /// Whether a call came that was not signed as it should be.
    unsigned: bool,
}

/// What a partner has called us with, a person's data. So it is not `Debug`.
#[derive(Clone)]
pub struct Called {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// A call, and whom to tell what has become of it.
type Delivered = (Called, oneshot::Sender<Heed>);

/// What an ask makes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heed {
    /// It is the answer, and on the disk once the partner is told so.
    Taken,
    /// It says that the partner is still at work.
    Waits,
    /// It cannot be read.
    Unreadable {
        /// Why, as the partner is told: by the paths of its file, without what was called.
        told: String,
        /// The same with the place in the partner's file.
        located: String,
    },
}

/// What becomes of a call.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// It was taken in.
    Taken,
    /// It cannot be read, as [`Heed::Unreadable`] says; the ask of the seat goes on.
    Unreadable {
        /// Who has called.
        seat: Arc<Seat>,
        /// Why, as the partner is told.
        told: String,
        /// Why, with the place in its file.
        located: String,
    },
    /// It is not signed as the partner's file wants it.
    Unsigned,
    /// It has been called before.
    Again,
    /// Nobody waits under this address.
    Nobody,
    /// Its ask has ended.
    Late,
}

/// An ask's own address, until it is dropped.
#[derive(Debug)]
pub struct Callback {
    id: Uuid,
    waiting: Arc<Waiting>,
    url: String,
    called: Option<mpsc::Receiver<Delivered>>,
}

impl Callbacks {
    /// None yet, under this address.
    pub fn at(base_url: &str) -> Self {
        Self { base_url: base_url.trim_end_matches('/').to_owned(), waiting: Arc::default() }
    }

    /// An ask of a seat waits under an id.
    pub fn expect(&self, id: Uuid, seat: &Arc<Seat>) -> Callback {
        let (taker, called) = mpsc::channel(1);
        let expected = Expected { seat: Arc::clone(seat), taker: Some(taker), unsigned: false };
        self.waiting.lock().insert(id, expected);
        let url = format!("{}/callbacks/{id}", self.base_url);
        Callback { id, waiting: Arc::clone(&self.waiting), url, called: Some(called) }
    }

    /// Gives a call to who waits under an id. Once it is taken it is on the disk.
    pub async fn deliver(&self, id: Uuid, called: Called) -> Delivery {
        let delivery = self.delivered(id, called).await;
        let result = match &delivery {
            Delivery::Taken => "taken",
            Delivery::Unreadable { .. } => "unreadable",
            Delivery::Unsigned => "unsigned",
            Delivery::Again => "again",
            Delivery::Nobody | Delivery::Late => "nobody",
        };
        count(result);
        delivery
    }

    async fn delivered(&self, id: Uuid, called: Called) -> Delivery {
        let Some(seat) = self.waiting.lock().get(&id).map(|expected| Arc::clone(&expected.seat)) else {
            return Delivery::Nobody;
        };
        // Mappings run without the lock.
        let Called { headers, body } = &called;
        if !seat.http.as_ref().is_some_and(|source| source.is_signed(headers, body)) {
            warn!(
                partner = seat.identity.key,
                product_type = seat.product_type.as_str(),
                "a call that is not signed as the partner's file wants it was refused: a stranger's, or the key has changed"
            );
            self.waiting.lock().entry(id).and_modify(|expected| expected.unsigned = true);
            return Delivery::Unsigned;
        }
        let taker = match self.waiting.lock().get(&id) {
            Some(Expected { taker: Some(taker), .. }) => taker.clone(),
            Some(_) => return Delivery::Again,
            None => return Delivery::Nobody,
        };
        let (heed, heeded) = oneshot::channel();
        // Calls of one ask are read one after the other. One that is taken, or has ended, hears no more.
        let heard = taker.send((called, heed)).await.is_ok();
        match heeded.await.ok().filter(|_| heard) {
            Some(Heed::Taken | Heed::Waits) => Delivery::Taken,
            Some(Heed::Unreadable { told, located }) => Delivery::Unreadable { seat, told, located },
            None if self.waiting.lock().contains_key(&id) => Delivery::Again,
            None => Delivery::Nobody,
        }
    }
}

/// Counts a call by what has become of it.
pub fn count(result: &'static str) {
    counter!(CALLBACKS, "result" => result).increment(1);
}

impl Callback {
    /// Where the partner calls.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for a call, and who is to be told what becomes of it; `None` once it is [closed](Self::close).
    pub async fn called(&mut self) -> Option<(Called, oneshot::Sender<Heed>)> {
        self.called.as_mut()?.recv().await
    }

    /// Whether a call came that was not signed as it should be.
    pub fn was_unsigned(&self) -> bool {
        self.waiting.lock().get(&self.id).is_some_and(|expected| expected.unsigned)
    }

    /// A call was taken, so that no other will be.
    pub fn close(&mut self) {
        if let Some(expected) = self.waiting.lock().get_mut(&self.id) {
            expected.taker = None;
        }
        self.called = None;
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        self.waiting.lock().remove(&self.id);
    }
}
