//! Shared by the tests of this crate and others: databases for several processes, and the count of look-ups.

#![allow(clippy::unwrap_used)] // of tests alone

use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::postgres::client::Client;
use crate::{Store, StoreOptions, index};
use offerd_base::config::PostgresSettings;

/// The variable with the address of a database in which each test makes a schema.
const VARIABLE: &str = "OFFERD_TEST_POSTGRES";

/// A fresh schema for a test; `None` without a database.
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

/// `None`, with a message, without a database.
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

/// A database for the processes of a test, each with its own directory.
pub struct TestNodes {
    /// Options with which each process opens its store.
    pub options: StoreOptions,
    directory: TempDir,
}

impl TestNodes {
    /// `None`, with a message, without a database.
    pub fn new() -> Option<Self> {
        let (mut options, directory) = options()?;
        // Keeps a lease from expiring on a slow machine.
        options.database.as_mut()?.lease = Duration::from_secs(60);
        Some(Self { options, directory })
    }

    /// The first process, which leads.
    pub fn first(&self) -> Store {
        let store = Store::open_inline_with(&self.options).unwrap();
        Self::lead(&store);
        store
    }

    /// Another process.
    pub fn beside(&self, name: &str) -> Store {
        beside(&self.options, &self.directory, name)
    }

    /// Makes a process lead, once no other does.
    pub fn lead(store: &Store) {
        store.become_candidate(String::new());
        let leads = store.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(leads.until_leader());
        })
        .join()
        .unwrap();
    }
}

/// Another process on the same database, with its own directory and the same master key.
pub(crate) fn beside(options: &StoreOptions, directory: &TempDir, name: &str) -> Store {
    let key = directory.path().join("store.key");
    let path = directory.path().join(name);
    Store::open_inline_with(&StoreOptions { path, master_key_file: Some(key), ..options.clone() }).unwrap()
}

/// Two processes on their own database, and their directory; `None`, with a message, without a database.
pub fn two_nodes() -> Option<([Store; 2], TempDir)> {
    let (options, directory) = options()?;
    let first = Store::open_inline_with(&options).unwrap();
    let second = beside(&options, &directory, "second");
    Some(([first, second], directory))
}

impl Store {
    /// The number of index look-ups on this thread.
    pub fn look_ups() -> usize {
        index::LOOK_UPS.get()
    }
}
