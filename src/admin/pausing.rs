//! Pausing and resuming partners, with what the audit log says of it: for the command line and for the console.

use super::App;
use super::audit::audit_by;
use super::unwritten::unwritten;
use crate::matching::pausing::{self, Pausable};
use crate::store::pauses::{Pause, Resumed};
use crate::web::Failure;

/// Takes out what is in the book, until it is resumed.
///
/// # Errors
/// That it is not in the book, or our fault.
pub(super) async fn pause(app: &App, what: &Pausable, who: &str) -> Result<Pause, Failure> {
    if let Some((attribute, fault)) = what.fault(&app.engine.book()) {
        return Err(Failure::bad_attribute(attribute, fault));
    }
    let pause = pausing::pause(&app.engine, what).await;
    let pause = pause.map_err(|failure| unwritten("the pause", &failure))?;
    let (partner, product_type) = named(what);
    audit_by!(who, "partner.pause", partner, product_type, "partner paused");
    Ok(pause)
}

/// Ends a pause, of what is not in the book any more too.
///
/// # Errors
/// Our fault.
pub(super) async fn resume(app: &App, what: &Pausable, who: &str) -> Result<Resumed, Failure> {
    let resumed = pausing::resume(&app.engine, what).await;
    let resumed = resumed.map_err(|failure| unwritten("the end of the pause", &failure))?;
    if resumed == Resumed::Ended {
        let (partner, product_type) = named(what);
        audit_by!(who, "partner.resume", partner, product_type, "partner resumed");
    }
    Ok(resumed)
}

fn named(what: &Pausable) -> (&str, Option<&'static str>) {
    (&what.partner, what.product_type.map(|product| product.as_str()))
}
