//! The rate table: how the asks about a lead become offers, without actors, clock or store.
//!
//! - [`seating`] decides which seats have a place.
//! - [`machine`] drives a table from start to completion. It tracks the [`progress`] of the seats, each with
//!   one [`outcome`], sometimes with a cause, and builds the [`table`] of offers.
//! - [`record`] is the stored form of a table: its head, answers, later decisions and calls.
//! - [`reason`] words each outcome, and each denial: what keeps a seat from being asked.
//! - [`transcript`] holds what a partner was sent and what it answered.

pub mod bids;
pub mod machine;
pub mod outcome;
pub mod progress;
pub mod reason;
pub mod record;
pub mod seating;
pub mod summary;
pub mod table;
#[cfg(test)]
mod tests;
pub mod transcript;
pub mod treatment;
