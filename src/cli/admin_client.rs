//! Whoever keeps the store now, as commands speak to them: the running daemon, over its admin listener, or its handlers in this
//! process, over the store that the command opens. A command does not see which of them answers.

use hyper::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::{Answer, Client, Lines, Pieces};
use super::trouble::Trouble;
use crate::admin::StoppedAdmin;
use crate::config::Settings;
use crate::experiments::Rules as Experiments;
use crate::partners::Book;
use crate::postbacks::Subscriptions;
use crate::run_file::RunFile;
use crate::store::{Damage, Store};

/// A client of the admin routes.
pub struct AdminClient {
    client: Client,
    /// That of a stopped daemon.
    store: Option<Store>,
}

impl AdminClient {
    /// The running daemon, or else the store, without its partners.
    pub async fn find(settings: &Settings) -> Result<Self, Trouble> {
        Self::find_or(settings, || Ok((super::open_store(settings)?, Book::of(Vec::new())))).await
    }

    /// The running daemon, or else the store with the partner files. They are read only for the latter: a running daemon is
    /// not to be kept from its work by a fault in them.
    pub async fn find_with_partners(settings: &Settings) -> Result<Self, Trouble> {
        let open = || {
            let book = Book::load(&settings.partners.path).map_err(Trouble::Faults)?;
            Ok((super::open_store(settings)?, book))
        };
        Self::find_or(settings, open).await
    }

    /// The running daemon, or else the store with the files of partners and experiments, which must be good then.
    pub async fn find_with_experiments(settings: &Settings) -> Result<Self, Trouble> {
        let open = || {
            let book = Book::load(&settings.partners.path).map_err(Trouble::Faults)?;
            Experiments::load(settings, Some(&book)).map_err(Trouble::Faults)?;
            Ok((super::open_store(settings)?, book))
        };
        Self::find_or(settings, open).await
    }

    /// The running daemon, or else the store with the files of postbacks, which must be good then.
    pub async fn find_with_postbacks(settings: &Settings) -> Result<Self, Trouble> {
        let open = || {
            Subscriptions::load(&settings.postbacks).map_err(Trouble::Faults)?;
            Ok((super::open_store(settings)?, Book::of(Vec::new())))
        };
        Self::find_or(settings, open).await
    }

    /// The running daemon, or else the store. Where there is none it is made, and that is reported: another may be meant.
    pub async fn find_or_make(settings: &Settings) -> Result<Self, Trouble> {
        let open = || {
            let made = !super::is_there(&settings.store)?;
            let store = super::open_or_make_store(settings)?;
            if made {
                let place = super::whole(&settings.store.path);
                tell!("there was no store at `store.path` ({}); it has been made", place.display());
            }
            Ok((store, Book::of(Vec::new())))
        };
        Self::find_or(settings, open).await
    }

    async fn find_or(
        settings: &Settings,
        open: impl FnOnce() -> Result<(Store, Book), Trouble>,
    ) -> Result<Self, Trouble> {
        if let Some(daemon) = Self::of_daemon(settings).await? {
            return Ok(daemon);
        }
        let (store, book) = open()?;
        let client = Client::in_process(StoppedAdmin::new(store.clone(), book, settings));
        Ok(Self { client, store: Some(store) })
    }

    /// The daemon that runs on the configured store, if one does.
    ///
    /// # Errors
    /// That there is one, and it hangs.
    pub async fn of_daemon(settings: &Settings) -> Result<Option<Self>, String> {
        let Some(running) = RunFile::read(&settings.store.path)? else { return Ok(None) };
        let client = Client::of_daemon(running.admin, running.admin_key, settings)?;
        // A file without a daemon is left over from one that was killed.
        let served = client.is_served("/tokens").await.map_err(|error| error.to_string())?;
        Ok(served.then_some(Self { client, store: None }))
    }

    /// Whether the store is known to have lost records.
    pub async fn knows_of_damage(&self) -> bool {
        match &self.store {
            Some(store) => store.damages().iter().any(Damage::costs_records) || store.broken_records() > 0,
            None => {
                let ready = self.call(Method::GET, "/readyz").await;
                ready.is_ok_and(|ready| ready.text().contains("degraded"))
            }
        }
    }

    /// Warns of a list that may lack what is damaged.
    pub async fn warn_of_damage(&self) {
        if self.knows_of_damage().await {
            tell!(
                "the store is damaged, and what cannot be read is not listed: `offerd store check` names it"
            );
        }
    }

    /// Whether no daemon runs, and the store is ours.
    pub fn is_stopped(&self) -> bool {
        self.store.is_some()
    }

    /// Where a path of the daemon is reached.
    pub fn url(&self, path: &str) -> String {
        self.client.url(path)
    }

    /// Asks for something, or has something done that needs no order.
    pub async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str) -> Result<T, String> {
        self.call(method, path).await?.read()
    }

    /// The same, of something that may not be there.
    pub async fn find_one<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
    ) -> Result<Option<T>, String> {
        let answer = self.call(method, path).await?;
        if answer.status == StatusCode::NOT_FOUND { Ok(None) } else { answer.read().map(Some) }
    }

    /// Has something done as ordered.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, order: &impl Serialize) -> Result<T, String> {
        let answer = self.client.call(Method::POST, path, Some(json(order)?)).await;
        answer.map_err(|error| error.to_string())?.read()
    }

    /// Has something done, and reads line by line how it goes on.
    pub async fn lines(&self, path: &str, order: &impl Serialize) -> Result<Lines<'_>, String> {
        self.client.lines(path, json(order)?).await
    }

    /// Asks for something that arrives piece by piece.
    pub async fn pieces(&self, path: &str) -> Result<Pieces<'_>, String> {
        self.client.pieces(path).await
    }

    /// Asks, whatever the answer is.
    pub async fn call(&self, method: Method, path: &str) -> Result<Answer, String> {
        self.client.call(method, path, None).await.map_err(|error| error.to_string())
    }

    /// Closes the store, where it is ours.
    pub fn close(self) -> Result<(), String> {
        self.store.map_or(Ok(()), |store| store.close().map_err(|error| error.to_string()))
    }
}

fn json(order: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(order).map_err(|error| error.to_string())
}
