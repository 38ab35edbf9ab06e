//! What is read from the records later: feeds, reports, explanations, the rights of a person, exports.
//!
//! | module | holds |
//! |---|---|
//! | [`analytics`] | the change feeds that clients read, in order of arrival, page by page |
//! | [`reports`] | counts of leads and offers by day, company, partner, tag and more; the console's funnel |
//! | [`hindsight`] | explanation, replay, dry run and timing, read from the records on request |
//! | [`persons`] | finds a person's leads by contact, exports their data and erases it |
//! | [`prefills`] | a lead's data, stored in one place and read back in another within minutes |
//! | [`transfer`] | export and import of a whole store as NDJSON |
//! | [`mod@reference`] | look-ups for pages: universities, cars, featured institutions |
//! | [`nodes`] | the status of each daemon on a shared store |
//! | [`mod@sheet`] | columns and rows, rendered as CSV, Parquet or a table; reads operators' CSV files |

#[cfg(test)]
#[path = "../../tests/it/kit/cases.rs"]
mod cases;
#[cfg(test)]
#[path = "../../tests/it/kit/partners.rs"]
#[allow(dead_code)] // the black-box tests use the rest
mod partner_files;
#[cfg(test)]
#[path = "../engine/matching/tests/world.rs"]
#[allow(dead_code)] // the tests of the engine use the rest
mod world;

pub mod analytics;
pub mod hindsight;
pub mod nodes;
pub mod persons;
pub mod prefills;
pub mod reference;
pub mod reports;
pub mod sheet;
pub mod transfer;
