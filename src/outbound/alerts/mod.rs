//! Alerts: the daemon evaluates the shipped Prometheus rules itself, and notifies operators.
//!
//! # From a metric to a message
//!
//! 1. A `rule` has a name, a severity, a condition on the metrics, and how long the condition must hold.
//! 2. The `keeper`, a thread of its own, reads the metrics every `alerts.every` and evaluates each
//!    `condition` for each set of labels. The history in `baseline` defines how many leads and offers are
//!    normal.
//! 3. The pure state machine in `state` decides how each alert changes: it waits, fires or ends.
//! 4. Firings and ends are written to the `ledger` in one commit with a message for each receiver, so a
//!    restart repeats none and loses none. While the store cannot write, messages are sent anyway.
//! 5. The messages of a receiver are delivered in order (`webhook`, `mail`), those of a kind together, and
//!    retried under the same id until accepted or given up.
//!
//! On a shared store the leader evaluates and notifies, by its own metrics and the counts of leads and offers
//! of all nodes. An alert never names a person. OfferdDown needs Prometheus or another check from outside.

mod baseline;
mod board;
mod condition;
mod keeper;
mod ledger;
mod mail;
mod message;
mod receiver;
mod rule;
mod state;
mod webhook;

pub use board::{AlertBoard, AlertStatus, AlertsStatus, ReceiverStatus, doubt};
pub use keeper::AlertKeeper;
pub use ledger::{BackupTaken, ReceiverDeliveries, last_backup, note_backup};
pub use receiver::{ReceiverTest, check_receiver, faults, try_out};
pub use rule::{AlertRule, RULES, Severity};
pub use state::Alert;
