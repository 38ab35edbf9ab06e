//! Checks of the file limit and the disk.

use rustix::fs::{Access, access, statvfs};
use rustix::io::Errno;

use super::{DoctorCheck, Finding};
use crate::cli::REMOUNT;
use crate::cli::prelude::*;
use crate::daemon::Descriptors;
use offerd_store::{START_BYTES, has_ballast};

/// Listeners that clients and partners connect to, each with up to `api.max_connections`.
const LISTENERS: u64 = 2;

/// Descriptors besides connections: the store, logs, and a margin for both.
const OTHER_FILES: u64 = 128;

/// Warn below this multiple of `store.reserve_bytes`.
const COMFORT: u64 = 4;

/// Checks that the descriptor limit suffices for all connections, and that the reserved share leaves clients
/// enough.
///
/// `limit` is that of the running daemon, infinity for none; without a daemon that of this process counts.
pub fn files(settings: &Settings, book: Option<&Book>, limit: Option<f64>) -> Finding {
    const CHECK: DoctorCheck = DoctorCheck("file limit");
    let Some(book) = book else {
        let found = "depends on the connections to partners, whose files have faults";
        return CHECK.unknown(found, "fix the partner files first");
    };
    let clients = LISTENERS * settings.api.max_connections as u64;
    let partners = book.seats().iter().filter_map(|seat| seat.http.as_ref());
    let partners: u64 = partners.map(|source| source.wire.concurrency as u64).sum();
    let needed = clients + partners + OTHER_FILES;
    let reserved = settings.limits.reserved_descriptors;
    let of_daemon = |limit: f64| Descriptors { most: limit.is_finite().then_some(limit as u64) };
    let descriptors = limit.map_or_else(Descriptors::there_are, of_daemon);
    let Some(limit) = descriptors.most else {
        return CHECK.good("no limit on open files");
    };
    let left = descriptors.shared(reserved).public as u64;
    let wanted = needed.max(clients + reserved as u64);
    let next = format!(
        "`LimitNOFILE={wanted}` in the unit, or `ulimit -Hn {wanted}`, or a smaller `api.max_connections`"
    );
    match limit {
        limit if limit < Descriptors::FEWEST => {
            CHECK.wrong(format!("{limit} open files, too few to serve clients"), next)
        }
        limit if limit < needed || left < clients => {
            let found = format!(
                "{limit} open files, {left} of them for clients; the connections that the settings allow need {wanted}"
            );
            CHECK.look(found, next)
        }
        limit => CHECK.good(format!("{limit} open files, at most {needed} are needed")),
    }
}

/// What to do about a disk that has failed.
pub const REPLACE: &str = "see `dmesg`; replace or reconnect the disk; if the store does not open then, `offerd restore` the last backup";

/// Whether an error of the system, also within a text, is that of a disk that has failed.
pub fn has_failed(error: &str) -> bool {
    error.contains("(os error 5)")
}

/// Checks that the store has enough space, in a writable place.
pub fn disk(store: &StoreSettings) -> Finding {
    const CHECK: DoctorCheck = DoctorCheck("disk");
    let path = std::path::absolute(&store.path).unwrap_or_else(|_| store.path.clone());
    // A missing directory will be created in its nearest existing ancestor.
    let there = path.ancestors().find(|part| part.try_exists().unwrap_or(true)).unwrap_or(Path::new("/"));
    let shown = there.display();
    if let Err(error) = std::fs::read_dir(there)
        && has_failed(&error.to_string())
    {
        return CHECK.wrong(format!("the disk at {shown} has failed: it cannot be read ({error})"), REPLACE);
    }
    let accessible = access(there, Access::WRITE_OK | Access::EXEC_OK);
    if accessible == Err(Errno::ROFS) {
        return CHECK.wrong(format!("{shown} is on a file system that is mounted read-only"), REMOUNT);
    }
    if accessible.is_err() {
        let next = "give it to the user that the daemon runs as, or set another `store.path`";
        return CHECK.wrong(format!("{shown} is not a directory, or this user cannot write to it"), next);
    }
    let disk = match statvfs(there) {
        Ok(disk) => disk,
        Err(error) => {
            return CHECK
                .unknown(format!("the free space of {shown} cannot be read: {error}"), "check with `df`");
        }
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let (room, reserve) = (bytes(free), bytes(store.reserve_bytes));
    if free < START_BYTES && !has_ballast(there) {
        let told = format!("{room} free at {shown}, less than the {} that a start needs", bytes(START_BYTES));
        CHECK.wrong(told, "free space: delete old backups first")
    } else if free < store.reserve_bytes {
        let found = format!(
            "{room} free, less than `store.reserve_bytes` ({reserve}): the daemon would refuse new leads"
        );
        CHECK.wrong(found, "free space: delete old backups first")
    } else if free < store.reserve_bytes.saturating_mul(COMFORT) {
        let found = format!("{room} free; below {reserve} the daemon refuses new leads");
        CHECK.look(found, "free space before that: a lead with 20 offers takes about 6 KB")
    } else {
        CHECK.good(format!("{room} free at {shown}, {reserve} of it in reserve"))
    }
}

fn bytes(count: u64) -> String {
    indicatif::HumanBytes(count).to_string()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_disk_that_has_failed_is_told_from_a_full_one_and_from_one_that_may_not_be_read() {
        let is_told = |code| has_failed(&format!("`x`: {}", io::Error::from_raw_os_error(code)));
        assert_eq!(
            [Errno::IO, Errno::NOSPC, Errno::ACCESS].map(|of| is_told(of.raw_os_error())),
            [true, false, false]
        );
    }
}
