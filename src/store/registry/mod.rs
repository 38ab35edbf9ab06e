//! What the store keeps by name: companies and their tokens, keys and pauses of partners, users of the console and the audit, suppression lists,
//! whom leads are about and what they are found by, and what is kept for a time of its own.
//!
//! Each file reads and writes records of its own trees through a [`Store`](super::Store), as any caller does. The engine knows nothing
//! of them, but for `salvage`, which looks for the tables of a lead. Only `identities`, `contacts` and `terms` go deeper, since what they
//! forget is forgotten with a key.

pub mod audit;
pub mod contacts;
pub mod entities;
pub mod identities;
pub mod left_alone;
pub mod partner_keys;
pub mod pauses;
pub mod suppressions;
mod terms;
pub mod tokens;
pub mod users;
