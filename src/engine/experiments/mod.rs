//! Experiments: a rule gives a share of the leads that it holds for another deadline, ranking or set of partners, or no second look.
//!
//! # From a file to a figure
//!
//! 1. A file of `experiments.path` is a [`Rule`]: which leads, from when to when, and its variants (`declared` is what it may say,
//!    `check` finds every fault, [`Rules`] are those in force, in the configuration that a table is computed under).
//! 2. When a lead is taken in, each rule that holds for it draws a variant, or the control ([`Rule::draw`]): a digest of the rule's name
//!    and the lead's uuid, so that rules draw apart from each other and from the shares of partners. What was drawn is a part of the
//!    lead's record and never drawn again, whatever becomes of the file: a lead has one variant of a rule.
//! 3. When a table of the lead is made, what the variants of the rules that still run change is written with its head
//!    ([`Treatment`](crate::rate_table::treatment::Treatment)) and holds to its end, also after a crash.
//! 4. Reports count by `RULE/VARIANT`, and `hindsight::comparison` reads the records of a rule's leads to compare its variants.
//!
//! Two rules may hold for one lead. Where both change the same thing neither could be told from the other, so that the files are
//! refused: rules that do are apart by time or by company.

mod check;
mod declared;
mod rule;
mod rules;

pub use rule::{CONTROL, Rule, RuleState, Variant};
pub use rules::Rules;
