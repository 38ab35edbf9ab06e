//! Alerts: the daemon evaluates the shipped Prometheus rules itself, and notifies operators who run no
//! Prometheus.
//!
//! # From a metric to a message
//!
//! 1. A `rule` has a name, a severity, a condition on the metrics, and how long the condition must hold.
//!    `config/prometheus/alerts.yml` is generated from the rules.
//! 2. The `keeper`, a thread of its own, reads the metrics every `alerts.every` and evaluates each
//!    `condition` for each set of labels. The history in `usual` defines how many leads and offers are
//!    normal.
//! 3. The pure state machine in `state` decides how each alert changes: it waits, fires or ends.
//! 4. Firings and ends are written to the `ledger` in one commit with a message for each receiver. A restart
//!    thus finds the alert firing and does not repeat it, and a receiver that was down still gets the end.
//!    While the store cannot write, which is itself worth an alert, messages are sent anyway and the changes
//!    wait in memory.
//! 5. The messages of a receiver are delivered in order (`webhook`, `mail`), those of a kind together, and
//!    retried until accepted or given up. After a crash between the answer and its record, a message is sent
//!    again under the same id.
//!
//! On a shared store the leader evaluates and notifies. Conditions apply to its own metrics, except that the
//! counts of leads and offers include all nodes. A fault of another node alone is left to Prometheus, which
//! reads every node's metrics.
//!
//! An alert names partners, subscriptions and files, and never a person. A dead daemon sends nothing:
//! OfferdDown needs Prometheus, or another outside check of `/readyz`.

mod board;
mod condition;
mod keeper;
mod ledger;
mod mail;
mod message;
mod receiver;
mod rule;
mod state;
mod usual;
mod webhook;

pub use board::{AlertBoard, AlertStatus, AlertsStatus, ReceiverStatus};
pub use keeper::AlertKeeper;
pub use ledger::{BackupTaken, ReceiverDeliveries, last_backup, note_backup};
pub use receiver::{ReceiverTest, check_receiver, faults, try_out};
pub use rule::{AlertRule, RULES, Severity};
pub use state::Alert;
