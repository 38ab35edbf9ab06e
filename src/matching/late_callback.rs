//! Callbacks that come when their ask has ended.

use metrics::counter;
use tracing::info;
use uuid::Uuid;

use super::callbacks::Called;
use super::engine::Engine;
use crate::rate_table::transcript::CalledBy;
use crate::records::{Unavailable, reading, transcripts};
use crate::store::Tree;
use crate::telemetry::metrics::LATE_ANSWERS;

/// Most transcripts of a seat's ask, beyond which such a call is not kept.
const KEPT_MAX: usize = 4;

/// Counts a call whose ask of a table has ended, and keeps it where the partner's file wants that.
///
/// # Errors
/// [`Unavailable`], once reported, when what it is about cannot be read.
pub async fn note(engine: &Engine, table: Uuid, id: Uuid, called: &Called) -> Result<(), Unavailable> {
    counter!(LATE_ANSWERS).increment(1);
    info!(rate_table = %table, "a partner called back when its ask had ended");
    keep(engine, table, id, called).await
}

/// Keeps a call that is signed as it should be, of a partner whose file wants it kept.
async fn keep(engine: &Engine, table: Uuid, id: Uuid, called: &Called) -> Result<(), Unavailable> {
    let (store, templates) = (&engine.records.store, &engine.records.templates);
    let Some(head) = reading::head(store, table)? else { return Ok(()) };
    let mut seats = (0..).zip(&head.seats);
    let seat = seats.find(|(seat, _)| templates.ids.callback(table, *seat) == id);
    let Some((position, Ok(asked))) = seat.map(|(seat, template)| (seat, templates.seat(*template))) else {
        return Ok(());
    };
    let configuration = engine.configuration();
    let same = configuration.book.seat_of(&asked.key, asked.product_type);
    let same = same.filter(|seat| seat.second_look == asked.second_look);
    let Some(source) = same.and_then(|seat| seat.http.as_ref()).filter(|source| source.transcripts) else {
        return Ok(());
    };
    if !source.is_signed(&called.headers, &called.body) {
        return Ok(());
    }
    // Who calls often at once is counted all the same; where too many wait, there is enough.
    let Ok(_turn) = engine.turn(Tree::Transcripts, id.as_bytes()).await else { return Ok(()) };
    if transcripts::count(store, table, position) < KEPT_MAX {
        let settings = configuration.rules.transcripts;
        let mut recorder = engine.transcripts.record(head.lead, (table, position), source, settings);
        recorder.heard(CalledBy::PartnerLate, None, &called.headers, &called.body);
        recorder.write().await;
    }
    Ok(())
}
