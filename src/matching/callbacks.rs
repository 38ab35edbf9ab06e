//! Partners that answer by calling us: where each ask that waits for that is found, until it has been answered or has ended.
//!
//! The address of an ask is its own, unguessable, and taken once. It is there from when the ask begins, since a partner may call before
//! its own answer to the ask has come.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::HeaderMap;
use metrics::counter;
use tokio::sync::oneshot;
use tracing::warn;
use uuid::Uuid;

use crate::partners::Seat;
use crate::telemetry::metrics::CALLBACKS;

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
    taker: Option<oneshot::Sender<Delivered>>,
}

/// What a partner has called us with, a person's data.
#[derive(Clone)]
pub struct Called {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// Tells only how much there is.
impl std::fmt::Debug for Called {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Called({} bytes)", self.body.len())
    }
}

/// A call, and whom to tell when it is on the disk.
type Delivered = (Called, oneshot::Sender<()>);

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It is the answer.
    Taken,
    /// It is not signed as the partner's file wants it.
    Unsigned,
    /// It has been called before.
    Again,
    /// Nobody waits under this address, any more or at all.
    Nobody,
}

/// An ask's own address, until it is dropped.
#[derive(Debug)]
pub struct Callback {
    id: Uuid,
    waiting: Arc<Waiting>,
    url: String,
    called: Option<oneshot::Receiver<Delivered>>,
}

impl Callbacks {
    /// None yet, under this address.
    pub fn at(base_url: &str) -> Self {
        Self { base_url: base_url.trim_end_matches('/').to_owned(), waiting: Arc::default() }
    }

    /// An ask of a seat waits under an id.
    pub fn expect(&self, id: Uuid, seat: &Arc<Seat>) -> Callback {
        let (taker, called) = oneshot::channel();
        lock(&self.waiting).insert(id, Expected { seat: Arc::clone(seat), taker: Some(taker) });
        let url = format!("{}/callbacks/{id}", self.base_url);
        Callback { id, waiting: Arc::clone(&self.waiting), url, called: Some(called) }
    }

    /// Gives a call to who waits under an id. Once it is taken it is on the disk.
    pub async fn deliver(&self, id: Uuid, called: Called) -> Delivery {
        let delivery = match self.delivered(id, called) {
            // An ask that ends before that has not taken it.
            Ok(written) => written.await.map_or(Delivery::Nobody, |()| Delivery::Taken),
            Err(delivery) => delivery,
        };
        let result = match delivery {
            Delivery::Taken => "taken",
            Delivery::Unsigned => "unsigned",
            Delivery::Again => "again",
            Delivery::Nobody => "nobody",
        };
        counter!(CALLBACKS, "result" => result).increment(1);
        delivery
    }

    fn delivered(&self, id: Uuid, called: Called) -> Result<oneshot::Receiver<()>, Delivery> {
        let expected = lock(&self.waiting).get(&id).map(|expected| Arc::clone(&expected.seat));
        let seat = expected.ok_or(Delivery::Nobody)?;
        // Mappings run without the lock.
        if !seat.http.as_ref().is_some_and(|source| source.is_signed(&called.headers, &called.body)) {
            warn!(
                partner = seat.identity.key,
                product_type = seat.product_type.as_str(),
                "a call that is not signed as the partner's file wants it was refused: a stranger's, or the key has changed"
            );
            return Err(Delivery::Unsigned);
        }
        let mut waiting = lock(&self.waiting);
        let expected = waiting.get_mut(&id).ok_or(Delivery::Nobody)?;
        let taker = expected.taker.take().ok_or(Delivery::Again)?;
        let (written, when_written) = oneshot::channel();
        // An ask that is gone has ended.
        taker.send((called, written)).map_err(|_| Delivery::Nobody)?;
        Ok(when_written)
    }
}

impl Callback {
    /// Where the partner calls.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the call, and who is to be told when it is on the disk. It comes once.
    pub async fn called(&mut self) -> Option<(Called, oneshot::Sender<()>)> {
        let called = self.called.as_mut()?.await.ok();
        self.called = None;
        called
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        lock(&self.waiting).remove(&self.id);
    }
}

fn lock(waiting: &Waiting) -> MutexGuard<'_, HashMap<Uuid, Expected>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
