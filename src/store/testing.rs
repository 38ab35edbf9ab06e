//! What tests of this crate and of others share: databases for several processes, and how much was looked up.

#![allow(clippy::unwrap_used)] // of tests alone

use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::options::StoreOptions;
use crate::postgres::client::Client;
use crate::{Store, index};
use offerd_base::config::PostgresSettings;

/// The variable with the address of a database in which tests make a schema each.
const VARIABLE: &str = "OFFERD_TEST_POSTGRES";

/// A schema of its own for a test, where there is a database.
pub fn database() -> Option<PostgresSettings> {
    let url = std::env::var(VARIABLE).ok()?;
    let options = |url: String| PostgresSettings {
        url,
        password_file: None,
        ca_file: None,
        connections: 4,
        answer_within: Duration::from_secs(20),
        lease: Duration::from_secs(1),
        node_name: None,
    };
    let name = format!("test_{}", offerd_base::ids::random().simple());
    let client = Client::of(&options(url.clone())).expect("an address");
    let statement = format!("CREATE SCHEMA {name}");
    let made = client.ask(|connection| async move { connection.say(&statement).await });
    made.expect("a schema");
    let separator = if url.contains('?') { '&' } else { '?' };
    Some(options(format!("{url}{separator}options=-c%20search_path%3D{name}")))
}

/// How a test's store is opened, and where its master key is; nothing, and a loud line, where there is no database.
pub(crate) fn options() -> Option<(StoreOptions, TempDir)> {
    let Some(database) = database() else {
        eprintln!("SKIPPED: {VARIABLE} names no database");
        return None;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let options = StoreOptions::new(directory.path().join("store"));
    let (lock_wait, mend_interval) = (Duration::ZERO, Duration::from_millis(1));
    Some((StoreOptions { database: Some(database), lock_wait, mend_interval, ..options }, directory))
}

/// A database for the processes of a test, each with a directory of its own.
pub struct Nodes {
    /// How each process opens its store.
    pub options: StoreOptions,
    directory: TempDir,
}

impl Nodes {
    /// Nothing, and a loud line, where there is no database.
    pub fn new() -> Option<Self> {
        let (mut options, directory) = options()?;
        // None lapses because the machine is slow.
        options.database.as_mut()?.lease = Duration::from_secs(60);
        Some(Self { options, directory })
    }

    /// The first of them, which leads.
    pub fn first(&self) -> Store {
        let store = Store::open_inline_with(&self.options).unwrap();
        Self::lead(&store);
        store
    }

    /// Another.
    pub fn beside(&self, name: &str) -> Store {
        beside(&self.options, &self.directory, name)
    }

    /// Has one lead, as it does once no other does.
    pub fn lead(store: &Store) {
        store.stand(String::new());
        let leads = store.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(leads.until_it_leads());
        })
        .join()
        .unwrap();
    }
}

/// Another process on the same database, in a directory of its own, with the same master key.
pub(crate) fn beside(options: &StoreOptions, directory: &TempDir, name: &str) -> Store {
    let key = directory.path().join("store.key");
    let path = directory.path().join(name);
    Store::open_inline_with(&StoreOptions { path, master_key_file: Some(key), ..options.clone() }).unwrap()
}

/// Two processes on a database of their own, and the directory that they are in; nothing, and a loud line, where there is no database.
pub fn two_nodes() -> Option<([Store; 2], TempDir)> {
    let (options, directory) = options()?;
    let first = Store::open_inline_with(&options).unwrap();
    let second = beside(&options, &directory, "second");
    Some(([first, second], directory))
}

impl Store {
    /// How many keys were looked up in indexes on this thread.
    pub fn look_ups() -> usize {
        index::LOOK_UPS.get()
    }
}
