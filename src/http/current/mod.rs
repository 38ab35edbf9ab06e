//! The current edition's handlers, a file a resource.

pub mod analytics;
pub mod api_version;
pub mod bodies;
pub mod callbacks;
pub mod clicks;
pub mod demo;
pub mod docs;
pub mod explanations;
pub mod featured_institutions;
pub mod home;
pub mod leads;
pub mod loan_reports;
pub mod offer_pages;
pub mod offer_previews;
pub mod partner_events;
pub mod prefills;
pub mod rate_tables;
pub mod samples;
pub mod submission;
pub mod ui_events;
pub mod universities;
pub mod vehicles;
pub mod waiting;
