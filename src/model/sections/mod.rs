//! The sections of a lead.

mod person;
mod product;

pub use person::*;
pub use product::*;
