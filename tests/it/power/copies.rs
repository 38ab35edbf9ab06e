//! Commands that write a file onto a disk that fails: there is nothing under its name, or all of it.

use std::path::Path;
use std::process::Command;

use super::shim::{Control, Fault, FaultKind, Shim};
use super::subject::{Subject, scratch, write_partners};

/// Most changes that writing a file takes.
const CHANGES: u64 = 500;

/// Of so many changes one fails, with every run of the tests.
const SAMPLE: usize = 5;

#[test]
fn a_sample_of_faults_leaves_no_part_of_a_backup_under_its_name() {
    backup(SAMPLE);
}

#[test]
fn a_sample_of_faults_leaves_no_part_of_an_export_under_its_name() {
    export(SAMPLE);
}

/// `cargo test --release --test it power::copies -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn no_fault_leaves_a_part_of_a_backup_or_of_an_export_under_its_name() {
    backup(1);
    export(1);
}

fn backup(one_of: usize) {
    a_disk_that_fails_in_turn(&["backup"], one_of, |subject, file| {
        let output = subject.run(&["restore", "--check", file.to_str().unwrap()]);
        output.status.success()
    });
}

fn export(one_of: usize) {
    // Each export stands in the audit, and so in the next one.
    let lines = |file: &Path| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().filter(|line| !line.contains("\"tree\":\"audit\"")).count()
    };
    a_disk_that_fails_in_turn(&["export", "--personal-data"], one_of, |subject, file| {
        let whole = file.with_file_name("whole");
        if !whole.exists() {
            let exported = subject.run(&["export", "--personal-data", whole.to_str().unwrap()]);
            assert!(exported.status.success());
        }
        lines(file) == lines(&whole)
    });
}

/// Lets one of `one_of` changes fail that a command makes in the directory of its file, each in a run of its own.
fn a_disk_that_fails_in_turn(command: &[&str], one_of: usize, is_whole: impl Fn(&Subject, &Path) -> bool) {
    let Some(shim) = Shim::compiled("copies on a disk that fails") else { return };
    let directory = scratch();
    let partners = directory.path().join("partners");
    write_partners(&partners);
    let subject = Subject::new(&directory.path().join("home"), &directory.path().join("store"), &partners);
    drop(subject.start(|_: &mut Command| {}).unwrap_or_else(|not_ready| panic!("{}", not_ready.said)));
    let out = directory.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let file = out.join("file");
    for (nth, kind) in [FaultKind::Error, FaultKind::Full, FaultKind::Short].into_iter().enumerate() {
        let mut came = 0;
        for at in (1..CHANGES).skip(nth % one_of).step_by(one_of) {
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
        assert!(came * one_of > 2, "writing a file takes more changes than {}", came * one_of);
    }
}
