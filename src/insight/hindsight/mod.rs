//! What the records of leads show, while nobody waits: an [`explanation`] shows of a stored lead who was asked, with what
//! outcome and [`cause`](offerd_engine::rate_table::cause), and who was not and why; a [`dry_run`] what would become of one that is not
//! submitted, both by the [`judgement`] of the partner files; a [`replay`] runs stored leads against other partner files; [`timing`] shows how long partners took,
//! and a [`transcript`] what partners were sent and answered.

pub mod comparison;
pub mod dry_run;
pub mod explanation;
pub mod judgement;
pub mod replay;
#[cfg(test)]
mod tests;
pub mod timing;
pub mod transcript;
