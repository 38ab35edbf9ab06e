//! Pausing and resuming partners, with what the audit log says of it: for the command line and for the console.

use super::App;
use super::audit::{Actor, Note, audit_by};
use super::unwritten::unwritten;
use crate::matching::pausing::{self, Pausable};
use crate::store::pauses::{Pause, Resumed};
use crate::web::Failure;

/// Takes out what is in the book, until it is resumed.
///
/// # Errors
/// That it is not in the book, or our fault.
pub(super) async fn pause(app: &App, what: &Pausable, actor: &Actor) -> Result<Pause, Failure> {
    if let Some((attribute, fault)) = what.fault(&app.engine.book()) {
        return Err(Failure::bad_attribute(attribute, fault));
    }
    let note = Note::of("partner.pause").about(object(what));
    let pause = pausing::pause(&app.engine, what, async |commit| app.commit(actor, note, commit).await).await;
    let pause = pause.map_err(|failure| unwritten("the pause", &failure))?;
    let (partner, product_type) = named(what);
    audit_by!(&actor.who, "partner.pause", partner, product_type, "partner paused");
    Ok(pause)
}

/// Ends a pause, of what is not in the book any more too.
///
/// # Errors
/// Our fault.
pub(super) async fn resume(app: &App, what: &Pausable, actor: &Actor) -> Result<Resumed, Failure> {
    let note = Note::of("partner.resume").about(object(what));
    let resumed =
        pausing::resume(&app.engine, what, async |commit| app.commit(actor, note, commit).await).await;
    let resumed = resumed.map_err(|failure| unwritten("the end of the pause", &failure))?;
    if resumed == Resumed::Ended {
        let (partner, product_type) = named(what);
        audit_by!(&actor.who, "partner.resume", partner, product_type, "partner resumed");
    }
    Ok(resumed)
}

fn object(what: &Pausable) -> String {
    let (partner, product_type) = named(what);
    product_type.map_or_else(|| partner.to_owned(), |product_type| format!("{partner} {product_type}"))
}

fn named(what: &Pausable) -> (&str, Option<&'static str>) {
    (&what.partner, what.product_type.map(|product| product.as_str()))
}
