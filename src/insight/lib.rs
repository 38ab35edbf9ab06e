//! What the records say afterwards.
//!
//! | module | holds |
//! |---|---|
//! | [`analytics`] | the feeds as clients read them: in order of arrival, page by page |
//! | [`reports`] | counts leads and offers by day, company, partner, tag and more; the console's funnel asks it too |
//! | [`hindsight`] | explanation, replay, dry run and timing; keeps nothing, reads the records when asked |
//! | [`persons`] | finds a person's leads by contact, exports what is held, erases it |
//! | [`prefills`] | a lead's data, given in one place and taken up in another within minutes |
//! | [`transfer`] | a whole store as lines of JSON, out and in |
//! | [`mod@reference`] | look-ups for pages: universities, cars, featured institutions |
//! | [`nodes`] | what the daemons that share a store say of themselves |
//! | [`mod@sheet`] | columns and rows, made once; as CSV, Parquet or a table; reads people's own files too |

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
