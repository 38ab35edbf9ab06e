//! The rate table: how a lead's asks become offers, without actors, clock or store.
//!
//! A [`seating`] plan says who has a place. The [`machine`] takes a table from its beginning to its end: where its seats stand
//! ([`progress`]), each with one [`outcome`] and perhaps a [`cause`], and what that makes of the [`table`] with its offers. A [`record`] is
//! a part of it as it is stored, [`asks`] is who was asked later than at first, [`denied`] what keeps a seat from being asked, and a
//! [`reason`] the word, class and sentence of each of those. A [`transcript`] is what a partner was sent and what came back.

pub mod asks;
pub mod bids;
pub mod call_record;
pub mod cause;
pub mod denied;
pub mod machine;
pub mod outcome;
pub mod progress;
pub mod reason;
pub mod record;
pub mod seating;
pub mod table;
pub mod transcript;
pub mod treatment;
