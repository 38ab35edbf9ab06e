//! Runs a test of this very binary with a bug planted: it has to pass without, and to fail with it.

use std::process::{Command, Output};

/// Fails unless a test notices a planted bug.
pub fn assert_found(bug: &str, test: &str) {
    let sound = run(test, "");
    assert!(sound.status.success(), "{test} fails without a bug: {}", told(&sound));
    assert!(told(&sound).contains("1 passed"), "there is no test {test}");
    let planted = run(test, bug);
    assert!(!planted.status.success(), "{test} does not notice {bug}");
}

fn run(test: &str, bug: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("a test knows its binary"));
    // Cases that a property test finds with a bug are none to keep.
    command.args([test, "--exact"]).env("OFFERD_PLANTED", bug).env("PROPTEST_FAILURE_PERSISTENCE", "off");
    command.env("RUST_BACKTRACE", "0").output().expect("a test binary runs")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
