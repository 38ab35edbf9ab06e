//! Posts of leads whose offers came with the answer to the ping: sent once, when a client first gets a table
//! with them. The post is on the disk before it is sent, under a guard that only one sender can pass.
//! Acceptance is an event of the lead, and books the bid.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::time::Instant;
use tracing::warn;
use uuid::Uuid;

use super::ask_session::AskSession;
use super::call_journal::alone;
use super::engine::MatchingEngine;
use super::question::LeadQuestion;
use super::work_queue::WorkQueue;
use crate::rate_table::bids::Sale;
use crate::rate_table::outcome::Cause;
use crate::rate_table::record::{CallRecord, EventAfterAsk, EventAfterAskKind};
use crate::rate_table::table::Table;
use crate::records::postings::Posting;
use crate::records::{Found, RecordUnavailable, reading, writing};
use offerd_model::EventType;
use offerd_partners::Seat;
use offerd_partners::http::HttpPartner;
use offerd_store::CommitError;
use offerd_store::entities::LeadRecord;

const FAILED: &str = "failed_post";

/// A queue of shown tables that may need posts.
#[derive(Debug, Default)]
pub struct ShownTables(WorkQueue<ShownTable>);

type ShownTable = (Uuid, BTreeSet<u16>);

struct DuePost {
    seat: Arc<Seat>,
    position: u16,
    before: CallRecord,
}

impl ShownTables {
    /// Queues a table that a client is given.
    pub fn add(&self, table: &Table) {
        let offers = table.arrays().flat_map(|(_, offers)| offers);
        let seats: BTreeSet<u16> = offers.map(|offer| offer.seat).collect();
        if !seats.is_empty() {
            self.0.add((table.head().uuid, seats));
        }
    }
}

/// Makes the posts for shown tables, for ever.
pub async fn run(engine: Arc<MatchingEngine>) {
    let Some(mut shown) = engine.shown.0.receiver() else { return };
    while let Some(table) = shown.recv().await {
        let Ok((table, lead, due)) = due(&engine, &table) else { continue };
        for post in due {
            let (engine, table, lead) = (Arc::clone(&engine), table.clone(), lead.clone());
            tokio::spawn(async move {
                let seat = Arc::clone(&post.seat);
                if let Err(failure) = make(&engine, &table, &lead, post).await {
                    let rate_table = table.head().uuid;
                    warn!(partner = seat.identity.key, %rate_table, %failure, "could not record a post");
                }
            });
        }
    }
}

fn due(engine: &MatchingEngine, (table, seats): &ShownTable) -> Found<(Table, LeadRecord, Vec<DuePost>)> {
    let table = reading::table(&engine.records, *table)?.ok_or(RecordUnavailable)?;
    let lead = reading::lead(&engine.records.store, table.head().lead)?.ok_or(RecordUnavailable)?;
    let book = engine.book();
    let of_call = |(position, before): (u16, CallRecord)| {
        let text = table.seats().get(usize::from(position))?;
        let is_due = !before.sent && before.later.is_none() && before.bid.is_some();
        if !is_due || !seats.contains(&position) {
            return None;
        }
        let seat = book.seat_of(&text.key, text.product_type)?;
        seat.http.as_ref().filter(|http| http.post.when_shown())?;
        Some(DuePost { seat: Arc::clone(seat), position, before })
    };
    let due = reading::calls(&engine.records.store, table.head().uuid)?.into_iter().filter_map(of_call);
    let due = due.filter(|post| !engine.limiter.is_paused(&post.seat)).collect();
    Ok((table, lead, due))
}

async fn make(
    engine: &MatchingEngine,
    table: &Table,
    lead: &LeadRecord,
    post: DuePost,
) -> Result<(), CommitError> {
    let DuePost { seat, position, before } = post;
    let Some(http) = &seat.http else { return Ok(()) };
    let whose = (table, lead.created_at);
    let at = engine.now_ms();
    // The record if a kill precedes the response.
    let unanswered =
        EventAfterAsk { at, end: EventAfterAskKind::Unclear(Cause::new("no answer has arrived")) };
    let sent = CallRecord { sent: true, at, later: Some(unanswered), ..before.clone() };
    let claim = writing::after_ask(whose, position, (Some(&before), &sent), (None, None));
    let claim = alone(&engine.records, (table.head(), position), before.step, claim).await;
    // Another table of the lead has posted it.
    let Ok(Some(claim)) = claim else { return Ok(()) };
    match engine.records.store.commit(claim).await {
        Ok(()) => {}
        // Another sender won, or the lead is erased.
        Err(CommitError::Guard { .. } | CommitError::Erased) => return Ok(()),
        Err(failure) => return Err(failure),
    }
    let end = send(engine, (&seat, http), table, lead, (position, &sent)).await;
    let at = engine.now_ms();
    let paid = sent.bid.filter(|bid| *bid > 0.0);
    let (event, dollars) = match &end {
        EventAfterAskKind::Taken => (Some((EventType::LenderQualifiedLead, at)), paid),
        EventAfterAskKind::NotTaken => (Some((EventType::ApiRejected, at)), None),
        _ => (None, None),
    };
    let sale = dollars.map(|dollars| Sale { seat: position, at, dollars });
    let after = CallRecord { later: Some(EventAfterAsk { at, end }), ..sent.clone() };
    let commit = writing::after_ask(whose, position, (Some(&sent), &after), (event, sale));
    engine.records.store.commit(commit).await?;
    if let Some(sale) = sale.filter(|_| !table.head().test) {
        engine.limiter.add_payout(&Posting::of_sale(&table.seats()[usize::from(position)], &sale));
    }
    Ok(())
}

async fn send(
    engine: &MatchingEngine,
    (seat, http): (&Seat, &HttpPartner),
    table: &Table,
    lead: &LeadRecord,
    (position, sent): (u16, &CallRecord),
) -> EventAfterAskKind {
    let progress = http.restore_progress(&sent.progress());
    let question = LeadQuestion::of(table.head(), Arc::new(lead.lead.clone()), lead.bands, engine.now());
    let record = || {
        let settings = engine.configuration().rules.transcripts;
        engine.transcripts.record(table.head(), position, http, settings)
    };
    let mut session = AskSession { transcript: http.transcripts.then(record), ..AskSession::default() };
    let taken = match (engine.configuration().clients.of(seat), progress) {
        (Some(client), Some(progress)) => {
            client.post(http, &question, (&progress, &mut session), Instant::now() + seat.timeout).await
        }
        _ => Err("the partner's file has changed".to_owned()),
    };
    match taken {
        Ok(true) => EventAfterAskKind::Taken,
        Ok(false) => EventAfterAskKind::NotTaken,
        Err(cause) => {
            let (failures, cause) = (&engine.statistics.failures, Cause::new(cause));
            failures.note(&seat.recorded, table.head().uuid, FAILED, Some(&cause));
            EventAfterAskKind::Unclear(cause)
        }
    }
}
