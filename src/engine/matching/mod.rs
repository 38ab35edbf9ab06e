//! Matching: how a lead becomes a rate table, while it is live.
//!
//! - [`matchmaker`] accepts a [`submission`] ([`admission`]) under one [`configuration`], or refuses it
//!   ([`refused`]).
//! - [`engine`] is what all tables share, with their actors ([`table_actors`]); [`idempotency`] answers a
//!   repeated submit with its first table.
//! - The matchmaker seats the partners that fit ([`seating`], [`limiter`], [`cap_sharing`] among nodes), has
//!   their requests [`prepared`] while the lead is written, and starts a [`rate_table_actor`].
//! - The actor starts a [`partner_actor`] per seat, within its [`budget`], gathers their [`replies`] and
//!   drives the pure [`rate_table`](crate::rate_table). [`messages`] lists what it handles.
//! - [`partner_clients`] reach remote partners: a `conversation` puts the [`question`] in one call or several,
//!   with an [`ask_session`], its `call_journal`, `bidding`, [`callbacks`], [`transcripts`] and tokens
//!   ([`token_cache`]). An [`answer_reader`] reads what comes back; `answer_diagnostics`
//!   and [`undeclared_reasons`] note faults of it, `ask_error` why it is missing, `call_facts` its times.
//!   [`received_call`] takes a callback to its ask, or as late.
//! - [`suppressions`] name people about whom a partner is not asked; [`pausing`] takes a partner out.
//! - [`ask_statistics`] keeps recent results of asks, [`late_asks`] late ones; [`failure_log`] logs failures.
//! - [`showing`] shows tables, by [`rendering`], complete ones from memory ([`complete_tables`]); the
//!   [`audience`] waits for them, and [`shown_posts`] posts leads whose offers were shown.
//! - A test lead may [`trigger`] how partners behave.
//! - [`recovery`] resumes tables that a crash left pending.
//!
//! A [`preview`] ([`preview_ids`], [`preview_expiry`]) and an estimate of [`approval`] ask no partner.

pub mod admission;
mod answer_diagnostics;
pub mod answer_reader;
pub mod approval;
mod ask_error;
pub mod ask_session;
pub mod ask_statistics;
pub mod audience;
mod bidding;
pub mod budget;
mod call_facts;
mod call_journal;
pub mod callbacks;
pub mod cap_sharing;
pub mod complete_tables;
pub mod configuration;
mod conversation;
pub mod engine;
pub mod failure_log;
pub mod idempotency;
pub mod late_asks;
pub mod limiter;
pub mod matchmaker;
pub mod messages;
pub mod partner_actor;
pub mod partner_clients;
pub mod pausing;
pub mod prepared;
pub mod preview;
pub mod preview_expiry;
pub mod preview_ids;
pub mod question;
pub mod rate_table_actor;
pub mod received_call;
pub mod recovery;
pub mod refused;
pub mod rendering;
pub mod replies;
pub mod seating;
pub mod showing;
pub mod shown_posts;
pub mod submission;
pub mod suppressions;
pub mod table_actors;
#[cfg(test)]
pub(crate) mod tests;
pub mod token_cache;
pub mod transcripts;
pub mod trigger;
pub mod undeclared_reasons;
pub mod work_queue;

pub use complete_tables::{Generation, RenditionKey};
pub use configuration::{Configuration, MatchingRules};
pub use engine::MatchingEngine;
pub use matchmaker::Matchmaker;
pub use messages::{Polled, TableSnapshot, Unchanged, Until};
pub use refused::LeadRefusal;
pub use submission::{Merge, Submission};
