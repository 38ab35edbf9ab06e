//! The rate table: how a lead's asks become offers, without actors, clock or store.

pub mod asks;
pub mod cause;
pub mod denied;
pub mod machine;
pub mod outcome;
pub mod progress;
pub mod record;
pub mod table;
