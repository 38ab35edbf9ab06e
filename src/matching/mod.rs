//! Matching: how a lead becomes a rate table.
//!
//! [`matchmaker`] takes the lead in ([`admission`]) under one [`configuration`], seats those who fit it ([`seating`], [`limiter`]),
//! has their requests [`prepared`] while the lead is written, and starts a [`rate_table_actor`], which asks a
//! [`partner_actor`] per seat within its [`budget`], gathers their [`replies`], reads every way an ask can end as one
//! [`outcome`](crate::rate_table::outcome), moves the pure [`rate_table`](crate::rate_table) and writes the answers
//! ([`writing`]) before it shows them. What is complete is shown from memory ([`kept_tables`]). [`recovery`] goes on with what a crash has left pending. [`shown`]
//! tells whether an offer that is reported was ever shown. What happens to an offer afterwards are a [`click`] and
//! what its partner reports ([`partner_events`]), which [`attribution`] ties to the lead. [`lines`] lead to the partners
//! that live elsewhere. The actors' [`messages`] stand on one page.
//!
//! The [`limiter`] counts from the records whom a table asked ([`asks`](crate::rate_table::asks)) and what its leads earned ([`owed`]); [`pausing`]
//! is how the command line takes a partner out. What is held on a person is a [`dossier`], and [`erasure`] is the end of it.
//!
//! What people look on at while it runs is the [`conduct`] of partners.
//!
//! A [`funnel`] counts how far leads come, from the feeds and in its own time; a [`trial`] tells what would become of a lead.
//! Afterwards an [`explanation`] tells of a stored lead who was asked, with what outcome and [`cause`](crate::rate_table::cause), and who was not and
//! why; a [`replay`] runs stored leads against other partner files.

pub mod admission;
pub mod attribution;
pub mod audience;
pub mod budget;
pub mod click;
pub mod conduct;
pub mod configuration;
pub mod dossier;
pub mod engine;
pub mod erasure;
pub mod explanation;
pub mod funnel;
pub mod history;
pub mod identity;
pub mod kept_tables;
pub mod limiter;
pub mod lines;
pub mod matchmaker;
pub mod messages;
pub mod offer_ids;
pub mod owed;
pub mod pace;
pub mod partner_actor;
pub mod partner_events;
pub mod pausing;
pub mod prepared;
pub mod preview;
pub mod question;
pub mod rate_table_actor;
pub mod reading;
pub mod recovery;
pub mod rendering;
pub mod repeat;
pub mod replay;
pub mod replies;
pub mod seating;
pub mod shown;
#[cfg(test)]
mod tests;
pub mod texts;
pub mod timing;
pub mod token_cache;
pub mod transfer;
pub mod trial;
pub mod trigger;
pub mod writing;

pub use configuration::{Configuration, Rules};
pub use engine::Engine;
pub use kept_tables::{Moment, Rendition};
pub use matchmaker::{Growth, Matchmaker, Refused, Submission, Unavailable};
pub use messages::{Polled, Snapshot, Unchanged, Until};
