//! Power cuts, broken disks and flipped bytes: whatever the disk does, what was acknowledged is held against the daemon.
//!
//! Everything here drives the binary as a black box, this build's or that of `OFFERD_BINARY`. Each campaign exists in two
//! sizes: a seeded sample, which runs with all tests, and the whole, which is ignored and runs by one command:
//!
//! ```text
//! cargo test --release --test it power:: -- --ignored --nocapture --test-threads 1
//! ```
//!
//! | variable | |
//! |---|---|
//! | `OFFERD_BINARY` | the binary under test |
//! | `OFFERD_POWER_SEED` | the same draws again |
//! | `OFFERD_POWER_CUTS` | how many cuts or faults the whole of a campaign has |
//! | `OFFERD_POWER_FLIPS` | at how many places of each file the whole of the sweep flips a byte |
//! | `OFFERD_POWER_AT_ONCE` | how many states are looked at at once |
//! | `OFFERD_POWER_KEEP` | a directory for the states that broke a promise |
//!
//! Where something is missing that a campaign needs, root or a C compiler, it says so and is skipped.

mod acknowledged;
mod broken;
mod caller;
mod contents;
mod copies;
mod disk;
mod faults;
mod flips;
mod images;
mod load;
mod loss;
mod model_of_the_disk;
mod mount;
mod recording;
pub mod shim;
mod simulated;
mod state;
mod subject;
mod tally;
mod unreadable;
mod verdict;

use std::io::Write;

/// The number of a variable, if it is set.
fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} has to be a number")))
}

/// Of `OFFERD_POWER_SEED`, or this one.
fn seed(otherwise: u64) -> u64 {
    let seed = variable("OFFERD_POWER_SEED").unwrap_or(otherwise);
    println!("OFFERD_POWER_SEED={seed}");
    seed
}

/// How large the whole of a campaign is.
fn cuts(otherwise: usize) -> usize {
    variable("OFFERD_POWER_CUTS").map_or(otherwise, |cuts| usize::try_from(cuts).expect("not that many"))
}

/// How many states are looked at at once.
fn at_once() -> usize {
    variable("OFFERD_POWER_AT_ONCE").map_or(4, |states| usize::try_from(states).expect("not that many"))
}

/// Says, past the capture of tests that pass, that something is not looked at.
fn skipped<T>(what: &str, reason: &str) -> Option<T> {
    let _ = writeln!(std::io::stderr(), "\n*** SKIPPED: {what}: {reason} ***\n");
    None
}
