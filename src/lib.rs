//! offerd
pub mod config;
pub mod declaration;
pub mod http;
pub mod model;
pub mod store;
pub mod telemetry;
