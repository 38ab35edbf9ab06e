//! Commands that another user gives than the daemon's: refused with what to do, before anything is left that the daemon cannot read.
//! Only root can play other users; everybody else is told that nothing was tried.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Output;

use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, Plan, Stopped, sample};

/// A user of no name, and one who is nobody's owner.
const DAEMON: u32 = 54_321;
const STRANGER: u32 = 54_322;

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        eprintln!("SKIPPED: only root can give commands as other users");
    }
    is_root
}

fn run_as(plan: &Plan, user: u32, arguments: &[&str]) -> Output {
    plan.command(arguments).uid(user).gid(user).output().unwrap()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The store of a daemon that ran as a user of its own, with all that is beside it.
async fn of_another_user() -> Stopped {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    assert_eq!(daemon.submit(sample("personal_loan")).await.status, 200);
    let backup = daemon.file("of.backup");
    assert!(daemon.command(&["backup", backup.to_str().unwrap()]).status.success());
    // Killed, so that the next to open it has something to do.
    let stopped = daemon.kill();
    give(stopped.plan.directory());
    fs::set_permissions(stopped.plan.directory(), fs::Permissions::from_mode(0o755)).unwrap();
    stopped
}

fn give(path: &Path) {
    chown(path, Some(DAEMON), Some(DAEMON)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
    }
}

/// Each file below a directory, with its owner and its length.
fn files(path: &Path) -> Vec<(String, u32, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let about = entry.metadata().unwrap();
        match about.is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push((entry.path().display().to_string(), about.uid(), about.len())),
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn root_leaves_nothing_in_the_store_that_the_daemon_cannot_read() {
    if !is_root() {
        return;
    }
    let stopped = of_another_user().await;
    let plan = &stopped.plan;
    let before = files(&plan.store());
    let path = |name: &str| plan.directory().join(name).display().to_string();
    let (salvaged, export, backup) = (path("salvaged"), path("export"), path("of.backup"));
    let commands: [&[&str]; 7] = [
        &["store", "check"],
        &["token", "list"],
        &["backup", "another.backup"],
        &["export", &export],
        &["store", "salvage", "--into", &salvaged],
        &["partners", "list"],
        &["serve"],
    ];
    for command in commands {
        let output = run_as(plan, 0, command);
        let (code, told) = (output.status.code(), error(&output) + &String::from_utf8_lossy(&output.stdout));
        assert_eq!(code, Some(1), "{command:?}: {told}");
        assert!(told.contains("belongs to user 54321, but you are user root"), "{command:?}: {told}");
        let as_owner = "sudo -u '#54321' -- ";
        assert!(told.contains(as_owner) && told.contains(&command.join(" ")), "{command:?}: {told}");
        assert_eq!(files(&plan.store()), before, "{command:?}");
    }
    let empty = path("empty");
    fs::create_dir(&empty).unwrap();
    give(Path::new(&empty));
    let restored = run_as(plan, 0, &["restore", &backup, "--into", &empty]);
    assert!(error(&restored).contains("belongs to user 54321"), "{}", error(&restored));

    let own = run_as(plan, DAEMON, &["store", "check"]);
    assert!(own.status.success(), "{}", error(&own));
}

#[tokio::test]
async fn who_may_not_read_the_master_key_is_told_where_it_is_needed_and_nowhere_else() {
    if !is_root() {
        return;
    }
    let stopped = of_another_user().await;
    let plan = &stopped.plan;
    let checked = run_as(plan, STRANGER, &["check"]);
    assert!(checked.status.success(), "{}", error(&checked));
    let lead = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/leads/personal_loan.json");
    for command in [
        &["partners", "cases"][..],
        &["lead", "submit", lead.to_str().unwrap(), "--url", "http://127.0.0.1:1"],
    ] {
        // There are no cases, and nobody listens.
        let output = run_as(plan, STRANGER, command);
        assert!(!error(&output).contains("master key"), "{command:?}: {}", error(&output));
    }
    let backup = plan.directory().join("of.backup");
    fs::set_permissions(&backup, fs::Permissions::from_mode(0o644)).unwrap();
    for command in [&["serve"][..], &["store", "check"], &["restore", "--check", backup.to_str().unwrap()]] {
        let output = run_as(plan, STRANGER, command);
        assert!(!output.status.success(), "{command:?}");
        let told = error(&output) + &String::from_utf8_lossy(&output.stdout);
        assert!(told.contains("the user that the daemon runs as"), "{command:?}: {told}");
    }
}

/// The store's directory is theirs, and the one beside which the key would be is not.
#[test]
fn where_no_master_key_can_be_made_no_store_is_begun() {
    if !is_root() {
        return;
    }
    let plan = Daemon::with_partners(prompt_partners(1)).in_files();
    fs::set_permissions(plan.directory(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(plan.store()).unwrap();
    chown(plan.store(), Some(STRANGER), Some(STRANGER)).unwrap();
    let output = run_as(&plan, STRANGER, &["serve"]);
    let told = error(&output);
    assert!(!output.status.success() && told.contains("a key was to be made there"), "{told}");
    assert_eq!(fs::read_dir(plan.store()).unwrap().count(), 0, "{told}");
}
