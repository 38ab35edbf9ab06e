//! Telemetry of the daemon: logs, metrics and traces.

pub mod figures;
pub mod logging;
pub mod metrics;
pub mod process;
pub mod recorder;
pub mod requests;
mod standard_error;
pub mod tail;
pub mod traces;
