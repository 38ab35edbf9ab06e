//! The current edition's handlers, a file a resource.

pub mod docs;
pub mod leads;
pub mod offer_previews;
pub mod rate_tables;
pub mod ui_events;
