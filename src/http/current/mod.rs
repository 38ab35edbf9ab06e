//! Handlers of the current edition, one file per resource.

pub mod analytics;
pub mod api_version;
pub mod bodies;
pub mod callbacks;
pub mod clicks;
pub mod demo;
pub mod docs;
pub mod explanations;
pub mod handbook;
pub mod home;
pub mod leads;
pub mod loan_reports;
pub mod offer_pages;
pub mod offer_previews;
pub mod partner_events;
pub mod prefer;
pub mod prefills;
pub mod rate_tables;
pub mod samples;
pub mod submission;
pub mod table_events;
pub mod ui_events;
pub mod ui_utilities;
pub mod vehicles;

use offerd_web::Failure;

const RETRY_AFTER_S: u32 = 5;

pub(crate) fn unreadable<E>(_: E) -> Failure {
    Failure::unreadable(RETRY_AFTER_S)
}

pub(crate) fn unwritable<E>(_: E) -> Failure {
    Failure::unwritable(RETRY_AFTER_S)
}
