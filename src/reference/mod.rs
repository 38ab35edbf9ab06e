//! What a page looks up before there is a lead: names to choose from, and institutions to show.

mod featured;
mod universities;

pub use featured::featured_institutions;
pub use universities::Universities;
