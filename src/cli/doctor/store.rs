//! The store: of a format that is known, opened by the key, free or held by our own daemon.

use hyper::Method;

use super::Finding;
use crate::cli::client::Client;
use crate::config::StoreSettings;
use crate::store::{FORMAT, Store, StoreError, StoreOptions};

const CHECK: &str = "store";

/// Whether a start would open the store. One that is to be rewritten first is left as it is.
pub async fn store(settings: &StoreSettings, daemon: Option<&(Client, String)>) -> Finding {
    if let Some((client, admin)) = daemon {
        return held(client, admin).await;
    }
    let path = settings.path.display();
    if !Store::exists(&settings.path) {
        return Finding::good(CHECK, format!("none in {path} yet; the first start makes it"));
    }
    match Store::format(&StoreOptions::from(settings)) {
        Ok(Some(format)) if format < FORMAT => {
            let found = format!(
                "of format {format}, this offerd has {FORMAT}: the next start brings it there, for good"
            );
            return Finding::look(
                CHECK,
                found,
                "take a backup with the offerd of before, and have as much room again",
            );
        }
        Ok(None) => {
            let found = format!("{path} holds no records yet: the next start makes a store there");
            return Finding::look(
                CHECK,
                found,
                "if there should be some, `store.path` may name the wrong directory",
            );
        }
        Ok(Some(_)) => {}
        Err(error) => return unopened(&error),
    }
    let opened = Store::open(StoreOptions::from(settings))
        .and_then(|store| store.close().map(|()| store.master_key_id()));
    match opened {
        Ok(key) => Finding::good(CHECK, format!("{path} has format {FORMAT}, and master key {key} opens it")),
        Err(error) => unopened(&error),
    }
}

/// What the daemon that has it says.
async fn held(client: &Client, admin: &str) -> Finding {
    match client.call(Method::GET, &format!("{admin}/readyz"), None).await {
        Ok(answer) if answer.status.is_success() => {
            Finding::good(CHECK, "open in the running daemon, which takes leads")
        }
        Ok(answer) => {
            let next = format!("`curl {admin}/readyz` says why, and so does the daemon's log");
            Finding::wrong(CHECK, format!("the running daemon takes no leads ({})", answer.status), next)
        }
        Err(error) => Finding::wrong(CHECK, error.to_string(), "look at the daemon's log"),
    }
}

fn unopened(error: &StoreError) -> Finding {
    let next = match error {
        StoreError::Locked { .. } => "stop what holds it, or set another `store.path`",
        StoreError::Newer { .. } => "install that newer offerd again, or restore a backup of before",
        StoreError::Sealing(_) => {
            "give the key that the message names; without it only a backup with its own key helps"
        }
        StoreError::Foreign { .. } => "set another `store.path`",
        _ => "look at the disk; `offerd restore` makes a store of the last backup",
    };
    Finding::wrong(CHECK, error.to_string(), next)
}
