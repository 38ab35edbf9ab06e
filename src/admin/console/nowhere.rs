//! Addresses of the console at which nothing is: what was typed, or stood in an old link.

use super::view::{View, Visit};
use crate::web::Failure;

/// Answers that there is no such page.
pub(super) async fn show(_: &Visit) -> Result<View, Failure> {
    Err(Failure::unknown("There is no such page in the console"))
}
