//! What must hold of anything that is read from outside, whatever its bytes: one module a target.
//!
//! `cargo fuzz` searches for bytes of which it does not hold, with the targets in `../targets`. What it found, and what is
//! worth starting from, is kept in `../corpus`; `tests/it/fuzz_corpora.rs` goes through that with every `cargo test`.

pub mod answer;
pub mod cursor;
pub mod experiment;
pub mod lead;
pub mod mapping;
pub mod partner_file;
pub mod request;
pub mod settings;
pub mod stored_record;
