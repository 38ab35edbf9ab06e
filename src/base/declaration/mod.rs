//! Reads TOML written by operators: settings and partner files alike. [`Source`] is a parsed file that knows
//! the line of every key. [`read()`] deserialises it and reports every [`Fault`] at once.

mod checked;
mod checker;
mod diff;
mod directory;
mod duration;
mod edit;
mod fault;
mod read;
mod source;
mod table;

pub use checked::{ValueFaults, checked, count, figure, if_any, outside, span, unless};
pub use checker::{Checker, KEY_CHARS, is_key};
pub use diff::DeclarationsDiff;
pub use directory::{declared_in, files_in, text_of};
pub use duration::HumanDuration;
pub use edit::FileEdit;
pub use fault::Fault;
pub use read::{SECRET_TABLES, TableReading, did_you_mean, nearest, read, read_table};
pub use source::{Source, parent, quoted};
pub use table::{DeclaredTable, Reload, TableSeed, missing};
