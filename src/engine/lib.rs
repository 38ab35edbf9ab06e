//! The engine: how a lead becomes a rate table, and how both are stored.
//!
//! | module | holds |
//! |---|---|
//! | [`rate_table`] | one table as a pure state machine, without actors, clock or store |
//! | [`records`] | the records of leads and tables, and projections of the feeds |
//! | [`ranking`] | learns conversions from a company's clicks, and ranks offers |
//! | [`experiments`] | which leads draw which variant, and what a variant changes |
//! | [`conversions`] | clicks and partner reports |
//! | [`matching`] | the live part: actors, seating, limits, recovery; alone uses actix |

#[cfg(test)]
extern crate self as offerd_engine; // so that other crates' tests can include `matching/tests/world.rs`
#[cfg(test)]
#[path = "../../tests/it/kit/cases.rs"]
mod cases;
pub mod conversions;
pub mod experiments;
pub mod matching;
#[cfg(test)]
#[path = "../../tests/it/kit/partners.rs"]
#[allow(dead_code)] // the black-box tests use the rest
mod partner_files;
pub mod ranking;
pub mod rate_table;
pub mod records;
