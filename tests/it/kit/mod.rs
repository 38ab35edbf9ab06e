//! The kit: a real daemon on a store of its own, partners in a few words, and a client.
#![allow(dead_code, unused_imports, missing_docs, clippy::unwrap_used)] // each test binary and benchmark uses a part of it

mod answer;
pub mod canaries;
pub mod cases;
mod daemon;
pub mod database;
pub mod far_partners;
pub mod far_side;
mod given_sockets;
pub mod line;
pub mod mail_server;
pub mod partners;
mod plan;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub use answer::Answer;
pub use daemon::{Daemon, Stopped};
pub use given_sockets::GivenSockets;
pub use partners::PartnerFile;
pub use plan::Plan;

/// Longest wait for anything at all; only a hanging daemon reaches it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Sends a signal by name.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status();
    assert!(sent.expect("a shell runs").success());
}

/// A sample lead by the name of its file.
pub fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/leads").join(format!("{name}.json"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
