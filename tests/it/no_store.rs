//! Commands without a store, as in the wrong directory: an error, and nothing is made.

use std::fs;
use std::process::Output;

use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, Plan};

const UUID: &str = "01a1fcce-e71a-773e-b126-2445db4ef9dc";

/// What writes law or rights.
const CHANGES: [&[&str]; 5] = [
    &["token", "create", "--company", "Acme", "--kind", "publishable"],
    &["user", "add", "alice", "--role", "viewer"],
    &["suppressions", "add", "listed", "listed.txt", "--kind", "email", "--plain"],
    &["person", "suppress", "--email", "ada@example.com"],
    &["person", "unsuppress", "--email", "ada@example.com"],
];

/// Everything else that works on the store of a stopped daemon, and makes none.
const COMMANDS: [&[&str]; 17] = [
    &["partners", "list"],
    &["partners", "timing"],
    &["partners", "pause", "prompt_0"],
    &["partners", "resume", "prompt_0"],
    &["token", "list"],
    &["token", "revoke", UUID],
    &["replay"],
    &["explain", UUID],
    &["lead", "erase", UUID],
    &["lead", "export", UUID],
    &["key", "rotate", "--new-key-file", "new.key"],
    &["store", "check"],
    &["backup", "made"],
    &["export", "made"],
    &["events", "import", "reports.csv"],
    &["events", "import", "reports.csv", "--json"],
    &["partners", "list", "--json"],
];

fn plan() -> Plan {
    let plan = Daemon::with_partners(prompt_partners(1));
    fs::write(plan.directory().join("new.key"), "0a".repeat(32)).unwrap();
    fs::write(plan.directory().join("listed.txt"), "ada@example.com\n").unwrap();
    fs::write(plan.directory().join("reports.csv"), "partner,transactionId,eventType,clickId\n").unwrap();
    plan
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What lies in the directory of a plan.
fn files(plan: &Plan) -> Vec<String> {
    let entries = fs::read_dir(plan.directory()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_command_that_makes_no_store_says_that_there_is_none() {
    let plan = plan();
    let before = files(&plan);
    for command in COMMANDS.into_iter().chain(CHANGES) {
        let output = plan.command(command).output().unwrap();
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {told}");
        let wanted = format!("there is no store at `store.path` ({})", plan.store().display());
        assert!(told.contains(&wanted) && told.contains("`--config FILE`"), "{command:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{command:?}: {told}");
        assert_eq!(files(&plan), before, "{command:?}");
    }
}

/// The database of something else, or a file that has the name of our manifest.
#[test]
fn nothing_is_left_in_a_directory_of_something_else() {
    let plan = plan();
    fs::create_dir(plan.store()).unwrap();
    for (name, shown) in [("db", "their database"), ("manifest", "their manifest")] {
        let theirs = plan.store().join(name);
        fs::write(&theirs, shown).unwrap();
        for command in COMMANDS.iter().copied().chain([&["doctor"][..], &["serve"]]) {
            let output = plan.command(command).output().unwrap();
            let told = [output.stdout, output.stderr]
                .map(|told| String::from_utf8_lossy(&told).into_owned())
                .concat();
            assert!(told.contains("that is not of offerd"), "{command:?}: {told}");
            assert_eq!(fs::read_dir(plan.store()).unwrap().count(), 1, "{command:?}");
        }
        fs::remove_file(theirs).unwrap();
    }
}

#[test]
fn a_link_that_leads_nowhere_is_no_new_store() {
    let plan = plan();
    std::os::unix::fs::symlink("not-mounted", plan.store()).unwrap();
    for command in [&["doctor"][..], &["check"], &["serve"]] {
        let output = plan.command(command).output().unwrap();
        let told =
            [output.stdout, output.stderr].map(|told| String::from_utf8_lossy(&told).into_owned()).concat();
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("is a link to `not-mounted`, which does not exist"), "{command:?}: {told}");
        assert!(!output.status.success() && !plan.master_key().exists(), "{command:?}");
    }
}

#[test]
fn a_store_that_cannot_be_looked_for_is_not_told_as_none() {
    // Below a file not even root may look.
    let plan = plan().variable("OFFERD_MASTER_KEY", &"0a".repeat(32));
    let below = plan.directory().join("new.key/store");
    let mut list = plan.command(&["token", "list"]);
    let told = stderr(&list.env("OFFERD__STORE__PATH", &below).output().unwrap());
    assert!(told.contains("cannot be read") && told.contains("it has to name a directory"), "{told}");
    let mut doctor = plan.command(&["doctor"]);
    let output = doctor.env("OFFERD__STORE__PATH", &below).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("cannot be read") && !told.contains("the first start makes it"), "{told}");
    let mut serve = plan.command(&["serve"]);
    let output = serve.env("OFFERD__STORE__PATH", &below).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let named = format!("`store.path` ({})", below.display());
    assert!(told.contains(&named) && told.contains("`offerd doctor`"), "{told}");
}

#[test]
fn what_is_no_directory_or_no_file_is_refused_by_its_name_and_never_waited_for() {
    let plan = plan().variable("OFFERD_MASTER_KEY", &"0a".repeat(32));
    let [pipe, file] = ["pipe", "new.key"].map(|name| plan.directory().join(name));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let shown = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    for (path, what) in [(&pipe, "a pipe"), (&file, "a file")] {
        let output = plan.command(&["check"]).env("OFFERD__STORE__PATH", path).output().unwrap();
        let wanted = format!("`{}` is {what}, want a directory", path.display());
        assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
        assert!(stderr(&output).contains(&wanted), "{}", stderr(&output));
        let into = plan.command(&["restore", &shown(&file), "--into", &shown(path)]).output().unwrap();
        assert!(into.status.code() == Some(1) && stderr(&into).contains(&wanted), "{}", stderr(&into));
    }
    let pipe = shown(&pipe);
    for command in [
        &["restore", "--check", &pipe][..],
        &["--config", &pipe, "check"],
        &["lead", "submit", &pipe],
        &["import", &pipe],
        &["events", "import", &pipe, "--dry-run"],
        &["suppressions", "add", "list", &pipe, "--kind", "email"],
    ] {
        let output = plan.command(command).env_remove("OFFERD_CONFIG").output().unwrap();
        let told = stderr(&output);
        assert!(told.contains("it is not a regular file") && told.contains(&pipe), "{command:?}: {told}");
    }
}

/// Partner files are where the store is, so a wrong directory is no fault of theirs.
#[test]
fn where_nothing_is_the_missing_store_is_named_and_not_the_missing_partners() {
    let plan = plan();
    let nothing = plan.directory().join("nothing");
    for command in [&["suppressions", "list"][..], &["partners", "pause", "prompt_0"], &["replay"]] {
        let output = plan.command(command).env("OFFERD__PARTNERS__PATH", &nothing).output().unwrap();
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {told}");
        assert!(told.contains("there is no store at `store.path`"), "{command:?}: {told}");
    }
}

#[tokio::test]
async fn a_change_of_law_or_rights_names_the_store_of_a_stopped_daemon_and_a_start_the_one_that_it_makes() {
    let (_, stopped) = plan().in_files().start().await.terminate();
    let store = format!("`store.path` ({})", stopped.plan.store().display());
    let (made, changed) =
        (format!("made a new store at {store}"), format!("this changes the store at {store}"));
    assert_eq!(stopped.plan.log().matches(&made).count(), 1, "{}", stopped.plan.log());
    for command in CHANGES {
        let mut command = stopped.plan.command(command);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(&changed), "{command:?}: {}", stderr(&output));
    }
    let again = stopped.start().await;
    assert_eq!(again.log().matches(&made).count(), 1, "{}", again.log());
}
