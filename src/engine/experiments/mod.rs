//! Experiments: a rule gives a share of its leads another deadline, ranking or set of partners, or no second
//! look.
//!
//! # From a file to a figure
//!
//! 1. A file in `experiments.path` is a [`ExperimentRule`]: which leads it covers, its time span and its variants.
//!    `declared` is the file's format, `check` finds every fault, and [`ExperimentRules`] holds the rules in force, as
//!    a part of the configuration.
//! 2. When a lead is accepted, each rule that covers it draws a variant or the control ([`ExperimentRule::draw`]). The
//!    draw hashes the rule's name and the lead's UUID, so rules draw independently of each other and of
//!    partners' shares. It is stored in the lead's record and never repeated, even if the file changes: a
//!    lead has one variant per rule.
//! 3. When a table of the lead is made, the changes of the variants whose rules still run are written with
//!    its head ([`Treatment`](crate::rate_table::treatment::Treatment)) and apply until it is complete, even
//!    across a crash.
//! 4. Reports count by `RULE/VARIANT`, and `hindsight::comparison` compares the variants by the records of a
//!    rule's leads.
//!
//! Two rules may cover the same lead. If both change the same thing, their effects cannot be separated, so
//! such files are refused unless they differ in time or company.

mod check;
mod declared;
mod rule;
mod rules;

pub use rule::{CONTROL, ExperimentRule, RuleState, Variant};
pub use rules::ExperimentRules;
