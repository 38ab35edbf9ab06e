//! Experiments: a rule gives a share of its leads another deadline, ranking, partners or no second look.
//!
//! 1. A file in `experiments.path` is a [`ExperimentRule`]. `declared` is the file's format, `check` finds
//!    every fault, and [`ExperimentRules`] holds the rules in force.
//! 2. When a lead is accepted, each rule that covers it draws a variant or the control
//!    ([`ExperimentRule::draw`]). The draw hashes the rule's name and the lead's UUID, so rules draw
//!    independently. It is stored in the lead's record and never repeated, even if the file changes.
//! 3. When a table of the lead is made, the changes of the variants whose rules still run are written with
//!    its head ([`Treatment`](crate::rate_table::treatment::Treatment)) and apply until it is complete.
//! 4. Reports count by `RULE/VARIANT`, and `hindsight::comparison` compares the variants.
//!
//! Rules that change the same thing must differ in time or company: their effects cannot be separated.

mod check;
mod declared;
mod rule;
mod rules;

pub use rule::{CONTROL, ExperimentRule, RuleState, Variant};
pub use rules::ExperimentRules;
