//! Matching: how a lead becomes a rate table, while it is live.
//!
//! [`matchmaker`] takes a [`submission`] in ([`admission`]) under one [`configuration`], or says why not ([`refused`]). It seats those
//! who fit the lead ([`seating`], [`limiter`]), has their requests [`prepared`] while the lead is written, and starts a
//! [`rate_table_actor`], which has an actor of its own ask each seat ([`partner_actor`]) within its [`budget`], gathers their [`replies`] and moves the pure
//! [`rate_table`](crate::rate_table). [`partner_clients`] lead to the partners that live elsewhere, with what those need beside that are asked by several [`calls`]: a journal of them, a
//! part in the bidding, an address to call us at ([`callbacks`]); what they were sent and answered is gathered as [`transcripts`] where their file wants it. [`suppressions`] name people about whom a partner is not asked. How the asks of each seat have ended
//! lately is kept in [`ask_statistics`], and what became of some that ran out of time in [`late_asks`]; those that fail are told by [`failure_log`]. The actor's [`messages`] stand on one page. [`showing`] shows tables to those whose they are; what is complete is shown from memory ([`kept_tables`]). [`recovery`] goes on
//! with what a crash has left pending.
//!
//! The [`limiter`] counts from the records whom a table asked ([`asks`](crate::rate_table::asks)) and what its leads earned
//! ([`postings`](crate::records::postings)); [`pausing`] is how the command line takes a partner out. A [`preview`] asks nobody,
//! nor does an estimate of [`approval`].

pub mod admission;
mod afterwards;
pub mod approval;
pub mod ask_statistics;
pub mod audience;
mod bidding;
pub mod budget;
mod call_facts;
mod call_journal;
pub mod callbacks;
pub mod calls;
pub mod cap_sharing;
pub mod configuration;
mod conversation;
pub mod engine;
pub mod failure_log;
pub mod idempotency;
pub mod kept_tables;
pub mod late_asks;
pub mod limiter;
pub mod matchmaker;
pub mod messages;
pub mod partner_actor;
pub mod partner_clients;
pub mod pausing;
pub mod prepared;
pub mod preview;
pub mod preview_end;
pub mod preview_ids;
pub mod question;
pub mod rate_table_actor;
pub mod received_call;
pub mod recovery;
pub mod refused;
pub mod rendering;
pub mod replies;
pub mod seating;
mod sent_once;
pub mod showing;
pub mod shown_posts;
pub mod submission;
pub mod suppressions;
#[cfg(test)]
pub(crate) mod tests;
pub mod token_cache;
mod told_offers;
pub mod transcripts;
pub mod trigger;
pub mod undeclared_words;

pub use configuration::{Configuration, Rules};
pub use engine::Engine;
pub use kept_tables::{Moment, Rendition};
pub use matchmaker::Matchmaker;
pub use messages::{Polled, Snapshot, Unchanged, Until};
pub use refused::Refused;
pub use submission::{Growth, Submission};
