//! Stores in mounted volumes, as containers have them.
//!
//! Seen in the wild: a restore in a container renames the directory of the data, which is a mount, and fails with EBUSY after all the work;
//! a new disk has a `lost+found`, so that "an empty directory" is never empty (initdb and others); a key file that lies beside
//! the volume is gone with the next image.

use std::process::Output;

use crate::kit::partners::partner;
use crate::kit::{Daemon, Stopped, sample};

/// Where a machine lets nobody mount, nothing can be tried.
const NO_MOUNTS: i32 = 99;

/// A stopped daemon with a table in its store, a backup (`backup`) and an export (`export`) of it.
async fn stopped() -> Stopped {
    let daemon = Daemon::with_partners(vec![partner("lender").loan("").savings("")]).in_files().start().await;
    let table = daemon.submit(sample("everything")).await.json()["uuid"].as_str().unwrap().to_owned();
    daemon.complete(&table).await;
    let backup = daemon.command(&["backup", "backup"]);
    assert!(backup.status.success(), "{}", told(&backup));
    let stopped = daemon.terminate().1;
    let export = stopped.plan.command(&["export", "--personal-data", "export"]).output().unwrap();
    assert!(export.status.success(), "{}", told(&export));
    stopped
}

fn told(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

/// Runs a line of shell where `vol` is a volume that was just mounted; nothing where nobody may mount one.
fn in_a_volume(stopped: &Stopped, line: &str) -> Option<Output> {
    let file = stopped.plan.directory().join("line.sh");
    let mounted = format!("mkdir -p vol && mount -t tmpfs none vol || exit {NO_MOUNTS}\n{line}\n");
    std::fs::write(&file, mounted).unwrap();
    let output = stopped.plan.shell("unshare -rm sh line.sh || exit $?").output().unwrap();
    let is_refused = output.status.code() == Some(NO_MOUNTS) || told(&output).contains("unshare failed");
    if is_refused {
        eprintln!("this machine lets nobody mount a volume, so none was tried: {}", told(&output));
    }
    (!is_refused).then_some(output)
}

/// What is done with a volume, whether it goes well, and what is said.
const DONE: [(&str, bool, &str); 12] = [
    // The whole way back from a backup.
    ("offerd restore backup --into vol", true, "the store is in vol"),
    ("mkdir vol/lost+found; offerd restore backup --into vol", true, "the store is in vol"),
    ("mkdir vol/lost+found; OFFERD__STORE__PATH=vol offerd import export", true, "records imported"),
    ("offerd store salvage --into vol --backup backup; test -e vol/manifest", true, ""),
    // A first start that is refused leaves nothing.
    (
        "env -u OFFERD__STORE__MASTER_KEY_FILE OFFERD__STORE__PATH=vol timeout 60 offerd serve; \
         offerd restore backup --into vol",
        true,
        "the store is in vol",
    ),
    // A directory in the volume is as good as anywhere.
    ("mkdir vol/store; offerd restore backup --into vol/store", true, "the store is in vol/store"),
    // What is there is left as it is.
    ("touch vol/file; offerd restore backup --into vol", false, "`vol` is not empty"),
    ("mkdir vol/vol.part; offerd restore backup --into vol", false, "was killed and left `vol/vol.part`"),
    // Only a volume has such a directory of its own.
    ("mkdir -p vol/a/lost+found; offerd restore backup --into vol/a", false, "`vol/a` is not empty"),
    ("offerd restore backup --into vol && offerd restore backup --into vol", false, "`vol` is not empty"),
    // Nor is the key of the list of who asked to be left alone made beside a volume; where a file is named for it, it is made there.
    (
        "offerd restore backup --into vol && echo ada@example.com | \
         OFFERD__STORE__PATH=vol offerd suppressions add everywhere - --kind email --plain",
        false,
        "`vol` is a mounted volume, and a key made beside it, as `vol.suppression-key`",
    ),
    (
        "export OFFERD__STORE__SUPPRESSION_KEY_FILE=vol.key; offerd restore backup --into vol && echo ada@example.com | \
         OFFERD__STORE__PATH=vol offerd suppressions add everywhere - --kind email --plain",
        true,
        "everywhere has 1 entry",
    ),
];

#[tokio::test]
async fn a_mounted_volume_takes_a_store() {
    let stopped = stopped().await;
    for (line, goes_well, said) in DONE {
        // The key of the store that is there, as a person would name it on another machine.
        let line = format!(
            "export OFFERD__STORE__MASTER_KEY_FILE=store.key\n{{ {line}; }} || exit 1\n\
             test ! -e vol/vol.part -a ! -e vol/vol.backup || exit 2\n\
             test ! -e vol/manifest || OFFERD__STORE__PATH=vol offerd store check"
        );
        let Some(output) = in_a_volume(&stopped, &line) else { return };
        assert_eq!(output.status.success(), goes_well, "{line}: {}", told(&output));
        assert!(told(&output).contains(said), "{line}: {}", told(&output));
    }
}

/// The path of a new store, whether a key may be made beside it, and what doctor says.
const NEW: [(&str, &str); 3] = [
    ("vol", "`vol` is a mounted volume, and a key made beside it, as `vol.key`, would not be kept with it"),
    ("vol/store", "the first start makes one beside the store"),
    ("elsewhere", "the first start makes one beside the store"),
];

#[tokio::test]
async fn no_master_key_is_made_beside_a_volume_that_is_mounted() {
    let stopped = stopped().await;
    for (path, said) in NEW {
        let line = format!("OFFERD__STORE__PATH={path} offerd doctor");
        let Some(output) = in_a_volume(&stopped, &line) else { return };
        assert!(told(&output).contains(said), "{path}: {}", told(&output));
    }
    let start =
        "OFFERD__STORE__PATH=vol timeout 60 offerd serve; ended=$?; ls vol.key && exit 3; exit $ended";
    let Some(output) = in_a_volume(&stopped, start) else { return };
    let told = told(&output);
    assert!(![Some(0), Some(3), Some(124)].contains(&output.status.code()), "{told}");
    for way in ["is a mounted volume", "offerd key create FILE", "store.master_key_file", "vol/store"] {
        assert!(told.contains(way), "{way}: {told}");
    }
}
