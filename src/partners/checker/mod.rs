//! The checks that everything in a partner file shares.

mod conditions;
mod values;

pub use values::is_absolute_url;
