//! Check of the master key: present, well-formed, and private to its owner.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{DoctorCheck, Finding};
use crate::cli::PERMIT;
use crate::cli::key::file_of;
use crate::cli::prelude::*;

const CHECK: DoctorCheck = DoctorCheck("master key");

/// Mode bits that let users other than the owner read or write a file.
const OTHERS: u32 = 0o077;

/// Checks that the key exists, is readable by its owner only, and seals a running daemon's store. For a
/// stopped daemon, opening the store checks the last.
pub fn key(store: &StoreSettings, sealed_with: Option<&str>) -> Finding {
    let key = match find(store, sealed_with) {
        Ok(key) => key,
        Err(finding) => return finding,
    };
    let (id, place) = (key.id(), key.source().to_owned());
    match file_of(&key) {
        _ if sealed_with.is_some_and(|needed| needed != id) => {
            let needed = sealed_with.unwrap_or_default();
            let next = format!(
                "name the file that holds {needed} as `store.master_key_file`, or give it as OFFERD_MASTER_KEY or as the systemd credential"
            );
            let found = format!(
                "{id} in {place}, but the running daemon's store is sealed with {needed}: the next start will fail"
            );
            CHECK.wrong(found, next)
        }
        Some(file) if fs::metadata(&file).is_ok_and(|about| about.permissions().mode() & OTHERS != 0) => {
            let next = format!("chmod 600 {}", file.display());
            CHECK.wrong(format!("{id} in {place}, which other users may read"), next)
        }
        Some(file)
            if MasterKey::beside(&store.path) == file && MasterKey::place_for_new(&store.path).is_err() =>
        {
            let found =
                format!("{id} in {place}, beside the volume that is mounted at {}", store.path.display());
            let next = "it is lost with the container: copy it to a permanent place, and name that as `store.master_key_file`";
            CHECK.look(found, next)
        }
        Some(file) if file.parent() == store.path.parent() => {
            let next = "keep it off this disk, and name its place as `store.master_key_file`";
            CHECK.look(
                format!(
                    "{id} in {place}, beside the store: it protects only copies of the store without the key"
                ),
                next,
            )
        }
        _ => CHECK.good(format!("{id} in {place}")),
    }
}

fn find(store: &StoreSettings, sealed_with: Option<&str>) -> Result<MasterKey, Finding> {
    Err(match MasterKey::find(store.master_key_file.as_deref(), &store.path) {
        Ok(Some(key)) => return Ok(key),
        Ok(None) if let Some(needed) = sealed_with => {
            let found =
                format!("the running daemon has {needed}; this user's settings and variables name none");
            let next = "run it as the daemon's user, with the key in OFFERD_MASTER_KEY";
            CHECK.unknown(found, next)
        }
        Ok(None) if Store::exists(&store.path) => {
            let found = "the store has no key to open it";
            let next = "name the key's file as `store.master_key_file`, or give it as OFFERD_MASTER_KEY or as the systemd credential";
            CHECK.wrong(found, next)
        }
        Ok(None) if let Err(error) = MasterKey::place_for_new(&store.path) => {
            CHECK.wrong(error.to_string(), "the first start cannot make a key there")
        }
        Ok(None) => {
            let next = "fine for a trial; otherwise `offerd key create FILE`, and name it as `store.master_key_file`";
            CHECK.look("none given: the first start makes one beside the store", next)
        }
        Err(error) => {
            let next = match &error {
                forbidden if forbidden.is_forbidden() => PERMIT,
                _ => "give the right file, or make a key for a new store with `offerd key create FILE`",
            };
            CHECK.wrong(error.to_string(), next)
        }
    })
}
