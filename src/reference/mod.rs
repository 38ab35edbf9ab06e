//! What a page looks up before there is a lead: names and cars to choose from, and institutions to show.

mod featured;
mod universities;
mod vehicles;

pub use featured::featured_institutions;
pub use universities::Universities;
pub use vehicles::{Vehicles, Wanted, YEARS};
