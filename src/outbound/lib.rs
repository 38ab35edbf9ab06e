//! Messages that offerd pushes to other systems.
//!
//! | module | holds |
//! |---|---|
//! | [`postbacks`] | pushes lead events to the leads' companies, in order and until acknowledged |
//! | [`alerts`] | evaluates rules on the metrics, notifies receivers when an alert fires and ends |
//! | [`outbox`] | delivery for both: a worker thread, signed webhooks, secrets, backoff |

pub mod alerts;
pub mod outbox;
pub mod postbacks;
