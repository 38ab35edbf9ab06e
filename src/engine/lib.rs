//! How a lead becomes a rate table, and what is written of it.
//!
//! | module | holds |
//! |---|---|
//! | [`rate_table`] | one table as a pure state machine: seats, answers, second look; no actor, clock or store |
//! | [`records`] | what is written of leads and tables, how it is read again, and the feeds that projections follow |
//! | [`ranking`] | learns conversions from a company's clicks, and ranks offers |
//! | [`experiments`] | which leads draw which variant, and what a variant changes |
//! | [`conversions`] | clicks, and what partners report |
//! | [`matching`] | the live part: actors, seating, budgets, limits, recovery; the only module that names actix |

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
