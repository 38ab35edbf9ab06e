//! Handles a partner's callback: accepted by the waiting ask, unreadable, or late.

use std::sync::Arc;

use metrics::counter;
use tokio::time::Instant;
use tracing::info;
use uuid::Uuid;

use super::answer_reader::AnswerReader;
use super::ask_session::{heard, reply};
use super::callbacks::{CallbackRequest, CallbackResult};
use super::engine::MatchingEngine;
use super::late_asks::LateAnswerRecorder;
use super::question::LeadQuestion;
use crate::rate_table::outcome::Cause;
use crate::rate_table::table::Table;
use crate::rate_table::transcript::CallInitiator;
use crate::records::{Found, reading, transcripts};
use offerd_base::telemetry::metrics::LATE_ANSWERS;
use offerd_partners::Seat;
use offerd_partners::http::AskProgress;
use offerd_store::Tree;

const UNREADABLE: &str = "unreadable_callback";

const KEPT_MAX: usize = 4;

/// Delivers a call to the ask with this address; see
/// [`Callbacks::deliver`](super::callbacks::Callbacks::deliver).
pub async fn receive(engine: &MatchingEngine, id: Uuid, called: CallbackRequest) -> Found<CallbackResult> {
    let delivery = engine.callbacks.deliver(id, called.clone()).await;
    if let CallbackResult::Unreadable { seat, for_operator, .. } = &delivery {
        let table = reading::table_of_callback(&engine.records, id)?.unwrap_or_default();
        let (failures, cause) = (&engine.statistics.failures, Cause::new(for_operator));
        failures.note(&seat.recorded, table, UNREADABLE, Some(&cause));
    }
    if let CallbackResult::Nobody = delivery
        && let Some(table) = reading::table_of_callback(&engine.records, id)?
    {
        counter!(LATE_ANSWERS).increment(1);
        info!(rate_table = %table, "a partner called back when its ask had ended");
        return keep_late(engine, id, table, called).await;
    }
    Ok(delivery)
}

/// Keeps a signed call that arrives after its ask: as a transcript, and as a late answer if there was none.
async fn keep_late(
    engine: &MatchingEngine,
    id: Uuid,
    table: Uuid,
    mut called: CallbackRequest,
) -> Found<CallbackResult> {
    let Some(table) = reading::table(&engine.records, table)? else { return Ok(CallbackResult::Late) };
    let table_uuid = table.head().uuid;
    let mut positions = 0..table.seats().len() as u16;
    let is_it = |position: &u16| engine.records.templates.ids.callback(table_uuid, *position) == id;
    let Some(position) = positions.find(is_it) else { return Ok(CallbackResult::Late) };
    let asked = &table.seats()[usize::from(position)];
    let setup = engine.configuration();
    let seat = setup.book.seat_of(&asked.key, asked.product_type);
    let Some(seat) = seat else { return Ok(CallbackResult::Late) };
    let Some(http) = &seat.http else { return Ok(CallbackResult::Late) };
    if called.decode(seat).is_err() {
        return Ok(CallbackResult::Late);
    }
    let is_signed = http.is_signed(&called.headers, &called.body);
    if is_signed && http.transcripts && seat.second_look == asked.second_look {
        // The lock keeps concurrent calls within the limit; with too many waiting, there are enough.
        if let Ok(_lock) = engine.lock_record(Tree::Transcripts, id.as_bytes()).await
            && transcripts::count(&engine.records.store, table_uuid, position) < KEPT_MAX
        {
            let mut recorder =
                engine.transcripts.record(table.head(), position, http, setup.rules.transcripts);
            recorder.heard(CallInitiator::PartnerLate, None, &called.headers, &called.body);
            recorder.write().await;
        }
    }
    let unanswered = unanswered(engine, &table, position, seat)?;
    let Some((progress, reader)) = unanswered else { return Ok(CallbackResult::Late) };
    if !is_signed {
        return Ok(CallbackResult::Unsigned);
    }
    let reply = reply(heard(called));
    let read = reader
        .read_late(reply.body.len(), progress, move |reader, progress| reader.late_outcome(progress, &reply));
    if let Some((Some(outcome), progress)) = read.await {
        let (records, is_event) = (engine.records.clone(), http.late_is_event);
        let afterwards = LateAnswerRecorder { records, table: table_uuid, seat: position, is_event };
        afterwards.came_late(outcome, progress).await;
    }
    Ok(CallbackResult::Late)
}

fn unanswered(
    engine: &MatchingEngine,
    table: &Table,
    position: u16,
    seat: &Arc<Seat>,
) -> Found<Option<(AskProgress, AnswerReader)>> {
    let (store, head) = (&engine.records.store, table.head());
    let mut ended_without = false;
    for answers in reading::answers(store, head.uuid) {
        ended_without |= answers?.iter().any(|one| one.seat == position && one.outcome.is_failure());
    }
    let call = reading::calls(store, head.uuid)?.remove(&position).filter(|_| ended_without);
    let progress = call.and_then(|call| seat.http.as_ref()?.restore_progress(&call.progress()));
    let lead = reading::lead(store, head.lead)?;
    let (Some(progress), Some(lead)) = (progress, lead) else { return Ok(None) };
    let question = Arc::new(LeadQuestion::of(head, Arc::new(lead.lead), lead.bands, engine.now()));
    // Which offers fitted then is unknown; an offer is identified by its key.
    let offers = (0..seat.offers.len()).collect();
    let (seat, now) = (Arc::clone(seat), Instant::now());
    Ok(Some((progress, AnswerReader { seat, offers, question, begun: now, deadline: now, afterwards: None })))
}
