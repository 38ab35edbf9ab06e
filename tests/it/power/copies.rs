//! Commands that write a file onto a disk that fails: there is nothing under its name, or all of it.

use std::path::Path;
use std::process::Command;

use super::shim::{Control, Fault, FaultKind, Shim};
use super::subject::{Subject, scratch, write_partners};

/// Most changes that writing a file takes.
const CHANGES: u64 = 500;

#[tokio::test]
async fn no_backup_stands_in_part_under_its_name_whatever_the_disk_does() {
    a_disk_that_fails_in_turn(&["backup"], |subject, file| {
        let output = subject.run(&["restore", "--check", file.to_str().unwrap()]);
        output.status.success()
    });
}

#[tokio::test]
async fn no_export_stands_in_part_under_its_name_whatever_the_disk_does() {
    // Each export stands in the audit, and so in the next one.
    let lines = |file: &Path| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().filter(|line| !line.contains("\"tree\":\"audit\"")).count()
    };
    a_disk_that_fails_in_turn(&["export", "--personal-data"], |subject, file| {
        let whole = file.with_file_name("whole");
        if !whole.exists() {
            let exported = subject.run(&["export", "--personal-data", whole.to_str().unwrap()]);
            assert!(exported.status.success());
        }
        lines(file) == lines(&whole)
    });
}

/// Has each change in turn fail that a command makes in the directory of its file.
fn a_disk_that_fails_in_turn(command: &[&str], is_whole: impl Fn(&Subject, &Path) -> bool) {
    let Some(shim) = Shim::compiled("copies on a disk that fails") else { return };
    let directory = scratch();
    let partners = directory.path().join("partners");
    write_partners(&partners);
    let subject = Subject::new(&directory.path().join("home"), &directory.path().join("store"), &partners);
    drop(subject.start(|_: &mut Command| {}).unwrap_or_else(|not_ready| panic!("{}", not_ready.said)));
    let out = directory.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let file = out.join("file");
    for kind in [FaultKind::Error, FaultKind::Full, FaultKind::Short] {
        let mut came = 0;
        for at in 1..CHANGES {
            let _ = std::fs::remove_file(&file);
            let control = Control::new(directory.path().join("control"));
            let mut faulty = subject.command(&[command, &[file.to_str().unwrap()]].concat());
            shim.before(&mut faulty, &out, &control);
            Fault { at, kind, only: None, for_good: at.is_multiple_of(2) }.prepare(&mut faulty);
            let output = faulty.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(matches!(output.status.code(), Some(0 | 1)), "{at} {kind:?}: {said}");
            let Some(what) = control.fired() else { break };
            came += 1;
            let told = format!("{kind:?} at `{what}`, {}: {said}", output.status);
            assert!(!file.exists() || is_whole(&subject, &file), "a part stands under its name, {told}");
            assert!(file.exists() || !output.status.success(), "it says that it is done, {told}");
        }
        assert!(came > 2, "writing a file takes more changes than {came}");
    }
}
