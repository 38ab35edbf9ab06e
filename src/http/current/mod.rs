//! The current edition's handlers, a file a resource.

pub mod analytics;
pub mod docs;
pub mod leads;
pub mod rate_tables;
