//! Check of the store: its format, its master key, and whether it is free or held by our daemon.

use std::io::{self, ErrorKind};

use rustix::fs::{Access, access};

use super::machine::{REPLACE, has_failed};
use super::{DoctorCheck, Finding};
use crate::cli::permit;
use crate::cli::prelude::*;
use offerd_admin::master_key::SealedWith;
use offerd_store::audit::{AuditLog, AuditVerdict};
use offerd_store::{DISK_FULL, DatabaseFigures, FORMAT, FileDamage, StoreError};

const CHECK: DoctorCheck = DoctorCheck("store");

const DAMAGED: &str = "`offerd store check` names the lost records; `offerd store salvage` rebuilds the store from the rest and the last backup";

const SKEW_MS: u64 = 1000;

const POOLER: &str = "have the pooler in front of the database keep a session for each connection (PgBouncer: `pool_mode = session`), or \
                      name the database itself in `store.postgres.url`";

/// Error states of a database for a statement that another session has prepared.
const OF_ANOTHER_SESSION: [&str; 2] = ["SQLSTATE 26000", "SQLSTATE 42P05"];

const FREE_SPACE: &str = "free space on its disk, then start the daemon";

const AUDIT: &str = "the chain of the audit is broken";

const CHANGED: &str =
    "compare `offerd audit list` with that of a backup: records that differ were changed or damaged";

/// The daemon that holds the store, if one runs; or an error when it hangs.
type Daemon = Result<Option<AdminClient>, String>;

/// Id of the master key that a running daemon's store is sealed with; it may differ from the configured one.
pub async fn sealed_with(daemon: &Daemon) -> Option<String> {
    let Ok(Some(daemon)) = daemon else { return None };
    daemon.ask(Method::GET, "/masterKey").await.ok().map(|SealedWith { key }| key)
}

/// Checks whether a start would open the store.
pub async fn store(settings: &StoreSettings, daemon: &Daemon) -> Finding {
    match daemon {
        Ok(None) => match settings.database() {
            Some(_) => of_database(settings),
            None => of_stopped(settings),
        },
        Ok(Some(daemon)) => held(daemon).await,
        Err(unread) if has_failed(unread) => CHECK.wrong(unread, REPLACE),
        Err(hangs) => CHECK.wrong(hangs, "without it the store cannot be checked"),
    }
}

fn of_stopped(settings: &StoreSettings) -> Finding {
    let path = crate::cli::whole(&settings.path);
    let path = path.display();
    if let Some(fault) = Store::format_fault(&settings.path) {
        return unopened(&fault);
    }
    match settings.path.join("lock").try_exists().map(|_| Store::exists(&settings.path)) {
        Ok(true) => {
            if let Err(error) = may_change(&settings.path) {
                let found = match error.kind() {
                    ErrorKind::ReadOnlyFilesystem => "is on a file system that is mounted read-only",
                    _ => "exists, but this user cannot read and write it",
                };
                return CHECK.wrong(format!("{path} {found}"), permit(&error));
            }
        }
        Ok(false) => return CHECK.good(format!("none in {path} yet; the first start makes it")),
        Err(error) => {
            return CHECK.wrong(format!("{path} cannot be read: {error}"), permit(&error));
        }
    }
    let opened = Store::open(StoreOptions::from(settings)).and_then(|store| {
        let audit = AuditLog::of(store.clone()).verify().ok().and_then(|verdict| verdict.broken);
        store.close().map(|()| (store.master_key_id(), store.damages(), audit))
    });
    match opened {
        Ok((key, _, Some(broken))) => {
            CHECK.wrong(format!("{path}, which master key {key} opens: {AUDIT}: {broken}"), CHANGED)
        }
        Ok((key, damages, None)) => {
            of_opened(&format!("{path} has format {FORMAT}, and master key {key} opens it"), &damages)
        }
        Err(error) => unopened(&error),
    }
}

/// Checks whether a start would accept the database. An empty database is left empty.
fn of_database(settings: &StoreSettings) -> Finding {
    let place = settings.location();
    match Store::database_figures(&StoreOptions::from(settings)) {
        Ok(None) => CHECK.good(format!("{place} answers and has no tables yet; the first start makes them")),
        Ok(Some(DatabaseFigures { version: found, known, .. })) if found != known => {
            unopened(&StoreError::Tables { found, known })
        }
        Ok(Some(figures)) => {
            if let Some(wrong) = figures.sealed_with.as_deref().and_then(|needed| other_key(settings, needed))
            {
                return wrong;
            }
            if !figures.keeps_sessions {
                let found =
                    format!("{place} gives one session to several connections: a pooler is in front of it");
                return CHECK.wrong(found, POOLER);
            }
            let (took, skew) = (figures.status.round_trip, figures.status.clock_ahead_ms);
            let found = format!("{place} answers within {took:?}, tables of version {}", figures.version);
            match skew.unsigned_abs() > SKEW_MS {
                true => CHECK.wrong(
                    format!("{found}, and this machine's clock is {skew} ms ahead of its own"),
                    "synchronise both, by NTP for example: clocks may differ by at most a second",
                ),
                false => CHECK.good(format!("{found}; clocks differ by {skew} ms")),
            }
        }
        Err(error) => unopened(&error),
    }
}

/// A finding when the configured master key is not the one that the database's keys are sealed with.
fn other_key(settings: &StoreSettings, needed: &str) -> Option<Finding> {
    let given = MasterKey::find(settings.master_key_file.as_deref(), &settings.path).ok()?;
    let found = match given {
        Some(key) if key.id() == needed => return None,
        Some(key) => format!("{} has {}", key.source(), key.id()),
        None => "none is given".to_owned(),
    };
    let found =
        format!("the keys in {} are sealed with master key {needed}, and {found}", settings.location());
    Some(CHECK.wrong(found, "give every node the same key file as `store.master_key_file`"))
}

/// The finding for a store that opens: each file exists, has its length and a valid header; also reports
/// known damage. Records are not read.
fn of_opened(opened: &str, damages: &[FileDamage]) -> Finding {
    let mut costly = damages.iter().filter(|damage| damage.costs_records());
    match (costly.next(), costly.count()) {
        (None, _) => CHECK.good(format!("{opened}; to read every record, run `offerd store check`")),
        (Some(first), more) => {
            let more = if more == 0 { String::new() } else { format!(", and {more} more") };
            CHECK.wrong(format!("{opened}, but it is damaged: {first}{more}"), DAMAGED)
        }
    }
}

/// Whether this user has the permissions that a start needs.
fn may_change(store: &Path) -> io::Result<()> {
    let paths = [store.to_owned(), store.join("lock")];
    let mut present = paths.iter().filter(|path| path.exists());
    present.try_for_each(|path| Ok(access(path, Access::READ_OK | Access::WRITE_OK)?))
}

async fn held(daemon: &AdminClient) -> Finding {
    let answer = match daemon.call(Method::GET, "/readyz").await {
        Ok(answer) => answer,
        Err(error) => return CHECK.wrong(error, "see the daemon's log"),
    };
    if !answer.status.is_success() {
        let found = format!("the running daemon is not ready for leads: {}", answer.text().trim_end());
        return CHECK.wrong(found, "follow that message; the daemon's log has more");
    }
    if let Some(degraded) = answer.text().strip_prefix("ready, degraded: ") {
        let found = format!("open in the running daemon, which accepts leads and is degraded: {degraded}");
        return CHECK.wrong(found, DAMAGED);
    }
    match daemon.ask(Method::GET, "/audit/verdict").await {
        Ok(AuditVerdict { broken: Some(broken), .. }) => {
            CHECK.wrong(format!("open in the running daemon, and {AUDIT}: {broken}"), CHANGED)
        }
        _ => CHECK.good("open in the running daemon, which accepts leads"),
    }
}

fn unopened(error: &StoreError) -> Finding {
    let next = match error {
        StoreError::Owner { .. } => "run it as the user that the daemon runs as",
        StoreError::Locked { .. } => "stop the process that holds it, or set another `store.path`",
        StoreError::Foreign { .. } => "set another `store.path`",
        StoreError::Format { .. } => "start the offerd version that wrote it, or set another `store.path`",
        StoreError::Sealing(_) => {
            "give the key that the message names; without it only a backup with its own key helps"
        }
        StoreError::Database(said) if OF_ANOTHER_SESSION.iter().any(|state| said.contains(state)) => POOLER,
        StoreError::Database(_) => {
            "check `store.postgres`, and that the database runs, with `psql` for example"
        }
        StoreError::Tables { .. } => {
            "install the offerd version that made them, or set `store.postgres.url` to an empty database"
        }
        StoreError::Unfinished => "repeat `offerd store copy`, or set another place",
        StoreError::Io { source, .. } if is_forbidden(source) => permit(source),
        StoreError::Io { source, .. } if source.kind() == ErrorKind::InvalidInput => {
            "set `store.path` to a directory, or to a place where one can be made"
        }
        StoreError::Io { source, .. } if source.kind() == ErrorKind::StorageFull => FREE_SPACE,
        error if error.to_string().contains(DISK_FULL) => FREE_SPACE,
        error if has_failed(&error.to_string()) => REPLACE,
        _ => "check the disk; `offerd restore` rebuilds the store from the last backup",
    };
    CHECK.wrong(error.to_string(), next)
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{PERMIT, REMOUNT};

    #[test]
    fn what_to_do_follows_from_why_a_store_is_not_opened() {
        let next = |kind: io::ErrorKind| {
            unopened(&StoreError::Io { path: "data".into(), source: kind.into() }).next.unwrap()
        };
        assert_eq!(next(io::ErrorKind::PermissionDenied), PERMIT);
        assert_eq!(next(io::ErrorKind::ReadOnlyFilesystem), REMOUNT);
        assert!(next(io::ErrorKind::InvalidData).contains("offerd restore"));
        let full = StoreError::Disk(format!("No space left on device {DISK_FULL}"));
        assert_eq!(unopened(&full).next.unwrap(), FREE_SPACE);
        let said = "the database says: prepared statement \"s1\" does not exist (SQLSTATE 26000)";
        assert_eq!(unopened(&StoreError::Database(said.to_owned())).next.unwrap(), POOLER);
    }
}
