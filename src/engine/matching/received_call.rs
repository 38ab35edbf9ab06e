//! What becomes of a partner's call: taken by the ask that waits for it, told when it cannot be read, or late.

use std::sync::Arc;

use metrics::counter;
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tracing::info;
use uuid::Uuid;

use super::afterwards::Afterwards;
use super::callbacks::{Called, Delivery};
use super::calls::{heard, reply};
use super::engine::Engine;
use super::late_asks::AnswerReader;
use super::question::Question;
use crate::rate_table::cause::Cause;
use crate::rate_table::record::{Answer, Ask};
use crate::rate_table::table::Table;
use crate::rate_table::transcript::CalledBy;
use crate::records::{Unavailable, reading, transcripts};
use offerd_base::telemetry::metrics::LATE_ANSWERS;
use offerd_partners::Seat;
use offerd_partners::http::Exchange;
use offerd_store::Tree;

/// The word of the log for a call that cannot be read.
const UNREADABLE: &str = "unreadable_callback";

/// Most transcripts of a seat's ask, beyond which a late call is not kept.
const KEPT_MAX: usize = 4;

/// Gives a call to the ask that its address is of. Once it is taken it is on the disk.
///
/// # Errors
/// [`Unavailable`], once reported, when it cannot be read whose address it was.
pub async fn receive(engine: &Engine, id: Uuid, called: Called) -> Result<Delivery, Unavailable> {
    let delivery = engine.callbacks.deliver(id, called.clone()).await;
    if let Delivery::Unreadable { seat, located, .. } = &delivery {
        let table = reading::table_of_callback(&engine.records, id)?.unwrap_or_default();
        let (failures, cause) = (&engine.statistics.failures, Cause::new(located));
        failures.note(&seat.identity.key, seat.product_type, table, UNREADABLE, Some(&cause));
    }
    if let Delivery::Nobody = delivery
        && let Some(table) = reading::table_of_callback(&engine.records, id)?
    {
        counter!(LATE_ANSWERS).increment(1);
        info!(rate_table = %table, "a partner called back when its ask had ended");
        return keep_late(engine, id, table, called).await;
    }
    Ok(delivery)
}

/// Keeps a call that comes when its ask has ended, if it is signed as it should be: as a transcript where the partner's file wants that, and
/// what it says where the ask ended without an answer.
async fn keep_late(engine: &Engine, id: Uuid, table: Uuid, called: Called) -> Result<Delivery, Unavailable> {
    let Some(table) = reading::table(&engine.records, table)? else { return Ok(Delivery::Late) };
    let (lead, table_uuid) = (table.head().lead, table.head().uuid);
    let mut positions = 0..table.seats().len() as u16;
    let is_it = |position: &u16| engine.records.templates.ids.callback(table_uuid, *position) == id;
    let Some(position) = positions.find(is_it) else { return Ok(Delivery::Late) };
    let asked = &table.seats()[usize::from(position)];
    let configuration = engine.configuration();
    let Some(seat) = configuration.book.seat_of(&asked.key, asked.product_type) else {
        return Ok(Delivery::Late);
    };
    let Some(source) = &seat.http else { return Ok(Delivery::Late) };
    let is_signed = source.is_signed(&called.headers, &called.body);
    let place = (table_uuid, position);
    if is_signed && source.transcripts && seat.second_look == asked.second_look {
        // Who calls often at once is counted all the same; where too many wait, there is enough.
        if let Ok(_turn) = engine.turn(Tree::Transcripts, id.as_bytes()).await
            && transcripts::count(&engine.records.store, table_uuid, position) < KEPT_MAX
        {
            let settings = configuration.rules.transcripts;
            let mut recorder = engine.transcripts.record(lead, place, source, settings);
            recorder.heard(CalledBy::PartnerLate, None, &called.headers, &called.body);
            recorder.write().await;
        }
    }
    let Some((mut exchange, reader)) = unanswered(engine, &table, position, seat)? else {
        return Ok(Delivery::Late);
    };
    if !is_signed {
        return Ok(Delivery::Unsigned);
    }
    let reply = reply(heard(called));
    let read = spawn_blocking(move || (reader.late(&mut exchange, &reply), exchange.progress()));
    if let Ok((Some(outcome), progress)) = read.await {
        let (records, is_event) = (engine.records.clone(), source.late_is_event);
        let afterwards = Afterwards { records, table: table_uuid, seat: position, is_event };
        afterwards.came_late(outcome, progress).await;
    }
    Ok(Delivery::Late)
}

/// How far the calls of an ask were that ended without an answer, and what reads one that comes later; `None` where it was answered, or
/// nothing can be read any more.
fn unanswered(
    engine: &Engine,
    table: &Table,
    position: u16,
    seat: &Arc<Seat>,
) -> Result<Option<(Exchange, AnswerReader)>, Unavailable> {
    let (store, head) = (&engine.records.store, table.head());
    let mut ended_without = false;
    for record in reading::answer_records(store, head.uuid) {
        let failed =
            |(answer, _): (Answer, Option<Ask>)| answer.seat == position && answer.outcome.is_failure();
        ended_without |= record?.each().any(failed);
    }
    let call = reading::calls(store, head.uuid)?.remove(&position).filter(|_| ended_without);
    let exchange = call.and_then(|call| seat.http.as_ref()?.taken_up(&call.progress()));
    let (Some(exchange), Some(lead)) = (exchange, reading::lead(store, head.lead)?) else {
        return Ok(None);
    };
    let question = Arc::new(Question::of(head, Arc::new(lead.lead), lead.bands));
    // Which of them fitted then is not known any more; an offer is told apart by its key.
    let offers = (0..seat.offers.len()).collect();
    Ok(Some((exchange, AnswerReader::new(Arc::clone(seat), offers, question, Instant::now(), None))))
}
