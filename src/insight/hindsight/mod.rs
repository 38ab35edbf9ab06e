//! Analyses of stored leads, off the hot path. An [`explanation`] shows which partners were asked about a
//! stored lead, with outcome and [`cause`](offerd_engine::rate_table::cause), and why others were not. A
//! [`dry_run`] predicts the same for a lead that is not submitted. Both use the [`judgement`] of the partner
//! files. A [`replay`] runs stored leads against other partner files, a [`comparison`] compares the variants
//! of an experiment, [`timing`] measures how long partners took, and a [`transcript`] shows what partners
//! were sent and answered.

pub mod comparison;
pub mod dry_run;
pub mod explanation;
pub mod judgement;
pub mod replay;
#[cfg(test)]
mod tests;
pub mod timing;
pub mod transcript;
