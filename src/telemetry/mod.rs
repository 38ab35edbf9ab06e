//! What the daemon tells of itself: log lines and metrics.

pub mod logging;
pub mod metrics;
pub mod tail;
