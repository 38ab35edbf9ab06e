//! What the store keeps by name: companies and their tokens, keys and pauses of partners, suppression lists, and whom leads
//! are about.
//!
//! Each file reads and writes records of its own trees through a [`Store`](super::Store), as any caller does. The engine knows nothing
//! of them, but for `migration`, which knows what older stores kept, and `salvage`, which looks for the tables of a lead. Only
//! `identities` goes deeper, since what it forgets is forgotten with a key.

pub mod entities;
mod identities;
pub mod partner_keys;
pub mod pauses;
pub mod suppressions;
pub mod tokens;
