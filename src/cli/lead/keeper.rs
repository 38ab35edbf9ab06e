//! Who keeps what is known of a person now: the running daemon, or else the store.

use hyper::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::admin::leads::told;
use crate::cli::client::{Answer, Client};
use crate::cli::no_answer::NoAnswer;
use crate::cli::operator::operator;
use crate::config::Settings;
use crate::matching::erasure::{self, Erasure};
use crate::matching::lines::Lines;
use crate::matching::texts::Texts;
use crate::matching::{Engine, Rules, dossier};
use crate::partners::Book;
use crate::store::Store;

/// Who keeps the leads now.
pub enum Keeper {
    /// A running daemon, at the address of its admin listener.
    Daemon { client: Client, admin: String },
    /// The store of a stopped one.
    Store { store: Store, engine: Box<Engine> },
}

impl Keeper {
    /// The running daemon, or else the store.
    pub async fn find(settings: &Settings) -> Result<Self, String> {
        if let Some((client, admin)) = Client::of_daemon(settings).await? {
            return Ok(Self::Daemon { client, admin });
        }
        crate::cli::log_as_the_daemon_does(settings);
        let store = crate::cli::open_store(settings)?;
        // Nobody is asked for offers, and those that were made are shown with the texts that the store has.
        let (texts, book) = (Texts::new(store.clone()), Book::of(Vec::new()));
        let (lines, rules) = (Lines::new(settings.wire), Rules::from(settings));
        let base_url = settings.api.base_url.clone().unwrap_or_default();
        let engine = Engine::new(store.clone(), texts, book, lines, rules, base_url);
        Ok(Self::Store { store, engine: Box::new(engine) })
    }

    /// Erases a lead, and tells what that did.
    pub async fn erase(&self, lead: Uuid) -> Result<Erasure, String> {
        match self {
            Self::Daemon { client, admin } => {
                read(client.call(Method::DELETE, &url(admin, lead), None).await, lead)
            }
            Self::Store { engine, .. } => {
                let erased = erasure::erase(engine, lead).await;
                let erasure = erased.map_err(|_| unavailable())?.ok_or_else(|| unknown(lead))?;
                told("lead.erase", lead, &operator());
                Ok(erasure)
            }
        }
    }

    /// Everything that is held on the person of a lead, as JSON.
    pub async fn dossier(&self, lead: Uuid) -> Result<Box<RawValue>, String> {
        match self {
            Self::Daemon { client, admin } => {
                read(client.call(Method::GET, &url(admin, lead), None).await, lead)
            }
            Self::Store { engine, .. } => {
                let read = dossier::dossier(engine, lead).map_err(|_| unavailable())?;
                let dossier = raw(&read.ok_or_else(|| unknown(lead))?)?;
                told("lead.export", lead, &operator());
                Ok(dossier)
            }
        }
    }

    /// Closes the store, where it is ours.
    pub fn close(self) -> Result<(), String> {
        match self {
            Self::Daemon { .. } => Ok(()),
            Self::Store { store, .. } => store.close().map_err(|error| error.to_string()),
        }
    }
}

/// What a daemon answers about a lead.
fn read<T: DeserializeOwned>(answer: Result<Answer, NoAnswer>, lead: Uuid) -> Result<T, String> {
    let answer = answer.map_err(|error| error.to_string())?;
    if answer.status == StatusCode::NOT_FOUND { Err(unknown(lead)) } else { answer.read() }
}

fn url(admin: &str, lead: Uuid) -> String {
    format!("{admin}/leads/{lead}")
}

fn raw(value: &impl Serialize) -> Result<Box<RawValue>, String> {
    serde_json::value::to_raw_value(value).map_err(|error| error.to_string())
}

fn unknown(lead: Uuid) -> String {
    format!(
        "there is no lead {lead}, or it has been erased; `lead submit` and `explain` tell the uuid of a lead"
    )
}

fn unavailable() -> String {
    "the store cannot be read or written; what is wrong with it is told above".to_owned()
}
