//! What is pushed to others.
//!
//! | module | holds |
//! |---|---|
//! | [`postbacks`] | pushes the events of leads to their companies, in order and until acknowledged |
//! | [`alerts`] | decides which metrics deserve an alert, and sends it once, with an end |
//! | [`outbox`] | delivery for both: signed webhooks, secrets, backoff, dead letters |

pub mod alerts;
pub mod outbox;
pub mod postbacks;
