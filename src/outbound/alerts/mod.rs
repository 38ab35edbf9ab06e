//! Alerts: what the shipped rules for Prometheus say is wrong is looked for in the daemon too, and told to people without one.
//!
//! # From a figure to a message
//!
//! 1. A `rule` has a name, how urgent it is, a condition on the metrics, and how long that has to hold:
//!    `config/prometheus/alerts.yml` is made of the rules.
//! 2. The `keeper`, a thread of its own, reads the metrics every `alerts.every` and has each `condition` say of each set of labels
//!    whether it holds. Of leads that stay away and of offers that become fewer it keeps what is `usual`.
//! 3. The pure machine in `state` says of each alert what changes by that: it waits, it fires, it has ended.
//! 4. What fires and what has ended is written in the `ledger`, in one commit with a message for each receiver. So a restart finds it
//!    firing and says nothing again, and an end is told whoever was down when it came. While the store does not write, which is worth
//!    an alert itself, messages go out all the same, and what is to be written waits in memory.
//! 5. Messages of a receiver go out in their order (`webhook`, `mail`), those of a kind together, and are tried again until they are
//!    taken, or given up. What a crash cuts between the answer and its record is sent again, under the same id.
//!
//! Where several processes share a store, the one that leads looks at conditions and tells: at those of its own metrics, of leads and
//! offers by what all of them count. What is wrong with another node only is for Prometheus, which reads the metrics of each.
//!
//! An alert names partners, subscriptions and files, and never a person. A daemon that is dead tells nothing: OfferdDown is for
//! Prometheus, or whoever else looks at `/readyz` from outside.

mod board;
mod condition;
mod keeper;
mod ledger;
mod mail;
mod message;
mod receiver;
mod rule;
mod state;
mod trial;
mod usual;
mod webhook;

pub use board::{AlertStanding, Board, ReceiverStanding, Standing};
pub use keeper::Keeper;
pub use ledger::{BackupTaken, Told, last_backup, note_backup};
pub use receiver::faults;
pub use rule::{RULES, Rule, Severity};
pub use state::Alert;
pub use trial::{Tried, check_receiver, try_out};
