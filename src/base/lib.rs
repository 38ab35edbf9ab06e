//! What every other crate may name.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | the settings, layered and checked |
//! | [`declaration`] | reads and checks files that operators write: every fault at once, with file, line and key |
//! | [`telemetry`] | logs, metrics and traces; the only module that names OpenTelemetry |
//! | [`load_shedder`] | how much new work is let in, how long it waits in line, what is refused |
//! | [`partner_health`] | judges a partner by how its asks end, against its own past |
//! | [`ids`] | uuids that nobody can guess, and uuids that are derived from a name |
//! | [`shares`] | what each company holds of a common limit |
//! | [`regular_file`], [`private_file`], [`run_file`] | files: bounded reads, owner-only files, how commands find a daemon |
//! | `worded` | the macro for enumerations whose variants stand beside their words |

#[macro_use]
mod worded;

pub mod config;
pub mod declaration;
pub mod ids;
pub mod load_shedder;
pub mod partner_health;
pub mod private_file;
pub mod regular_file;
pub mod run_file;
pub mod shares;
pub mod telemetry;
