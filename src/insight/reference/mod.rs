//! Look-ups for pages before a lead exists, and the logos, pictures and pages of sample partners.

mod featured;
mod samples;
mod universities;
mod vehicles;

pub use featured::featured_institutions;
pub use samples::{Sample, sample};
pub use universities::Universities;
pub use vehicles::{VehicleFilter, Vehicles, YEARS};
