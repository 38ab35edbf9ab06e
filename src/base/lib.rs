//! The foundation that every other crate may use.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | the settings, layered and checked |
//! | [`declaration`] | reads operators' files and reports every fault at once, with file, line and key |
//! | [`telemetry`] | logs, metrics and traces; the only module that names OpenTelemetry |
//! | [`load_shedder`] | admission control: how much new work is in flight, queued or refused |
//! | [`partner_health`] | judges a partner by how its asks end, against its own past |
//! | [`ids`] | unguessable uuids, and uuids derived from a name |
//! | [`shares`] | per-company quotas of a bounded resource |
//! | [`regular_file`], [`private_file`], [`run_file`] | bounded reads, owner-only files, finding a daemon |
//! | `worded` | the macro for enumerations whose variants have words |

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
