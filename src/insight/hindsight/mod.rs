//! Analyses of stored leads, off the hot path. An [`explanation`] shows which partners were asked, and a
//! [`dry_run`] predicts the same for a lead that is not submitted, both by a [`judgement`] of the partner
//! files. A [`replay`] runs stored leads against other partner files, a [`comparison`] compares the variants
//! of an experiment, [`timing`] measures partners, and a [`transcript`] shows their messages.

pub mod comparison;
pub mod dry_run;
pub mod explanation;
pub mod judgement;
pub mod replay;
#[cfg(test)]
mod tests;
pub mod timing;
pub mod transcript;
