//! What a page looks up before there is a lead: names to choose from, and institutions to show; and what is shown in the place
//! of sample partners.

mod featured;
mod samples;
mod universities;

pub use featured::featured_institutions;
pub use samples::{Sample, sample};
pub use universities::Universities;
