//! A store in use: a second process is refused, even if the lock file was changed meanwhile.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, sample, signal};

/// Longest wait for who is to be refused; only who is not reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What would open the store of a stopped daemon: another daemon, and commands that find none.
const SECONDS: [&[&str]; 5] = [
    &["serve"],
    &["token", "list"],
    &["store", "check"],
    &["backup", "made"],
    &["store", "salvage", "--into", "salvaged"],
];

/// What may befall the lock file of a running daemon.
const BEFALLS: [fn(&Path); 3] = [
    |_| {},
    |file| fs::remove_file(file).unwrap(),
    |file| {
        fs::write(file.with_extension("new"), "").unwrap();
        fs::rename(file.with_extension("new"), file).unwrap();
    },
];

/// Runs commands beside a daemon, each to its end.
async fn run_all(daemon: &Daemon) -> Vec<Output> {
    let running = SECONDS.map(|arguments| {
        let child = daemon.spawn(arguments);
        let pid = child.id();
        (arguments, pid, tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()))
    });
    let mut outputs = Vec::new();
    for (arguments, pid, ending) in running {
        let ended = tokio::time::timeout(PATIENCE, ending).await;
        outputs.push(ended.unwrap_or_else(|_| {
            signal(pid, "KILL");
            panic!("{arguments:?} is not refused")
        }));
    }
    outputs.into_iter().map(Result::unwrap).collect()
}

#[tokio::test]
async fn a_second_one_is_refused_though_the_lock_file_is_gone_and_the_first_goes_on() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    // Commands do not find the daemon: they look at the store themselves.
    fs::remove_file(daemon.store().join("daemon.json")).unwrap();
    for befalls in BEFALLS {
        befalls(&daemon.store().join("lock"));
        for (arguments, refused) in SECONDS.into_iter().zip(run_all(&daemon).await) {
            let told = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(1), "{arguments:?}: {told}");
            let sentence = format!(
                "the store `{}` is locked: another offerd is running on it",
                daemon.store().display()
            );
            assert!(told.contains(&sentence), "{arguments:?}: {told}");
            let holder = format!(", process {};", daemon.pid());
            assert!(told.contains(&holder), "{arguments:?}: {told}");
        }
        assert_eq!(daemon.submit(sample("savings")).await.status, 200);
    }
    let stopped = daemon.terminate().1;
    assert!(stopped.plan.command(&["store", "check"]).output().unwrap().status.success());
}
