//! What a page looks up before there is a lead: names and cars to choose from, and institutions to show; and what is shown in the
//! place of sample partners.

mod featured;
mod samples;
mod universities;
mod vehicles;

pub use featured::featured_institutions;
pub use samples::{Sample, sample};
pub use universities::Universities;
pub use vehicles::{Vehicles, Wanted, YEARS};
