//! Check of the system clock: feeds are ordered by arrival time, and caps and payouts are counted by day.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{DoctorCheck, Finding};

/// Date of this constant, 2026-11-21: an earlier clock is wrong.
const EARLIEST: Duration = Duration::from_secs(1_795_219_200);

/// Tolerated lead of a file's time over the clock, for example on a network drive.
const SLACK: Duration = Duration::from_secs(60);

/// Created by systemd-timesyncd and others once a server has set the clock.
const SYNCHRONIZED: &[&str] = &["/run/systemd/timesync/synchronized", "/var/lib/systemd/timesync/clock"];

/// Exist while a time daemon runs.
const KEEPERS: &[(&str, &str)] =
    &[("/run/chrony/chronyd.pid", "chronyd"), ("/run/chronyd.pid", "chronyd"), ("/run/ntpd.pid", "ntpd")];

const CHECK: DoctorCheck = DoctorCheck("clock");
const NEXT: &str = "set the clock, and keep it right with systemd-timesyncd or chrony";

/// Checks that the clock is plausible and synchronised. `doubt` is what a running daemon finds wrong with it.
pub fn clock(store: &Path, doubt: Option<&str>) -> Finding {
    match doubt {
        Some(doubt) => CHECK.wrong(doubt, NEXT),
        None => judged(SystemTime::now(), newest(store), kept_by(|path| path.exists())),
    }
}

fn judged(now: SystemTime, newest: Option<SystemTime>, keeper: Option<String>) -> Finding {
    if now < UNIX_EPOCH + EARLIEST {
        return CHECK.wrong("it is in the past: before this program was built", NEXT);
    }
    if let Some(ahead) = newest.and_then(|newest| newest.duration_since(now + SLACK).ok()) {
        let ahead = humantime::format_duration(Duration::from_secs(ahead.as_secs().max(1)));
        return CHECK.wrong(format!("it has gone back: the store was written {ahead} later than now"), NEXT);
    }
    match keeper {
        Some(keeper) => CHECK.good(format!("synchronised by {keeper}")),
        None => CHECK.unknown(
            "plausible; synchronisation cannot be checked here",
            "check with `timedatectl` or `chronyc tracking`; in a container the host keeps the clock",
        ),
    }
}

fn kept_by(there: impl Fn(&Path) -> bool) -> Option<String> {
    if SYNCHRONIZED.iter().any(|path| there(Path::new(path))) {
        return Some("systemd-timesyncd".to_owned());
    }
    KEEPERS.iter().find(|(path, _)| there(Path::new(path))).map(|(_, name)| (*name).to_owned())
}

fn newest(store: &Path) -> Option<SystemTime> {
    let directories = [store.to_owned(), store.join("base"), store.join("journal")];
    let files = directories.iter().filter_map(|it| std::fs::read_dir(it).ok()).flatten().flatten();
    files.filter_map(|file| file.metadata().ok()?.modified().ok()).max()
}

#[cfg(test)]
mod tests {
    use super::super::CheckState;
    use super::*;

    #[test]
    fn a_clock_that_is_wrong_is_told_from_one_that_nobody_is_known_to_keep() {
        let now = UNIX_EPOCH + EARLIEST + Duration::from_secs(1000);
        let state = |now, newest, keeper: Option<&str>| judged(now, newest, keeper.map(str::to_owned)).state;
        assert_eq!(state(UNIX_EPOCH, None, Some("chronyd")), CheckState::Wrong);
        assert_eq!(state(now, Some(now + 2 * SLACK), Some("chronyd")), CheckState::Wrong);
        assert_eq!(state(now, Some(now + SLACK / 2), Some("chronyd")), CheckState::Good);
        assert_eq!(state(now, Some(now), None), CheckState::Unknown);
    }

    #[test]
    fn who_keeps_it_is_known_by_a_file() {
        assert_eq!(kept_by(|_| false), None);
        assert_eq!(kept_by(|path| path.ends_with("chronyd.pid")).as_deref(), Some("chronyd"));
        assert_eq!(kept_by(|path| path.ends_with("synchronized")).as_deref(), Some("systemd-timesyncd"));
    }
}
