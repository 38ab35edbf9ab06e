//! Who keeps what is known of partners now: the running daemon, or else the store.

use hyper::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::admin::audit::audit_by;
use crate::cli::client::Client;
use crate::cli::operator::operator;
use crate::config::Settings;
use crate::declaration::Fault;
use crate::matching::explanation::{LeadExplanation, explanation};
use crate::matching::limiter::{Limiter, SeatStanding};
use crate::matching::pausing::Pausable;
use crate::matching::texts::Texts;
use crate::matching::timing::{SeatTiming, timings};
use crate::partners::Book;
use crate::store::pauses::{Pause, Pauses, Resumed};
use crate::store::{Damage, Store};

/// Who keeps the partners now.
pub enum Keeper {
    /// A running daemon, at the address of its admin listener.
    Daemon { client: Client, admin: String },
    /// The store of a stopped one, with the book of its partner files.
    Store { store: Store, book: Book },
}

impl Keeper {
    /// The running daemon, or else the store. The partner files are read only for the latter: a running daemon is not to
    /// be kept from its work by a fault in them.
    pub async fn find(settings: &Settings) -> Result<Self, Trouble> {
        if let Some((client, admin)) = Client::of_daemon(settings).await? {
            return Ok(Self::Daemon { client, admin });
        }
        let book = Book::load(&settings.partners.path).map_err(Trouble::Faults)?;
        crate::cli::log_as_the_daemon_does(settings);
        let store = crate::cli::open_store(settings)?;
        Ok(Self::Store { store, book })
    }

    pub async fn standings(&self) -> Result<Vec<SeatStanding>, String> {
        match self {
            Self::Daemon { client, admin } => standings(client, admin).await,
            Self::Store { store, book } => {
                let limiter = Limiter::of(store, &Texts::new(store.clone()), store.clock());
                Ok(limiter.standings(book))
            }
        }
    }

    /// Wants a partner to be there.
    pub async fn wants(&self, key: &str) -> Result<(), String> {
        if let Self::Store { book, .. } = self {
            return super::known(book, key);
        }
        let standings = self.standings().await?;
        let mut keys: Vec<&str> = standings.iter().map(|standing| standing.partner.as_str()).collect();
        keys.dedup();
        if keys.contains(&key) { Ok(()) } else { Err(super::unknown(&keys, key)) }
    }

    pub async fn timings(&self, since: i64) -> Result<Vec<SeatTiming>, String> {
        match self {
            Self::Daemon { client, admin } => {
                let answer =
                    client.call(Method::GET, &format!("{admin}/partners/timing?since={since}"), None).await;
                answer.map_err(|error| error.to_string())?.read()
            }
            Self::Store { store, book } => Ok(timings(store, &Texts::new(store.clone()), book, since)),
        }
    }

    /// Why a stored lead, rate table or offer is as it is.
    pub async fn explanation(&self, uuid: Uuid) -> Result<LeadExplanation, String> {
        match self {
            Self::Daemon { client, admin } => {
                let answer =
                    client.call(Method::GET, &format!("{admin}/leads/{uuid}/explanation"), None).await;
                let answer = answer.map_err(|error| error.to_string())?;
                if answer.status != StatusCode::NOT_FOUND {
                    return answer.read();
                }
                let ready = client.call(Method::GET, &format!("{admin}/readyz"), None).await;
                Err(unknown(uuid, ready.is_ok_and(|ready| ready.text().contains("degraded"))))
            }
            Self::Store { store, book } => {
                let explained = explanation(store, &Texts::new(store.clone()), book, uuid);
                let explained = explained.map_err(|_| "the store cannot be read".to_owned())?;
                explained.ok_or_else(|| unknown(uuid, store.damages().iter().any(Damage::costs_records)))
            }
        }
    }

    pub async fn pause(&self, what: &Pausable) -> Result<Pause, String> {
        match self {
            Self::Daemon { client, admin } => post(client, &format!("{admin}/partners/pause"), what).await,
            Self::Store { store, book } => {
                if let Some((_, fault)) = what.fault(book) {
                    return Err(fault);
                }
                let paused = Pauses::of(store.clone()).pause(&what.partner, what.product_type).await;
                let pause = paused.map_err(|error| error.to_string())?;
                let (partner, product_type) =
                    (&what.partner, what.product_type.map(|product| product.as_str()));
                audit_by!(operator(), "partner.pause", partner, product_type, "partner paused");
                Ok(pause)
            }
        }
    }

    pub async fn resume(&self, what: &Pausable) -> Result<Resumed, String> {
        match self {
            Self::Daemon { client, admin } => post(client, &format!("{admin}/partners/resume"), what).await,
            Self::Store { store, .. } => {
                let resumed = Pauses::of(store.clone()).resume(&what.partner, what.product_type).await;
                let resumed = resumed.map_err(|error| error.to_string())?;
                if matches!(resumed, Resumed::Ended) {
                    let (partner, product_type) =
                        (&what.partner, what.product_type.map(|product| product.as_str()));
                    audit_by!(operator(), "partner.resume", partner, product_type, "partner resumed");
                }
                Ok(resumed)
            }
        }
    }

    pub fn close(self) -> Result<(), String> {
        match self {
            Self::Daemon { .. } => Ok(()),
            Self::Store { store, .. } => store.close().map_err(|error| error.to_string()),
        }
    }
}

fn unknown(uuid: Uuid, store_is_damaged: bool) -> String {
    let damaged = match store_is_damaged {
        true => {
            "; but the store is damaged, and may have lost it: `offerd store check` names what it has lost"
        }
        false => "",
    };
    format!("no lead, rate table or shown offer has the uuid {uuid}; an erased lead has none either{damaged}")
}

/// Why nobody keeps the partners.
pub enum Trouble {
    /// The partner files have faults.
    Faults(Vec<Fault>),
    /// Anything else.
    Other(String),
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Self::Other(message)
    }
}

/// Where the seats stand of the daemon that runs on the configured store; nothing when none runs.
pub async fn running_standings(settings: &Settings) -> Result<Vec<SeatStanding>, String> {
    match Client::of_daemon(settings).await? {
        Some((client, admin)) => standings(&client, &admin).await,
        None => Ok(Vec::new()),
    }
}

async fn standings(client: &Client, admin: &str) -> Result<Vec<SeatStanding>, String> {
    let answer = client.call(Method::GET, &format!("{admin}/partners"), None).await;
    answer.map_err(|error| error.to_string())?.read()
}

async fn post<T: DeserializeOwned>(client: &Client, url: &str, body: &impl Serialize) -> Result<T, String> {
    let body = serde_json::to_vec(body).map_err(|error| error.to_string())?;
    client.call(Method::POST, url, Some(body)).await.map_err(|error| error.to_string())?.read()
}
