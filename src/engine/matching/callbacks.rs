//! Callbacks: a partner may answer by calling us. Each ask has its own unguessable address, used up by the
//! first call that is the answer. It exists from the start of the ask: the call may precede the response.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use hyper::HeaderMap;
use metrics::counter;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;
use uuid::Uuid;

use super::ask_error::AskError;
use offerd_base::telemetry::metrics::CALLBACKS;
use offerd_partners::Seat;
use offerd_wire::{CallError, decoded};

/// The asks that wait for a callback.
#[derive(Debug)]
pub struct Callbacks {
    /// Base URL of the integrations listener, without a trailing slash.
    base_url: String,
    waiting: Arc<WaitingAsks>,
}

type WaitingAsks = Mutex<HashMap<Uuid, ExpectedCallback>>;

#[derive(Debug)]
struct ExpectedCallback {
    seat: Arc<Seat>,
    /// `None` once a call was the answer.
    taker: Option<mpsc::Sender<PendingCallback>>,
    refused: Option<AskError>,
}

/// A callback. Personal data, so it is not `Debug`.
#[derive(Clone)]
pub struct CallbackRequest {
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

type PendingCallback = (CallbackRequest, oneshot::Sender<CallbackVerdict>);

/// An ask's verdict on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackVerdict {
    /// The call is the answer. It is on the disk before the partner gets its response.
    Taken,
    /// The partner is still at work.
    Waits,
    /// The ask ended before the call was read.
    Late,
    /// The call cannot be read.
    Unreadable {
        /// The reason for the partner: names paths of its file, quotes nothing of the call.
        for_partner: String,
        /// The reason with the place in the partner file.
        for_operator: String,
    },
}

/// The result of a call.
#[derive(Debug, Clone)]
pub enum CallbackResult {
    /// Accepted.
    Taken,
    /// Unreadable, see [`CallbackVerdict::Unreadable`]; the seat's ask continues.
    Unreadable {
        /// The calling seat.
        seat: Arc<Seat>,
        /// The reason for the partner.
        for_partner: String,
        /// The reason with the place in the partner file.
        for_operator: String,
    },
    /// Not signed as the partner file demands.
    Unsigned,
    /// A call was accepted here before.
    Again,
    /// No ask has this address.
    Nobody,
    /// The ask is over.
    Late,
}

/// The callback address of an ask; freed on drop.
#[derive(Debug)]
pub struct CallbackAddress {
    id: Uuid,
    waiting: Arc<WaitingAsks>,
    url: String,
    called: Option<mpsc::Receiver<PendingCallback>>,
}

impl Callbacks {
    /// No callbacks yet, under this base URL.
    pub fn at(base_url: &str) -> Self {
        Self { base_url: base_url.trim_end_matches('/').to_owned(), waiting: Arc::default() }
    }

    /// Registers a seat's ask under an id.
    pub fn register(&self, id: Uuid, seat: &Arc<Seat>) -> CallbackAddress {
        let (taker, called) = mpsc::channel(1);
        let expected = ExpectedCallback { seat: Arc::clone(seat), taker: Some(taker), refused: None };
        self.waiting.lock().insert(id, expected);
        let url = format!("{}/callbacks/{id}", self.base_url);
        CallbackAddress { id, waiting: Arc::clone(&self.waiting), url, called: Some(called) }
    }

    /// Delivers a call to the ask with this id. A call that is the answer is on the disk before it is
    /// accepted; one that says the partner is still at work is accepted and not kept.
    pub async fn deliver(&self, id: Uuid, called: CallbackRequest) -> CallbackResult {
        let delivery = self.delivered(id, called).await;
        count(match &delivery {
            CallbackResult::Taken => "taken",
            CallbackResult::Unreadable { .. } => "unreadable",
            CallbackResult::Unsigned => "unsigned",
            CallbackResult::Again => "again",
            CallbackResult::Nobody | CallbackResult::Late => "nobody",
        });
        delivery
    }

    fn refuse(&self, id: Uuid, why: AskError) {
        self.waiting.lock().entry(id).and_modify(|expected| expected.refused = Some(why));
    }

    async fn delivered(&self, id: Uuid, mut called: CallbackRequest) -> CallbackResult {
        let Some(seat) = self.waiting.lock().get(&id).map(|expected| Arc::clone(&expected.seat)) else {
            return CallbackResult::Nobody;
        };
        if let Err(error) = called.decode(&seat) {
            self.refuse(id, AskError::Call(error));
            return CallbackResult::Unreadable {
                seat,
                for_partner: error.to_string(),
                for_operator: error.to_string(),
            };
        }
        // Mappings run without the lock.
        let CallbackRequest { headers, body } = &called;
        if !seat.http.as_ref().is_some_and(|http| http.is_signed(headers, body)) {
            warn!(
                partner = seat.identity.key,
                product_type = seat.product_type.as_str(),
                "refused a callback without the signature that the partner file requires: it came from a \
                    stranger, or the key has changed"
            );
            self.refuse(id, AskError::Unsigned);
            return CallbackResult::Unsigned;
        }
        let taker = match self.waiting.lock().get(&id) {
            Some(ExpectedCallback { taker: Some(taker), .. }) => taker.clone(),
            Some(_) => return CallbackResult::Again,
            None => return CallbackResult::Nobody,
        };
        let (verdict_sender, verdict) = oneshot::channel();
        // Calls for one ask are read in turn. After acceptance or the end of the ask, the channel is closed.
        let is_heard = taker.send((called, verdict_sender)).await.is_ok();
        match verdict.await.ok().filter(|_| is_heard) {
            Some(CallbackVerdict::Taken | CallbackVerdict::Waits) => CallbackResult::Taken,
            Some(CallbackVerdict::Late) => CallbackResult::Late,
            Some(CallbackVerdict::Unreadable { for_partner, for_operator }) => {
                CallbackResult::Unreadable { seat, for_partner, for_operator }
            }
            None if self.waiting.lock().contains_key(&id) => CallbackResult::Again,
            None => CallbackResult::Nobody,
        }
    }
}

impl CallbackRequest {
    /// Decompresses the body as an answer's; after an error, it stays as it is.
    pub(super) fn decode(&mut self, seat: &Seat) -> Result<(), CallError> {
        let most = seat.http.as_ref().map_or(0, |http| http.wire.max_response_bytes);
        self.body = decoded(self.body.clone(), &mut self.headers, most)?;
        Ok(())
    }
}

/// Counts a call by its result.
pub fn count(result: &'static str) {
    counter!(CALLBACKS, "result" => result).increment(1);
}

impl CallbackAddress {
    /// The address that the partner calls.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The next callback, with the channel for its verdict; `None` once [closed](Self::close).
    pub async fn called(&mut self) -> Option<(CallbackRequest, oneshot::Sender<CallbackVerdict>)> {
        self.called.as_mut()?.recv().await
    }

    pub(super) fn refused(&self) -> Option<AskError> {
        self.waiting.lock().get_mut(&self.id)?.refused.take()
    }

    /// Accepts no further calls.
    pub fn close(&mut self) {
        if let Some(expected) = self.waiting.lock().get_mut(&self.id) {
            expected.taker = None;
        }
        self.called = None;
    }
}

impl Drop for CallbackAddress {
    fn drop(&mut self) {
        self.waiting.lock().remove(&self.id);
    }
}
