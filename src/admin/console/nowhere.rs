//! Addresses of the console at which nothing is: what was typed, or stood in an old link.

use std::sync::Arc;

use super::section::Section;
use super::view::View;
use super::visit::Visit;
use crate::web::Failure;

/// Leads from `/console/` to where the console begins.
pub(super) async fn begin(_: Arc<Visit>) -> Result<View, Failure> {
    Ok(View::at(Section::Now.path().to_owned()))
}

/// Answers that there is no such page.
pub(super) async fn show(_: Arc<Visit>) -> Result<View, Failure> {
    Err(Failure::unknown("There is no such page in the console"))
}
